"""Intersection and union of fibers as RTL: ``Intersect`` and ``Union`` of ``fiberscope.hw.streams``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

import pyrtl

from fiberscope.hw.rtl.kit.interface import Interface, streams
from fiberscope.hw.rtl.kit.parameters import Parameters, number
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias, unless
from fiberscope.hw.rtl.kit.unit import PortContents, unit
from fiberscope.hw.stream import DATA, EMPTY, STOP
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.join import Intersect, Union
from fiberscope.hw.streams.stream_adapter_rtl import StreamAdapter, named_counters
from fiberscope.hw.streams.tokens import CRD, REF
from fiberscope.hw.streams.tokens_rtl import Head
from fiberscope.sim import Input, Output

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.backend import Backend


@dataclass(frozen=True)
class JoinerParameters(Parameters):
    """Parameters of an intersection or a union.

    Args:
        ways: number of operands, 2 to 8.
        coordinate_bits: width of a coordinate, 4 to 55.
        reference_bits: width of a reference, 4 to 62.
    """

    ways: int = number(2, 2, 8)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)
    reference_bits: int = number(32, tokens.LEVEL_BITS, 62)


def port_contents(parameters: JoinerParameters) -> PortContents:
    """Return the fields of the streams: coordinates and references, in pairs."""
    coordinates = tokens.numbers(parameters.coordinate_bits)
    references = tokens.numbers(parameters.reference_bits)
    pairs = zip(
        streams("in_crd", "input", coordinates, parameters.ways),
        streams("in_ref", "input", references, parameters.ways),
        strict=True,
    )
    sent = (tokens.sink(f"out_ref{way}", references) for way in range(parameters.ways))
    return {
        **{stream.label: stream for pair in pairs for stream in pair},
        "out_crd": coordinates,
        **{stream.label: stream for stream in sent},
    }


def intersect(parameters: JoinerParameters, streams: Streams) -> None:
    """Build an intersection: the heads advance if they are equal, else all but the largest; no registers.

    The module does not check the streams, and has no skip outputs.
    """
    heads = _Heads(parameters, streams)
    behind = [reduce(or_, [order < other for other in others]) for order, others in heads.orders()]
    equal = alias("equal", ~reduce(or_, behind))
    heads.take([equal | late for late in behind])
    heads.send(equal, [equal] * parameters.ways)


def union(parameters: JoinerParameters, streams: Streams) -> None:
    """Build a union: the smallest head leaves, with N for operands without that head; no registers.

    The module does not check the streams.
    """
    heads = _Heads(parameters, streams)
    smallest = [~reduce(or_, [other < order for other in others]) for order, others in heads.orders()]
    heads.take(smallest)
    heads.send(pyrtl.Const(1, 1), smallest)


class _Heads:
    """The heads of all operands; they act when all are visible and all outputs accept a token."""

    def __init__(self, parameters: JoinerParameters, streams: Streams) -> None:
        ways = range(parameters.ways)
        self._between = streams
        self._crds = [Head.from_stream(streams.inputs[f"in_crd[{way}]"]) for way in ways]
        self._refs = [Head.from_stream(streams.inputs[f"in_ref[{way}]"]) for way in ways]
        shown = reduce(and_, [head.shown for head in (*self._crds, *self._refs)])
        # Outputs without space also stall a cycle that only drops heads, as in the component
        self._acts = alias("acts", shown & tokens.room_in(streams))

    def orders(self) -> list[tuple[Signal, list[Signal]]]:
        """Return for each head its number for comparison, and the numbers of all other heads."""
        orders = [_order(head) for head in self._crds]
        return [(order, [other for other in orders if other is not order]) for order in orders]

    def take(self, which: Sequence[Signal]) -> None:
        """Accept the heads of these operands."""
        for way, taken in enumerate(which):
            moves = alias(f"takes_{way}", self._acts & taken)
            for port in ("in_crd", "in_ref"):
                self._between.inputs[f"{port}[{way}]"].accept(moves)

    def send(self, leaves: Signal, which: Sequence[Signal]) -> None:
        """Send the coordinate of the first of these operands, and the reference of each; N for the others.

        Args:
            leaves: 1 if tokens leave when the heads act.
            which: for each operand, whether it has the head that leaves.
        """
        moves = alias("leaves", self._acts & leaves)
        for way, (has, ref) in enumerate(zip(which, self._refs, strict=True)):
            kind = pyrtl.select(has, ref.fields["control"], pyrtl.Const(EMPTY, tokens.KIND_BITS))
            tokens.send(self._between.outputs[f"out_ref{way}[0]"], moves, kind, ref.level, ref.payload)
        self._between.outputs["out_crd[0]"].send(moves, _first_of(self._crds, which))


def _order(head: Head) -> Signal:
    """Return a number by which heads are compared; control tokens are larger than coordinates, and equal."""
    # Operands of one shape reach their stops and done together, so that the level need not be compared
    control = head.fields["control"] != DATA
    return pyrtl.concat(control, unless(control, head.payload))


def _first_of(heads: Sequence[Head], chosen: Sequence[Signal]) -> dict[str, Signal]:
    """Return the fields of the first chosen head, or of the last head if none is chosen."""
    fields = dict(heads[-1].fields)
    # From the last head to the first, so that the first chosen head has priority
    for head, this in reversed(list(zip(heads, chosen, strict=True))[:-1]):
        fields = {name: pyrtl.select(this, wire, fields[name]) for name, wire in head.fields.items()}
    return fields


class _JoinerAdapter(StreamAdapter):
    """Component that replaces a ``Joiner`` by its RTL in a simulation, with references for each operand."""

    PORTS = (
        Input("in_crd", CRD, array=True),
        Input("in_ref", REF, array=True),
        Output("out_crd", CRD, array=True),
    )

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self.ways = range(sum(stream.port[0] == "in_crd" for stream in interface.streams))

    def taken(self, moved: Mapping[str, Any]) -> list[int]:
        """Return the operands whose heads were accepted."""
        return [way for way in self.ways if f"in_crd[{way}]" in moved]


class IntersectAdapter(_JoinerAdapter):
    """Component that replaces an ``Intersect`` by its RTL in a simulation.

    The module has no skip outputs. This class counts the skips that the component would send to outputs that
    are never full.
    """

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._run = self._longest = self._dropped = 0
        self._news = [True] * len(self.ways)  # whether the head has not been sent as a skip
        self._knows_end = [False] * len(self.ways)  # whether the operand has received the stop of its fiber
        self._skips: Counter[str] = Counter()

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Track which operands drop heads, and which skips the model would send."""
        super().observe(moved)
        taken = self.taken(moved)
        if not taken:
            return
        if "out_crd[0]" not in moved:
            self._drop(taken)
            return
        self._run = 0
        if moved["out_crd[0]"].control == STOP:
            self._skips.update(f"out_skip{way}_stops" for way in taken if not self._knows_end[way])
            self._knows_end = [False] * len(self.ways)
        self._news = [True] * len(self.ways)

    def _drop(self, taken: Sequence[int]) -> None:
        """Record a cycle in which these operands drop their heads; the other operands are ahead."""
        # The first operand that keeps its head has the largest; that head is still at its channel
        leader = next(way for way in self.ways if way not in taken)
        stops = self.channels("in_crd")[leader].control() == STOP
        receivers = [way for way in taken if self._news[leader] and not self._knows_end[way]]
        self._skips.update(f"out_skip{way}_{'stops' if stops else 'data'}" for way in receivers)
        self._knows_end = [knows or (stops and way in receivers) for way, knows in enumerate(self._knows_end)]
        # The new head of an operand that dropped one is unsent; the leader's head has now been sent
        self._news = [way in taken or (news and way != leader) for way, news in enumerate(self._news)]
        self._dropped += len(taken)
        self._run += 1
        self._longest = max(self._longest, self._run)

    def counters(self) -> dict[str, int]:
        """Return the counters of the component."""
        matches = self.moved["out_crd[0]", DATA]
        own = {"matches": matches, "dropped": self._dropped, "longest_run": self._longest}
        skips = {name: self._skips[name] for way in self.ways for name in named_counters(f"out_skip{way}")}
        return own | super().counters() | skips


class UnionAdapter(_JoinerAdapter):
    """Component that replaces a ``Union`` by its RTL in a simulation."""

    _common = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count the coordinates that all operands have."""
        super().observe(moved)
        if "out_crd[0]" in moved and moved["out_crd[0]"].control == DATA:
            self._common += len(self.taken(moved)) == len(self.ways)

    def counters(self) -> dict[str, int]:
        """Return the counters of the component."""
        partial = self.moved["out_crd[0]", DATA] - self._common
        return {"common": self._common, "partial": partial} | super().counters()


INTERSECT = unit(
    "fiber_intersect",
    Intersect,
    JoinerParameters,
    port_contents,
    intersect,
    arguments=("ways",),
    as_made={"ways": int},
    base=IntersectAdapter,
)


UNION = unit(
    "fiber_union", Union, JoinerParameters, port_contents, union, arguments=("ways",), base=UnionAdapter
)
