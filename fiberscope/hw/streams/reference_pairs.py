# cython: infer_types=True
"""Base of blocks that pop two references in a cycle, each to a fiber of its own level."""

from __future__ import annotations

from typing import ClassVar

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.quirks import NO_QUIRKS
from fiberscope.hw.streams.tokens import REF, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port


class ReferencePairs(StreamBlock):
    """Pops pairs of tokens from two streams of references of the same shape, ``in_ref0`` and ``in_ref1``.

    Source: the two operands of an intersection, SAM (ASPLOS 2023), Definition 3.2.

    Raises:
        SimulationError: during the run, if the streams differ in shape.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (Input("in_ref0", REF), Input("in_ref1", REF))

    in_ref0: Channel
    in_ref1: Channel

    def __init__(self, name: str, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.pair: list[Channel] = []  # both inputs

    def elaborate(self) -> None:
        """Look up the channels of the ports."""
        super().elaborate()
        self.pair = [self.in_ref0, self.in_ref1]

    def missing_input(self) -> Channel | None:
        """Return the first input without a visible token; None if both show a token."""
        for source in (self.in_ref0, self.in_ref1):
            if not source.can_pop():
                return source
        return None

    def pop_pair(self, now: int) -> None:
        """Pop the heads of both inputs.

        Raises:
            SimulationError: unless the heads are both elements or N, stops of the same level, or done.
        """
        self.check_shape(self.pair, now)
        self.in_ref0.pop()
        self.in_ref1.pop()

    def pop_stop_level(self, now: int) -> int:
        """Return the level of the stop after two fibers; if the heads are stops, pop and include them.

        Both inputs must show a token.

        Raises:
            SimulationError: if the head of ``in_ref0`` is a stop, and that of ``in_ref1`` is another token.
        """
        if self.in_ref0.control() != STOP:
            return 0
        level = self.in_ref0.coordinate() + 1
        self.pop_pair(now)
        return level
