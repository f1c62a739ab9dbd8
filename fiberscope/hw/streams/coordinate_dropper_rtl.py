"""RTL of the coordinate dropper, ``fiberscope.hw.streams.coordinate_dropper.CoordinateDropper``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyrtl

from fiberscope.hw.rtl.kit.arithmetic import ValueParameters, value_type
from fiberscope.hw.rtl.kit.codec import WHOLE_BITS
from fiberscope.hw.rtl.kit.parameters import choice, number
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias
from fiberscope.hw.rtl.kit.unit import PortContents, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.coordinate_dropper import CoordinateDropper
from fiberscope.hw.streams.stream_adapter_rtl import StreamAdapter
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, STOP, VAL
from fiberscope.hw.streams.tokens_rtl import Head
from fiberscope.sim import ANY
from fiberscope.sim.channel import Channel

COORDINATES, VALUES = INNER = ("coordinates", "values")


@dataclass(frozen=True)
class CoordinateDropperParameters(ValueParameters):
    """Parameters of a coordinate dropper.

    Args:
        inner: content of the inner stream, ``coordinates`` or ``values``.
        coordinate_bits: width of a coordinate, 4 to 55.
        value_bits: width of a value of an integer type, 1 to 53.
        values: type of the values.
    """

    inner: str = choice(COORDINATES, INNER)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)
    value_bits: int = number(32, 1, WHOLE_BITS)
    values: str = value_type()


def port_contents(parameters: CoordinateDropperParameters) -> PortContents:
    """Return the fields of the streams: outer coordinates, and inner coordinates or values."""
    outer = tokens.numbers(parameters.coordinate_bits)
    inner = outer if parameters.inner == COORDINATES else tokens.values(parameters.value_field)
    return {"in_outer": outer, "in_inner": inner, "out_outer": outer, "out_inner": inner}


def design(_parameters: CoordinateDropperParameters, streams: Streams) -> None:
    """Build the dropper.

    Registers hold the outer token that waits for its inner fiber, whether this fiber has an element, and
    the last inner token. An outer stop after a coordinate leaves alone. An outer stop after a stop, or at
    the start, is paired with an inner stop.
    The coordinate leaves with the stop of its fiber, an inner token when the next one arrives.
    """
    inner = Head.from_stream(streams.inputs["in_inner"])
    last = _LastInnerToken(streams, tokens.room_in(streams))
    # After the inner done has arrived, only this done is still to leave.
    room = alias("goes_on", last.room & ~last.head.is_done)
    holds: Signal = pyrtl.Register(1, "holds")
    seen: Signal = pyrtl.Register(1, "seen")
    behind_data: Signal = pyrtl.Register(1, "behind_data")
    takes: Signal = pyrtl.WireVector(1, "takes_outer")
    outer, now = _outer(streams, holds, takes)
    takes <<= room & ~holds & outer.shown

    # A stop that ends a fiber with coordinates was preceded by the inner stop of its last coordinate, whose
    # level covers it. A stop that ends an empty outer fiber has an inner stop of its own.
    alone = alias("alone", takes & outer.is_control & behind_data)
    passes = alias("passes", room & now.shown & ~alone & inner.shown)
    ends = alias("ends", passes & inner.is_control)
    # In the cycle in which an outer token is popped, ``seen`` still belongs to the fiber before.
    has_data = alias("has_data", seen & holds)
    streams.inputs["in_outer"].accept(takes)
    streams.inputs["in_inner"].accept(passes)
    holds.next <<= (holds | (takes & ~alone)) & ~ends
    behind_data.next <<= pyrtl.select(takes, outer.is_data, behind_data)
    seen.next <<= (seen & ~takes) | (passes & ~inner.is_control)
    tokens.pass_on(streams.outputs["out_outer[0]"], alone | (ends & (now.is_control | has_data)), now)
    last.follow(passes, inner, passes & inner.is_stop & now.is_data & ~has_data)


class _LastInnerToken:
    """The last inner token, which leaves when the next one arrives.

    The stop of a fiber without elements is dropped. If the stop ends further lists, it replaces a held stop
    of level 0.

    Args:
        streams: the streams of the module.
        room: 1 if all outputs have a free slot.
    """

    def __init__(self, streams: Streams, room: Signal) -> None:
        self.room = room
        self._sink = streams.outputs["out_inner[0]"]
        self._holds: Signal = pyrtl.Register(1, "holds_inner")
        inner = streams.inputs["in_inner"].fields
        self._held = {name: DataRegister(len(wire), f"inner_{name}") for name, wire in inner.items()}
        self.head = Head(self._holds, self._held)

    def follow(self, passes: Signal, inner: Head, empty: Signal) -> None:
        """Accept the next inner token; ``empty`` tells whether it is the stop of a fiber without elements."""
        higher = alias("ends_more", empty & (inner.level != 0))
        replaces = alias("replaces", higher & self.head.is_stop & (self.head.level == 0))
        keeps = alias("keeps", passes & (~empty | higher))
        leaves = (keeps & self._holds & ~replaces) | (self.room & self.head.is_done)
        tokens.pass_on(self._sink, leaves, self.head)
        self._holds.next <<= (self._holds | keeps) & ~(self.room & self.head.is_done)
        for name, register in self._held.items():
            register.next <<= pyrtl.select(keeps, inner.fields[name], register)


def _outer(streams: Streams, holds: Signal, takes: Signal) -> tuple[Head, Head]:
    """Return the outer token at the input, and the outer token that applies in this cycle."""
    shown = Head.from_stream(streams.inputs["in_outer"])
    held = {name: DataRegister(len(wire), f"outer_{name}") for name, wire in shown.fields.items()}
    for name, register in held.items():
        register.next <<= pyrtl.select(takes, shown.fields[name], register)
    fields = {name: pyrtl.select(holds, held[name], wire) for name, wire in shown.fields.items()}
    return shown, Head(holds | shown.shown, fields)


class CoordinateDropperAdapter(StreamAdapter):
    """Component that replaces a ``CoordinateDropper`` by its RTL in a simulation."""

    PORTS = CoordinateDropper("", ANY).ports

    _waits = False  # an outer token is held
    _behind_data = False

    def finished(self, moved: Mapping[str, Any]) -> bool:
        """Return whether the inner done, which is the last token, has left."""
        return "out_inner[0]" in moved and moved["out_inner[0]"].control == DONE

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Track on which stream the block waits."""
        super().observe(moved)
        if "in_outer" in moved:
            alone = moved["in_outer"].control != DATA and self._behind_data
            self._waits, self._behind_data = not alone, moved["in_outer"].control == DATA
        if "in_inner" in moved and moved["in_inner"].control in (STOP, DONE):
            self._waits = False

    def awaited(self) -> Channel:
        """Return the inner stream while an outer token is held, else the outer stream."""
        return self.channel("in_inner" if self._waits else "in_outer")

    def counters(self) -> dict[str, int]:
        """Return the number of dropped coordinates, and the tokens of the outputs."""
        # A coordinate that still waits for the end of its fiber is neither dropped nor sent.
        ended = self.moved["in_outer", DATA] - (self._waits and self._behind_data)
        return {"dropped": ended - self.moved["out_outer[0]", DATA]} | super().counters()


BLOCK = unit(
    "coordinate_dropper",
    CoordinateDropper,
    CoordinateDropperParameters,
    port_contents,
    design,
    base=CoordinateDropperAdapter,
    component=lambda name, parameters: CoordinateDropper(
        name, CRD if parameters.inner == COORDINATES else VAL
    ),
    instance=lambda dropper: {"inner": COORDINATES if dropper.carries == CRD else VALUES},
)
