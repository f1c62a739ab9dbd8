"""RTL of the coordinate hold, ``fiberscope.hw.streams.hold.CoordinateHold``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyrtl

from fiberscope.hw.rtl.kit.parameters import Parameters, number
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias
from fiberscope.hw.rtl.kit.unit import PortContents, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.hold import CoordinateHold
from fiberscope.hw.streams.repeater_rtl import repeat
from fiberscope.hw.streams.stream_adapter_rtl import StreamAdapter
from fiberscope.hw.streams.tokens import DONE, STOP
from fiberscope.hw.streams.tokens_rtl import Head
from fiberscope.sim.channel import Channel


@dataclass(frozen=True)
class CoordinateHoldParameters(Parameters):
    """Parameters of a coordinate hold.

    Args:
        coordinate_bits: width of a coordinate, 4 to 55.
    """

    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)


def port_contents(parameters: CoordinateHoldParameters) -> PortContents:
    """Return the fields of the streams: coordinates at all four ports."""
    return dict.fromkeys(
        ("in_outer", "in_inner", "out_outer", "out_inner"), tokens.numbers(parameters.coordinate_bits)
    )


def design(_parameters: CoordinateHoldParameters, streams: Streams) -> None:
    """Build the hold: a repeater, whose signal is the kind of the inner token that was passed on last."""
    room, inner = tokens.room_in(streams), Head.from_stream(streams.inputs["in_inner"])
    waits: Signal = pyrtl.Register(1, "signal_waits")
    kind: Signal = DataRegister(tokens.KIND_BITS, "signal")
    signal = Head(waits, {"control": kind})
    answers = repeat(streams.inputs["in_outer"], signal, room, streams.outputs["out_outer[0]"])
    # The register of the signal takes the next kind in the cycle in which the repeater uses up the last.
    passes = alias("passes", room & inner.shown & (~waits | answers))
    streams.inputs["in_inner"].accept(passes)
    waits.next <<= passes | (waits & ~answers)
    # An inner N repeats the outer coordinate as a coordinate does: it becomes the signal of data.
    repeated = tokens.kind_of(~inner.is_control, inner.is_stop, inner.is_done)
    kind.next <<= pyrtl.select(passes, repeated, kind)
    tokens.pass_on(streams.outputs["out_inner[0]"], passes, inner)


class CoordinateHoldAdapter(StreamAdapter):
    """Component that replaces a ``CoordinateHold`` by its RTL in a simulation.

    A cycle also counts as busy if a stop becomes due in it and no token moves.
    """

    _signal: int | None = None  # the kind of the inner token that was passed on last
    _holds = _owes = False

    def finished(self, moved: Mapping[str, Any]) -> bool:
        """Return whether the outer done, which is the last token, has left."""
        return "out_outer[0]" in moved and moved["out_outer[0]"].control == DONE

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:
        """Account for a cycle; it also counts as busy if a stop becomes due and no token moves."""
        if self.done or self.held_up():
            return super().account(now, moved, blocked)
        closes = self._follow(moved)
        return super().account(now, moved or closes, blocked)

    def _follow(self, moved: Mapping[str, Any]) -> Mapping[str, Any]:
        """Track what is held and due; return the signal by which a stop becomes due, if any."""
        closes: Mapping[str, Any] = {}
        if self._owes:
            self._owes = "out_outer[0]" not in moved
        else:
            self._holds |= "in_outer" in moved
            if self._holds and self._signal is not None:
                closed = self._signal == STOP
                # The stop leaves at once if the next outer token, which determines its level, is visible.
                self._owes = closed and "out_outer[0]" not in moved
                self._holds, self._signal = not closed, None
                closes = {"signal": closed} if self._owes else {}
        # An inner token acts on the outer stream from the next cycle on, so it is recorded last.
        if "in_inner" in moved:
            self._signal = moved["in_inner"].control
        return closes

    def awaited(self) -> Channel:
        """Return the outer stream while a signal waits or a stop is due, else the inner stream."""
        return self.channel("in_outer" if self._owes or self._signal is not None else "in_inner")


BLOCK = unit(
    "coordinate_hold",
    CoordinateHold,
    CoordinateHoldParameters,
    port_contents,
    design,
    base=CoordinateHoldAdapter,
)
