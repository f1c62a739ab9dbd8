"""RTL of the stop dropper, ``StopDropper`` of ``fiberscope.hw.streams``, which precedes accumulators."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.rtl.kit.arithmetic import ValueParameters, value_type
from fiberscope.hw.rtl.kit.codec import WHOLE_BITS
from fiberscope.hw.rtl.kit.parameters import choice, number
from fiberscope.hw.rtl.kit.twin import Streams
from fiberscope.hw.rtl.kit.unit import PortContents, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.droppers import StopDropper
from fiberscope.hw.streams.stream_adapter_rtl import StreamAdapter
from fiberscope.hw.streams.tokens import CRD, STOP, VAL
from fiberscope.hw.streams.tokens_rtl import Head
from fiberscope.sim import ANY

COMPONENT_DROPS_ALL = StopDropper("", ANY).kept  # value of ``kept`` of a component that drops all stops
RTL_DROPS_ALL = 1 << tokens.LEVEL_BITS  # parameter ``kept`` of RTL that drops all stops
COORDINATES, VALUES = CARRIES = ("coordinates", "values")


@dataclass(frozen=True)
class StopDropperParameters(ValueParameters):
    """Parameters of a dropper of stops.

    Args:
        carries: ``coordinates`` or ``values``.
        coordinate_bits: width of a coordinate, 4 to 55.
        value_bits: width of a value if values are integers, 1 to 53.
        values: type of the values.
        kept: lowest level of the stops that are not dropped; 0 to drop none, 16 to drop all.
    """

    carries: str = choice(COORDINATES, CARRIES)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)
    value_bits: int = number(32, 1, WHOLE_BITS)
    values: str = value_type()
    kept: int = number(RTL_DROPS_ALL, 0, RTL_DROPS_ALL)


def port_contents(parameters: StopDropperParameters) -> PortContents:
    """Return the contents of the streams: coordinates or values."""
    content = tokens.values(parameters.value_field)
    if parameters.carries == COORDINATES:
        content = tokens.numbers(parameters.coordinate_bits)
    return {"in_stream": content, "out_stream": content}


def design(parameters: StopDropperParameters, streams: Streams) -> None:
    """Build a stop dropper: all tokens except stops below level ``kept`` pass, without registers."""
    head, room = Head.from_stream(streams.inputs["in_stream"]), tokens.room_in(streams)
    streams.inputs["in_stream"].accept(room)
    # A level has four bits: with ``kept`` 16, no stop reaches it, and all are dropped.
    stays = ~head.is_stop | (head.level >= parameters.kept) if parameters.kept else pyrtl.Const(1, 1)
    tokens.pass_on(streams.outputs["out_stream[0]"], room & head.shown & stays, head)


class StopDropperAdapter(StreamAdapter):
    """Adapter of a stop dropper, whose ports depend on the parameters of an instance."""

    PORTS = StopDropper("", ANY).ports

    def counters(self) -> dict[str, int]:
        """Return the number of stops that were dropped, and the tokens of the output by kind."""
        dropped = self.moved["in_stream", STOP] - self.moved["out_stream[0]", STOP]
        return {"dropped": dropped} | super().counters()


BLOCK = unit(
    "stop_dropper",
    StopDropper,
    StopDropperParameters,
    port_contents,
    design,
    base=StopDropperAdapter,
    instance=lambda dropper: {
        "carries": COORDINATES if dropper.ports[0].carries == CRD else VALUES,
        "kept": RTL_DROPS_ALL if dropper.kept == COMPONENT_DROPS_ALL else dropper.kept,
    },
    component=lambda name, parameters: StopDropper(
        name,
        CRD if parameters.carries == COORDINATES else VAL,
        kept=COMPONENT_DROPS_ALL if parameters.kept == RTL_DROPS_ALL else parameters.kept,
    ),
)
