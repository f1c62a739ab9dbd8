"""Accumulators as RTL: ``VectorReduce``, ``MatrixReduce`` and ``TensorReduce`` of ``fiberscope.hw.streams``.

The number of sums that a module holds is a parameter. A point with new coordinates for which no entry is free
is offered at ``overflow``. It waits until it is accepted there, or until an entry becomes free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

import pyrtl

from fiberscope.hw.rtl.kit.arithmetic import SummingParameters, value_type
from fiberscope.hw.rtl.kit.codec import WHOLE_BITS
from fiberscope.hw.rtl.kit.interface import Interface, Payload, Stream
from fiberscope.hw.rtl.kit.parameters import number
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias, unless
from fiberscope.hw.rtl.kit.unit import PortContents, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.accumulators import MatrixReduce, VectorReduce
from fiberscope.hw.streams.memory_rtl import OVERFLOW
from fiberscope.hw.streams.sorted_sums_rtl import FULL, KEY, SUM, Entry, SortedSums
from fiberscope.hw.streams.stream_adapter_rtl import OVERFLOW_PORT, StreamAdapter, check_usual
from fiberscope.hw.streams.tensor_reduce import TensorReduce
from fiberscope.hw.streams.tokens import CRD, DATA, STOP, VAL
from fiberscope.hw.streams.tokens_rtl import Head
from fiberscope.sim import Input, Output
from fiberscope.sim.channel import Channel

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.backend import Backend

MAX_POINTS = 1 << 8
ADDS = "adds"  # status output: a point is accumulated


@dataclass(frozen=True)
class _AccumulatorParameters(SummingParameters):
    """Parameters that all accumulators share.

    Args:
        points: capacity in different points, 2 to 256; complete points that wait to leave count.
        coordinate_bits: width of a coordinate, 4 to 55.
        value_bits: width of a value of an integer type, 1 to 53.
        sum_bits: width of a sum, ``value_bits`` to 53; the sender must avoid sums that do not fit.
        values: type of the values.
    """

    points: int = number(32, 2, MAX_POINTS)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)
    value_bits: int = number(32, 1, WHOLE_BITS)
    sum_bits: int = number(48, 1, WHOLE_BITS)
    values: str = value_type()


@dataclass(frozen=True)
class SparseAccumulatorParameters(_AccumulatorParameters):
    """Parameters of an accumulator of pairs of coordinates.

    Args:
        points, coordinate_bits, value_bits, sum_bits, values: the parameters of every accumulator.
        order: 1 to add up one row at a time, 2 to add up a whole matrix.
    """

    order: int = number(1, 1, 2)


@dataclass(frozen=True)
class TensorAccumulatorParameters(_AccumulatorParameters):
    """Parameters of an accumulator of points of any number of coordinates.

    Args:
        points, coordinate_bits, value_bits, sum_bits, values: the parameters of every accumulator.
        ways: number of coordinates of a point, 1 to 8.
        kept: number of outermost coordinates in which the points arrive sorted; less than ``ways``, and 0
            with ``flushes``.
        flushes: 1 if points arrive as tasks, each of which is complete with its stop, else 0.
    """

    ways: int = number(2, 1, 8)
    kept: int = number(0, 0, 7, lambda own: (0, 0 if own.flushes else own.ways - 1))
    flushes: int = number(0, 0, 1)


_PAIR = ("crd_outer", "crd_inner")


def sparse_contents(parameters: SparseAccumulatorParameters) -> PortContents:
    """Return the fields: two coordinates and a value; sums, and a point without space."""
    return _stream_contents(parameters, [f"in_{name}" for name in _PAIR], [f"out_{name}" for name in _PAIR])


def tensor_contents(parameters: TensorAccumulatorParameters) -> PortContents:
    """Return the fields: as many coordinates as a point has."""
    ways = range(parameters.ways)
    return _stream_contents(parameters, [f"in_crd[{way}]" for way in ways], [f"out_crd{way}" for way in ways])


def _stream_contents(
    parameters: _AccumulatorParameters, inputs: Sequence[str], outputs: Sequence[str]
) -> PortContents:
    """Return the fields; a point at ``overflow`` has its coordinates packed, the innermost lowest."""
    coordinates = tokens.numbers(parameters.coordinate_bits)
    wires = {label: label.replace("[", "_").removesuffix("]") for label in inputs}
    point = Payload(len(inputs) * parameters.coordinate_bits)
    return {
        **{label: Stream(label, wire, "input", coordinates) for label, wire in wires.items()},
        "in_val": tokens.values(parameters.value_field),
        **{port: tokens.sink(port, coordinates) for port in outputs},
        "out_val": tokens.values(parameters.sum_field),
        OVERFLOW: {"coordinates": point, "value": parameters.sum_field},
    }


def sparse_design(parameters: SparseAccumulatorParameters, streams: Streams) -> None:
    """Build the accumulator of pairs; a sum can leave in the cycle in which a point completes it."""
    points = _Points(parameters, streams, 2 - parameters.order)  # a row at a time arrives sorted by row
    ended = alias("ended_now", points.ended | points.is_done)
    group = pyrtl.select(points.is_point, points.group_of(points.key), points.group)
    leaves = points.send(points.is_complete(points.sums.first, ended, group), ended)
    points.take(pyrtl.Const(1, 1), leaves)


def tensor_design(parameters: TensorAccumulatorParameters, streams: Streams) -> None:
    """Build the accumulator of points; points wait until all complete sums have left.

    A sum can leave from the cycle after the one in which the point that completes it is accepted.
    """
    points = _Points(parameters, streams, parameters.kept, parameters.flushes)
    if parameters.flushes:
        points.flush()
        return
    first, second = (
        points.is_complete(entry, points.ended, points.group)
        for entry in (points.sums.first, points.sums.second)
    )
    leaves = points.send(first, points.ended)
    # the entry that is first in the next cycle must not be complete
    points.take(~pyrtl.select(leaves, second, first), leaves)


class _Points:
    """The logic that accepts points, adds them up and sends complete sums.

    Args:
        parameters: the parameters of the block.
        streams: the streams of the block.
        kept: number of outermost coordinates in which points arrive sorted; a change completes sums.
        flushes: whether points arrive as tasks.
    """

    def __init__(
        self, parameters: _AccumulatorParameters, streams: Streams, kept: int, flushes: int = 0
    ) -> None:
        self._flushes = flushes
        self._between, self._room = streams, tokens.room_in(streams)
        *crds, val = (Head.from_stream(stream) for stream in streams.inputs.values())
        self._bits, self._ways, self._kept = parameters.coordinate_bits, len(crds), kept
        self.key = alias("key", pyrtl.concat(*(head.payload for head in crds)))
        self._value = unless(val.is_empty, val.payload).sign_extended(parameters.sum_field.width)
        self.sums = SortedSums(parameters.points, self.key, self._value, parameters)
        self.ended: Signal = pyrtl.Register(1, "ended")
        self.group: Signal = DataRegister(kept * self._bits, "group") if kept else pyrtl.Const(0, 1)
        points = [*(head.is_data for head in crds), val.is_data | val.is_empty]
        self.is_point = alias("is_point", ~self.ended & reduce(and_, points))
        always = pyrtl.Const(1, 1)
        self._is_stop = reduce(and_, [head.is_stop for head in (*crds, val)]) if flushes else ~always
        self._counts = ~val.is_empty if flushes else always  # with tasks, a point with the value N is ignored
        self.is_done = alias("is_done", ~self.ended & reduce(and_, [head.is_done for head in (*crds, val)]))

    def group_of(self, key: Signal) -> Signal:
        """Return the coordinates of a key in which points arrive sorted."""
        return key[(self._ways - self._kept) * self._bits :] if self._kept else pyrtl.Const(0, 1)

    def is_complete(self, entry: Entry, ended: Signal, group: Signal) -> Signal:
        """Return whether a sum is complete: all points have arrived, or the current group is another one."""
        behind = self.group_of(entry[KEY]) != group if self._kept else pyrtl.Const(0, 1)
        return entry[FULL] & (ended | behind)

    def send(self, ready: Signal, ended: Signal, over: Signal | None = None) -> Signal:
        """Send the next token of the first sum if it is ready, or the stops and done at the end.

        Return whether the sum leaves. With tasks, ``ended`` is the end of one task, ``over`` of all.
        """
        first, room = self.sums.first, self._room
        fibers = _Fibers(self._between, self._ways, self._flushes)
        done = None if over is None else room & over
        return fibers.send(first, room & ready, room & ended & ~first[FULL], done)

    def flush(self) -> None:
        """Accept the points of a task, and send the sums after its stop."""
        flushing: Signal = pyrtl.Register(1, "flushing")
        first = self.sums.first[FULL]
        closes = alias("task_ends", self._room & flushing & ~first)
        leaves = self.send(flushing & first, flushing, self.ended)
        # the next task may begin in the cycle in which the last stops leave, as in the component
        stops = self.take(~flushing | closes, leaves)
        flushing.next <<= stops | (flushing & ~closes)

    def take(self, may: Signal, leaves: Signal) -> Signal:
        """Accept a point, the stop of a task or done, if ``may`` holds; call this once.

        A point that fits in no entry leaves at ``overflow``, or waits. ``leaves`` tells whether the first sum
        leaves. Return whether the stop of a task is accepted.
        """
        free = alias("free", self._room & may)
        stops = alias("takes_stop", free & self._is_stop)
        overflow = self._between.outputs[OVERFLOW]
        fits = alias("fits", ~self._counts | self.sums.is_there | leaves | ~self.sums.last[FULL])
        takes = alias("takes", free & self.is_point & (fits | overflow.ready))
        for source in self._between.inputs.values():
            source.accept(takes | stops | (free & self.is_done))
        overflow.send(free & self.is_point & ~fits, {"coordinates": self.key, "value": self._value})
        adds = takes & fits & self._counts
        self._between.show(ADDS, adds)
        self.sums.move(adds, leaves)
        self.ended.next <<= self.ended | (free & self.is_done)
        if self._kept:
            self.group.next <<= pyrtl.select(takes, self.group_of(self.key), self.group)
        return stops


class _Fibers:
    """The output logic of an accumulator: sums as fibers, with the stops between them, and the end.

    Args:
        streams: the streams of the block.
        ways: number of coordinates of a sum.
        flushes: whether there are tasks; the stop of a task also closes one more list.
    """

    def __init__(self, streams: Streams, ways: int, flushes: int) -> None:
        self._deeper = flushes
        *self._crds, self._val = (sink for label, sink in streams.outputs.items() if label != OVERFLOW)
        self._ways, self._bits = ways, self._crds[0].widths["payload"]
        self._begun: Signal = pyrtl.Register(1, "begun")
        self._stopped: Signal = pyrtl.Register(1, "stopped")
        self._closed: Signal = pyrtl.Register(1, "closed")
        self._finished: Signal = pyrtl.Register(1, "finished")
        self._last = [DataRegister(self._bits, f"last_{way}") for way in range(ways - 1)]

    def send(self, entry: Entry, ready: Signal, ends: Signal, done: Signal | None) -> Signal:
        """Send the next token of a sum if it is ready, or the stops and done at the end.

        Return whether the sum leaves. Without ``done``, the block sends done after the stops.
        """
        coordinates = _parts(entry[KEY], self._ways)
        changed = [~self._begun | (c != last) for c, last in zip(coordinates, self._last, strict=False)]
        news = [reduce(or_, changed[: way + 1]) for way in range(self._ways - 1)]
        news.append(pyrtl.Const(1, 1))  # the innermost coordinate always differs
        begins = news[-2] if self._ways > 1 else pyrtl.Const(0, 1)  # the innermost fiber differs
        # A sum of another fiber waits for a cycle, in which the stops of the last fiber leave.
        stops = alias("stops", ready & self._begun & ~self._stopped & begins)
        leaves = alias("leaves", ready & ~stops)
        closes = alias("closes", ends if self._deeper else ends & ~self._closed)  # tasks end repeatedly
        done = ends & self._closed if done is None else done
        finishes = alias("finishes", done & ~self._finished)
        for way, crd in enumerate(self._crds):
            ended = stops & news[way - 1] if way else pyrtl.Const(0, 1)
            kind = tokens.kind_of(leaves & news[way], ended | closes, finishes)
            level = pyrtl.select(
                closes, pyrtl.Const(way + self._deeper, tokens.LEVEL_BITS), _level(changed[:way])
            )
            offered = (leaves & news[way]) | ended | closes | finishes
            tokens.send(crd, offered, kind, level, coordinates[way])
        kind = tokens.kind_of(leaves, stops | closes, finishes)
        last = pyrtl.Const(self._ways - 1 + self._deeper, tokens.LEVEL_BITS)
        level = pyrtl.select(closes, last, _level(changed))
        tokens.send(self._val, leaves | stops | closes | finishes, kind, level, entry[SUM])
        self._follow(leaves, stops, closes, finishes, coordinates)
        return leaves

    def _follow(
        self, leaves: Signal, stops: Signal, closes: Signal, finishes: Signal, coordinates: Sequence[Signal]
    ) -> None:
        """Update the registers that describe which tokens have left."""
        self._begun.next <<= (self._begun | leaves) & ~closes
        self._stopped.next <<= (self._stopped | stops) & ~leaves & ~closes
        self._closed.next <<= self._closed | closes
        self._finished.next <<= self._finished | finishes
        for last, coordinate in zip(self._last, coordinates, strict=False):
            last.next <<= pyrtl.select(leaves, coordinate, last)


def _parts(key: Signal, ways: int) -> list[Signal]:
    """Return the coordinates of a key, the outermost first."""
    bits = len(key) // ways
    return [key[place * bits : (place + 1) * bits] for place in reversed(range(ways))]


def _level(changed: Sequence[Signal]) -> Signal:
    """Return the number of lists that end after the fiber, by the outermost coordinate that changes."""
    level: Signal = pyrtl.Const(0, tokens.LEVEL_BITS)
    for way in reversed(range(len(changed))):
        level = pyrtl.select(changed[way], pyrtl.Const(len(changed) - 1 - way, tokens.LEVEL_BITS), level)
    return level


class _AccumulatorAdapter(StreamAdapter):
    """Component that replaces an accumulator by its RTL; it counts the values of each point."""

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        streams = interface.streams
        self._crds = [s.label for s in streams if s.direction == "input" and s.label != "in_val"]
        self._values: Counter[tuple[int, ...]] = Counter()  # sums of the current task
        self._points = 0
        self._before = 0  # number of sums of earlier tasks
        self._most_held = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Record the accepted points, and the number of sums that have not left."""
        super().observe(moved)
        if self.status[ADDS]:
            self._values[tuple(moved[label].coordinate for label in self._crds)] += 1
            self._points += 1
        self._most_held = max(self._most_held, self._elements - self.moved["out_val[0]", DATA])
        if "in_val" in moved and moved["in_val"].control == STOP:
            self._before = self._elements
            self._values.clear()

    @property
    def _elements(self) -> int:
        return self._before + len(self._values)

    def awaited(self) -> Channel:
        """Return the first input without a visible token, or the values if a point waits at ``overflow``."""
        missing = self._first_held_up(end for end in self.ends if end.is_input)
        return self.channel("in_val") if missing is None else missing

    def counters(self) -> dict[str, int]:
        """Return the numbers of points and sums, and the tokens of the outputs."""
        own = {"points": self._points, "elements": self._elements, "most_held": self._most_held}
        return own | {name: count for name, count in super().counters().items() if OVERFLOW not in name}


