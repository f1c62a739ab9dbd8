"""Pipelines whose stages move in step, as RTL; ``hw.pipeline`` is what components have for them."""

from __future__ import annotations

from collections.abc import Mapping

import pyrtl

from hw.rtl.adapter import Adapter
from hw.rtl.interface import Token
from hw.rtl.twin import Signal
from sim.channel import Channel


class Stages:
    """The control of a pipeline: a valid bit for each stage, and one enable for all registers.

    Args:
        depth: stages, at least 1.
        entering: whether something is there to enter.
        ready: whether what is in the last stage may leave.

    ``move`` is the enable; ``last`` says whether the last stage is full, ``arriving`` whether it will be
    after the next move.
    """

    def __init__(self, depth: int, entering: Signal, ready: Signal) -> None:
        full: list[Signal] = [pyrtl.Register(1, f"full_{stage:02}") for stage in range(depth)]
        before = [entering, *full[:-1]]
        self.last: Signal = full[-1]
        self.arriving: Signal = before[-1]
        self.move: Signal = pyrtl.WireVector(1, "move")
        self.move <<= ~self.last | ready
        for stage, source in zip(full, before, strict=True):
            stage.next <<= pyrtl.select(self.move, source, stage)

    def register(self, name: str, wire: Signal) -> Signal:
        """A register of a stage, which takes over the wire when the stages move."""
        held: Signal = pyrtl.Register(len(wire), name)
        held.next <<= pyrtl.select(self.move, wire, held)
        return held


class PipelineStandIn(Adapter):
    """Stands in for a component that is a pipeline; subclasses say what enters, leaves and is missing."""

    in_flight = 0  # what has entered and not left; subclasses count it in `observe`

    def account(self, now: int, moved: Mapping[str, Token], blocked: Channel | None) -> int:
        """Busy while anything moves in it; then waiting for space, else for what is missing, else idle."""
        if moved:
            return self.busy(now + 1)
        full = self.full(blocked)
        if full is not None:
            return self.wait_output(full)
        if self.in_flight:
            return self.busy(now + 1)
        missing = self.missing()
        return self.idle() if missing is None else self.wait_input(missing)

    def full(self, blocked: Channel | None) -> Channel | None:
        """The output for whose space the pipeline stands still, if it does."""
        return blocked

    def missing(self) -> Channel | None:
        """The input without which it cannot go on, if it has begun something."""
        raise NotImplementedError(f"{type(self).__name__} does not define missing")
