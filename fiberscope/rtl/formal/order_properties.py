"""Order of the coordinates of a fiber: assumed for inputs, claimed for outputs."""

from __future__ import annotations

from collections.abc import Sequence

import pyrtl

from fiberscope.hw.rtl.kit.twin import DataRegister
from fiberscope.hw.stream import DATA
from fiberscope.rtl.formal.properties import End, Properties, all_of


class Fiber:
    """The last coordinate that moved at a stream in the current fiber.

    A fiber ends with the next token that is no coordinate. All attributes but ``end`` are wires.

    Args:
        end: the stream.

    Attributes:
        end: the same.
        coordinate: the coordinate field of the stream.
        is_coordinate: whether the token is a coordinate; valid while the stream is.
        is_begun: whether a coordinate of the fiber has moved in an earlier cycle.
        last: the last coordinate; valid while ``is_begun`` is high.
        ascends: high unless the offered token is a coordinate that is not larger than ``last``.
    """

    def __init__(self, end: End) -> None:
        name = end.stream.prefix
        coordinate = end.fields["payload" if "payload" in end.fields else "coordinate"]
        is_coordinate = end.fields["control"] == DATA
        self.end, self.coordinate, self.is_coordinate = end, coordinate, is_coordinate
        self.is_begun = pyrtl.Register(1, f"{name}_is_begun")
        self.last = DataRegister(len(coordinate), f"{name}_last")
        self.is_begun.next <<= pyrtl.select(end.moves, is_coordinate, self.is_begun)
        self.last.next <<= pyrtl.select(end.moves, coordinate, self.last)
        self.ascends = ~end.valid | ~is_coordinate | ~self.is_begun | (coordinate > self.last)


def add_matching_order(properties: Properties, sources: Sequence[End], sink: End) -> None:
    """Add the order of an intersection.

    The coordinates of each input ascend within a fiber (assumed), and so do those of the output (claimed).
    The last match is at most the last coordinate taken from each input (claimed; the induction needs it).

    Args:
        properties: collects the properties.
        sources: the inputs with coordinates.
        sink: the output.
    """
    fibers = _assumed_fibers(properties, sources)
    sent = _claimed_fiber(properties, sink)
    behind = [fiber.is_begun & (sent.last <= fiber.last) for fiber in fibers]
    properties.claim("last_match", all_of(behind), when=sent.is_begun)


def add_merging_order(properties: Properties, sources: Sequence[End], sink: End) -> None:
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
    sent = _claimed_fiber(properties, sink)
    for fiber in fibers:
        waits = properties.previous(fiber.end.valid & ~fiber.end.ready)
        ahead = waits & (~fiber.is_coordinate | (fiber.coordinate > sent.last))
        last = fiber.is_begun & (fiber.last == sent.last)
        properties.claim(f"{fiber.end.stream.prefix}_is_ahead", ahead | last, when=sent.is_begun)


def _assumed_fibers(properties: Properties, sources: Sequence[End]) -> list[Fiber]:
    """Return the fibers of inputs, and assume that their coordinates ascend."""
    fibers = [Fiber(source) for source in sources]
    for fiber in fibers:
        properties.assume(f"{fiber.end.stream.prefix}_ascends", fiber.ascends)
    return fibers


def _claimed_fiber(properties: Properties, sink: End) -> Fiber:
    """Return the fiber of an output, and claim that its coordinates ascend."""
    fiber = Fiber(sink)
    applies = sink.moves & fiber.is_coordinate & fiber.is_begun
    properties.claim(f"{sink.stream.prefix}_ascends", fiber.ascends, when=applies)
    return fiber
