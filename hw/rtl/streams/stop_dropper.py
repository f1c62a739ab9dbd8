"""The dropper of stops as RTL: the twin of ``hw.streams``' ``StopDropper``, in front of accumulators."""

from __future__ import annotations

from dataclasses import dataclass

from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.codec import WHOLE_BITS
from hw.rtl.kit.interface import Content, Interface
from hw.rtl.kit.parameters import Parameters, choice, number
from hw.rtl.kit.twin import Streams
from hw.rtl.streams import tokens
from hw.rtl.streams.stand_in import StreamStandIn
from hw.rtl.streams.tokens import Head
from hw.streams.droppers import StopDropper
from hw.streams.tokens import CRD, STOP, VAL
from sim import ANY

COORDINATES, VALUES = CARRIES = ("coordinates", "values")


@dataclass(frozen=True)
class StopDropperParameters(Parameters):
    """What a dropper of stops is made for.

    Args:
        carries: ``coordinates`` or ``values``.
        coordinate_bits: 4 to 55.
        value_bits: of a value, in two's complement, 1 to 53.

    Raises:
        ValueError: for a number out of its range.
    """

    carries: str = choice(COORDINATES, CARRIES)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)
    value_bits: int = number(32, 1, WHOLE_BITS)


def interface(parameters: StopDropperParameters) -> Interface:
    """Ports: ``in_stream`` and ``out_stream``."""
    content: Content = tokens.values(parameters.value_bits)
    if parameters.carries == COORDINATES:
        content = tokens.numbers(parameters.coordinate_bits)
    streams = tokens.source("in_stream", content), tokens.sink("out_stream", content)
    return Interface("stop_dropper", streams)


def design(_parameters: StopDropperParameters, between: Streams) -> None:
    """Every token but a stop passes; no registers."""
    head, room = Head.of(between.inputs["in_stream"]), tokens.room_in(between)
    between.inputs["in_stream"].accept(room)
    tokens.pass_on(between.outputs["out_stream[0]"], room & head.shown & ~head.is_stop, head)


class StopDropperStandIn(StreamStandIn):
    """Stands in for a ``StopDropper``."""

    PORTS = StopDropper("", ANY).ports

    def counters(self) -> dict[str, int]:
        """Stops, and the tokens of the output."""
        return {"dropped": self.moved["in_stream", STOP]} | super().counters()


BLOCK = RtlBlock(
    "stop_dropper",
    "drops the stops of a stream, so that its points alone are left, a token a cycle",
    StopDropperParameters,
    StopDropperParameters,
    interface,
    design,
    StopDropperStandIn,
    lambda name, parameters: StopDropper(name, CRD if parameters.carries == COORDINATES else VAL),
)