class SparseAccumulatorAdapter(_AccumulatorAdapter):
    """Component that replaces a ``VectorReduce`` or a ``MatrixReduce`` by its RTL in a simulation."""

    PORTS = (*VectorReduce.PORTS, OVERFLOW_PORT)

    def counters(self) -> dict[str, int]:
        """Return the counters of every accumulator, with ``merged`` and ``most_points``."""
        counts = self._values.values()
        merged = sum(count > 1 for count in counts)
        return {"merged": merged, "most_points": max(counts, default=0)} | super().counters()


class TensorAccumulatorAdapter(_AccumulatorAdapter):
    """Component that replaces a ``TensorReduce`` by its RTL, with a port for each coordinate of a point."""

    PORTS = (
        Input("in_crd", CRD, array=True),
        Input("in_val", VAL),
        Output("out_val", VAL, array=True),
        OVERFLOW_PORT,
    )


SPARSE = replace(
    unit(
        "sparse_accumulator",
        MatrixReduce,
        SparseAccumulatorParameters,
        sparse_contents,
        sparse_design,
        status=(ADDS,),
        base=SparseAccumulatorAdapter,
        retracts=(OVERFLOW,),  # a sum that leaves makes room for the point
        component=lambda name, parameters: (VectorReduce if parameters.order == 1 else MatrixReduce)(name),
        instance=lambda component: {"order": 1 if isinstance(component, VectorReduce) else 2},
    ),
    kinds=(VectorReduce, MatrixReduce),
)


def _of_tensor(component: TensorReduce) -> dict[str, object]:
    check_usual(component.operation == "add")
    return {"ways": component.ways, "kept": component.kept, "flushes": int(component.flushes)}


TENSOR = unit(
    "tensor_accumulator",
    TensorReduce,
    TensorAccumulatorParameters,
    tensor_contents,
    tensor_design,
    status=(ADDS,),
    base=TensorAccumulatorAdapter,
    component=lambda name, parameters: TensorReduce(
        name, parameters.ways, parameters.kept, flushes=bool(parameters.flushes)
    ),
    instance=_of_tensor,
)
