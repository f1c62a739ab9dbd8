"""Order of the coordinates of a fiber: assumed for inputs, claimed for outputs."""

from __future__ import annotations

from collections.abc import Sequence

import pyrtl

from fiberscope.hw.rtl.kit.twin import DataRegister
from fiberscope.hw.stream import DATA
from fiberscope.rtl.formal.properties import Properties, StreamWires, all_of


class Fiber:
    """The last coordinate that moved at a stream in the current fiber.

    A fiber ends with the next token that is no coordinate. All attributes but ``stream`` are wires.

    Attributes:
        stream: the stream.
        coordinate: the coordinate field of the stream.
        is_coordinate: whether the token is a coordinate; valid while the stream is.
        is_begun: whether a coordinate of the fiber has moved in an earlier cycle.
        last: the last coordinate; valid while ``is_begun`` is high.
        ascends: high unless the offered token is a coordinate that is not larger than ``last``.
    """

    def __init__(self, stream: StreamWires) -> None:
        name = stream.definition.prefix
        coordinate = stream.fields["payload" if "payload" in stream.fields else "coordinate"]
        is_coordinate = stream.fields["control"] == DATA
        self.stream, self.coordinate, self.is_coordinate = stream, coordinate, is_coordinate
        self.is_begun = pyrtl.Register(1, f"{name}_is_begun")
        self.last = DataRegister(len(coordinate), f"{name}_last")
        self.is_begun.next <<= pyrtl.select(stream.fire, is_coordinate, self.is_begun)
        self.last.next <<= pyrtl.select(stream.fire, coordinate, self.last)
        self.ascends = ~stream.valid | ~is_coordinate | ~self.is_begun | (coordinate > self.last)


def add_matching_order(properties: Properties, sources: Sequence[StreamWires], sink: StreamWires) -> None:
    """Add the order of an intersection.

    The coordinates of each input ascend within a fiber (assumed), and so do those of the output (claimed).
    The last match is at most the last coordinate taken from each input (claimed; the induction needs it).

    Args:
        properties: collects the properties.
        sources: the inputs with coordinates.
        sink: the output.
    """
    fibers = _assumed_fibers(properties, sources)
    output = _claimed_fiber(properties, sink)
    is_not_ahead = [fiber.is_begun & (output.last <= fiber.last) for fiber in fibers]
    properties.claim("last_match", all_of(is_not_ahead), when=output.is_begun)


def add_merging_order(properties: Properties, sources: Sequence[StreamWires], sink: StreamWires) -> None:
    """Add the order of a union.

    The coordinates of each input ascend within a fiber (assumed), and so do those of the output (claimed). Of
    each input, either the last coordinate taken is the last one sent; or a token has waited since the cycle
    before that is no coordinate, or a larger one (claimed; the induction needs it).

    Args:
        properties: collects the properties.
        sources: the inputs with coordinates.
        sink: the output.
    """
    fibers = _assumed_fibers(properties, sources)
    output = _claimed_fiber(properties, sink)
    for fiber in fibers:
        is_waiting = properties.previous(fiber.stream.valid & ~fiber.stream.ready)
        is_ahead = is_waiting & (~fiber.is_coordinate | (fiber.coordinate > output.last))
        is_output = fiber.is_begun & (fiber.last == output.last)
        properties.claim(
            f"{fiber.stream.definition.prefix}_is_ahead", is_ahead | is_output, when=output.is_begun
        )


def _assumed_fibers(properties: Properties, sources: Sequence[StreamWires]) -> list[Fiber]:
    """Return the fibers of inputs, and assume that their coordinates ascend."""
    fibers = [Fiber(source) for source in sources]
    for fiber in fibers:
        properties.assume(f"{fiber.stream.definition.prefix}_ascends", fiber.ascends)
    return fibers


def _claimed_fiber(properties: Properties, sink: StreamWires) -> Fiber:
    """Return the fiber of an output, and claim that its coordinates ascend."""
    fiber = Fiber(sink)
    applies = sink.fire & fiber.is_coordinate & fiber.is_begun
    properties.claim(f"{sink.definition.prefix}_ascends", fiber.ascends, when=applies)
    return fiber
