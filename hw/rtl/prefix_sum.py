"""Prefix sums as RTL: the twin of ``hw.prefix_sum.PrefixSum``, in its three forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_

import pyrtl

from hw.prefix_sum import FORMS, MAXIMUM_WIDTH, PARALLEL, Level, PrefixSum, depth, network
from hw.rtl.backend import Backend
from hw.rtl.block import RtlBlock
from hw.rtl.interface import Interface, Token, streams
from hw.rtl.parameters import (
    CHOICES,
    Parameters,
    check_choice,
    check_range,
    check_value_bits,
    payload_widths,
)
from hw.rtl.pipeline import PipelineStandIn, Stages
from hw.rtl.twin import InputStream, Signal, Streams, named
from hw.stream import DATA, STOP
from sim.channel import Channel


@dataclass(frozen=True)
class PrefixSumParameters(Parameters):
    """What a prefix sum is made for; widths in bits.

    Args:
        form: ``"serial"``, ``"work-efficient"`` or ``"parallel"``.
        lanes: numbers a cycle, 1 to 64.
        width: of a number and of a sum, 1 to 62, as in the component.
        reference_bits: 0 to 64; 0 leaves references out, where all are 0.
        value_bits: 0, 32 or 64; 0 leaves values out, where all are 0.

    Raises:
        ValueError: for what cannot be built.
    """

    form: str = field(default=PARALLEL, metadata={CHOICES: FORMS})
    lanes: int = 32
    width: int = 32
    reference_bits: int = 0
    value_bits: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        check_choice("prefix_sum", "form", self.form, FORMS)
        check_range("prefix_sum", "lanes", self.lanes, 1, 64)
        check_range("prefix_sum", "width", self.width, 1, MAXIMUM_WIDTH)
        check_range("prefix_sum", "reference_bits", self.reference_bits, 0, 64)
        check_value_bits("prefix_sum", self.value_bits, optional=True)


def interface(parameters: PrefixSumParameters) -> Interface:
    """Ports: ``lanes`` and ``sums``, and ``stalled``, high while the oldest row cannot leave."""
    element = {"control": 1, "coordinate": parameters.width}
    element |= payload_widths(parameters.reference_bits, parameters.value_bits)
    return Interface(
        "prefix_sum",
        (
            *streams("lanes", "input", element, parameters.lanes),
            *streams("sums", "output", element, parameters.lanes),
        ),
        ("stalled",),
    )


@dataclass(frozen=True)
class _Lane:
    """A lane of a row in some stage: whether it holds a stop, the sum so far, and what stays with it."""

    stop: Signal
    sum: Signal
    payload: Mapping[str, Signal]


def design(parameters: PrefixSumParameters, between: Streams) -> None:
    """A stage for each level of the network, and one for the row of adders for the offset.

    The offset is a register that takes over the last sum of every row, and 0 at the end of an array. Adders
    and registers work on stops too; a stop leaves with zeros. A row with a number behind a stop is for the
    sender to avoid.
    """
    inputs = [between.inputs[f"lanes[{i}]"] for i in range(parameters.lanes)]
    outputs = [between.outputs[f"sums[{i}]"] for i in range(parameters.lanes)]
    shown = named("row_shown", _all([lane.valid for lane in inputs]))
    ready = named("row_ready", _all([output.ready for output in outputs]))
    stages = Stages(depth(parameters.form, parameters.lanes), shown, ready)
    taken = named("row_taken", shown & stages.move)
    for lane in inputs:
        lane.accept(taken)

    row = [_entering(lane) for lane in inputs]
    levels = network(parameters.form, parameters.lanes)
    for number, level in enumerate(levels):
        row = _staged(stages, f"stage{number:02}", _added(row, level))
    row = _staged(stages, "sums", _offset(stages, row))

    leaves = named("row_leaves", stages.last & ready)
    between.show("stalled", stages.last & ~ready)
    for last, output in zip(row, outputs, strict=True):
        output.send(leaves, {"control": last.stop, "coordinate": last.sum, **last.payload})


def _entering(lane: InputStream) -> _Lane:
    payload = {name: wire for name, wire in lane.fields.items() if name not in ("control", "coordinate")}
    return _Lane(lane.fields["control"], lane.fields["coordinate"], payload)


def _added(row: Sequence[_Lane], level: Level) -> list[_Lane]:
    """The row behind a level of adders."""
    behind = list(row)
    for source, target in level:
        behind[target] = replace(row[target], sum=_sum(row[target].sum, row[source].sum))
    return behind


def _offset(stages: Stages, row: Sequence[_Lane]) -> list[_Lane]:
    """The row behind the adders for the offset; a lane with a stop holds zeros."""
    offset: Signal = pyrtl.Register(len(row[0].sum), "offset")
    sums = [_sum(lane.sum, offset) for lane in row]
    after = pyrtl.select(row[-1].stop, _zero(offset), sums[-1])
    offset.next <<= pyrtl.select(stages.move & stages.arriving, after, offset)
    return [
        _Lane(
            lane.stop,
            _unless(lane.stop, total),
            {name: _unless(lane.stop, wire) for name, wire in lane.payload.items()},
        )
        for lane, total in zip(row, sums, strict=True)
    ]


def _staged(stages: Stages, name: str, row: Sequence[_Lane]) -> list[_Lane]:
    """The row behind the registers of a stage."""
    return [
        _Lane(
            stages.register(f"{name}_lane{i:02}_stop", lane.stop),
            stages.register(f"{name}_lane{i:02}_sum", lane.sum),
            {kind: stages.register(f"{name}_lane{i:02}_{kind}", wire) for kind, wire in lane.payload.items()},
        )
        for i, lane in enumerate(row)
    ]


def _sum(left: Signal, right: Signal) -> Signal:
    """One adder, modulo 2**width."""
    return (left + right)[: len(left)]


def _unless(stop: Signal, wire: Signal) -> Signal:
    return pyrtl.select(stop, _zero(wire), wire)


def _zero(like: Signal) -> Signal:
    return pyrtl.Const(0, len(like))


def _all(wires: Sequence[Signal]) -> Signal:
    return reduce(and_, wires)


class PrefixSumStandIn(PipelineStandIn):
    """Stands in for a ``PrefixSum``; the module's ports are those of ``hw.rtl.prefix_sum``."""

    PORTS = PrefixSum.PORTS

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._within = False  # an array
        self._rows = self._numbers = 0

    def observe(self, moved: Mapping[str, Token]) -> None:
        """Count the rows in the pipeline."""
        row = [token for port, token in moved.items() if port.startswith("lanes")]
        if row:
            self.in_flight += 1
            self._rows += 1
            self._numbers += sum(token.control == DATA for token in row)
            self._within = row[-1].control != STOP
        if "sums[0]" in moved:
            self.in_flight -= 1

    def full(self, blocked: Channel | None) -> Channel | None:
        """The first output without space; ``valid`` does not say so, since it is low until all have space."""
        if not self.status["stalled"]:
            return None
        return next(channel for channel in self.channels("sums") if not channel.can_push())

    def missing(self) -> Channel | None:
        """The first lane that shows no token, within an array or where another does."""
        shown = [channel.can_pop() for channel in self.channels("lanes")]
        return self.channels("lanes")[shown.index(False)] if self._within or any(shown) else None

    def counters(self) -> dict[str, int]:
        """Rows taken, and numbers in them."""
        return {"rows": self._rows, "numbers": self._numbers}


def _matching(form: str, lanes: int, width: int = 32) -> PrefixSumParameters:
    return PrefixSumParameters(form, lanes, width, reference_bits=64, value_bits=64)


BLOCK = RtlBlock(
    "prefix_sum",
    "running sums of arrays, lanes numbers a cycle, by one of three networks of adders",
    PrefixSumParameters,
    _matching,
    interface,
    design,
    PrefixSumStandIn,
)
