"""RTL of the reducer that reads its fibers' coordinates, ``fiberscope.hw.streams.reduce.FiberReduce``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyrtl

from fiberscope.hw.rtl.kit.arithmetic import SummingParameters, value_type
from fiberscope.hw.rtl.kit.codec import WHOLE_BITS
from fiberscope.hw.rtl.kit.parameters import number
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias
from fiberscope.hw.rtl.kit.unit import PortContents, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.reduce import FiberReduce
from fiberscope.hw.streams.stream_adapter_rtl import check_usual
from fiberscope.hw.streams.tokens import DONE, STOP
from fiberscope.hw.streams.tokens_rtl import Head
from fiberscope.hw.streams.values_rtl import ScalarReducerAdapter, reduction
from fiberscope.sim.channel import Channel


@dataclass(frozen=True)
class SumParameters(SummingParameters):
    """Parameters of sums of values with coordinates.

    Args:
        coordinate_bits: width of a coordinate, 4 to 55.
        value_bits: width of a value of an integer type, 1 to 53.
        sum_bits: width of a sum, ``value_bits`` to 53; the sender must avoid sums that do not fit.
        values: type of the values.
    """

    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)
    value_bits: int = number(32, 1, WHOLE_BITS)
    sum_bits: int = number(48, 1, WHOLE_BITS)
    values: str = value_type()


@dataclass(frozen=True)
class FiberReducerParameters(SumParameters):
    """Parameters of a reducer of fibers.

    Args:
        coordinate_bits, value_bits, sum_bits, values: see ``SumParameters``.
        marks: 1 if an empty fiber gives N, else 0.
    """

    marks: int = number(0, 0, 1)


def port_contents(parameters: FiberReducerParameters) -> PortContents:
    """Return the fields of the streams: values, and coordinates, which show which fibers are empty."""
    coordinates = tokens.numbers(parameters.coordinate_bits)
    return {
        "in_crd": coordinates,
        "in_val": tokens.values(parameters.value_field),
        "out_val": tokens.values(parameters.sum_field),
    }


def design(parameters: FiberReducerParameters, streams: Streams) -> None:
    """Build the reducer. A register holds whether a fiber is open: begun, but without its stop so far.

    A stop that also ends the list is accepted together with the stop of the coordinates. The stop of the
    list leaves in the cycle after the sum.
    """
    crd, val = Head.from_stream(streams.inputs["in_crd"]), Head.from_stream(streams.inputs["in_val"])
    fiber_open: Signal = pyrtl.Register(1, "open")
    follows: Signal = pyrtl.Register(1, "stop_follows")
    owed: Signal = DataRegister(tokens.LEVEL_BITS, "its_level")
    room = tokens.room_in(streams)
    acts = alias("acts", room & ~follows)

    opens = alias("opens", acts & ~fiber_open & crd.is_data)
    passes = alias("passes", acts & ~fiber_open & crd.is_control & val.shown)
    ends_list = alias("ends_list", val.is_stop & (val.level != 0))
    # In the cycle in which a fiber opens, its coordinate is popped. A stop that ends the list waits, because
    # the stop of the coordinates must be popped with it.
    takes = alias("takes", (opens | (acts & fiber_open)) & val.shown & ~ends_list)
    ends_both = alias("ends_both", acts & fiber_open & ends_list & crd.shown)
    streams.inputs["in_crd"].accept(opens | passes | ends_both)
    streams.inputs["in_val"].accept(passes | takes | ends_both)
    begun, result = reduction(parameters, "sum", val, takes | ends_both)

    closes = alias("closes", ends_both | (takes & val.is_stop))
    fiber_open.next <<= (fiber_open | opens) & ~closes
    follows.next <<= ends_both | (follows & ~room)
    # The stop of the coordinates is one level lower than the stop of the values.
    owed.next <<= pyrtl.select(ends_both, crd.level, owed)
    pays = alias("pays", room & follows)
    # An empty fiber gives the value 0, or with ``marks`` an N, for which no flag of the kind is set.
    data = closes & (begun | (parameters.marks == 0))
    kind = tokens.kind_of(data, pays | (passes & crd.is_stop), passes & crd.is_done)
    level = pyrtl.select(follows, owed, crd.level)
    tokens.send(streams.outputs["out_val[0]"], closes | pays | passes, kind, level, result)


class FiberReducerAdapter(ScalarReducerAdapter):
    """Component that replaces a ``FiberReduce`` by its RTL in a simulation."""

    _open = False

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Track whether a fiber is open."""
        super().observe(moved)
        # A stop or done of the coordinates moves with one of the values, which then closes the fiber again.
        if "in_crd" in moved:
            self._open = True
        if "in_val" in moved and moved["in_val"].control in (STOP, DONE):
            self._open = False

    def awaited(self) -> Channel:
        """Return the values while a fiber is open and none is visible; else as the base class does."""
        waits_for_values = self._open and not self.end("in_val").is_open
        return self.channel("in_val") if waits_for_values else super().awaited()


def _make(name: str, parameters: FiberReducerParameters) -> FiberReduce:
    reducer = FiberReduce(name)
    reducer.marks = bool(parameters.marks)
    return reducer


def _of_reducer(reducer: FiberReduce) -> dict[str, object]:
    check_usual(not reducer.fills)
    return {"marks": int(reducer.marks)}


BLOCK = unit(
    "fiber_reducer",
    FiberReduce,
    FiberReducerParameters,
    port_contents,
    design,
    base=FiberReducerAdapter,
    component=_make,
    instance=_of_reducer,
)
