# cython: infer_types=True
"""Locators, which look up whether a level has a coordinate instead of scanning the level."""

from __future__ import annotations

from typing import ClassVar

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port, Signal
from fiberscope.sim.protocol import ANY


class DenseLocator(StreamBlock):
    """Finds for each coordinate of one operand the reference that a dense level has for it.

    Interface: coordinates arrive on ``in_crd``. ``in_ref`` carries their references, or any stream of the
    same shape. If ``in_base`` is connected, it carries the fiber of the level to search for each
    coordinate; otherwise the first fiber is searched. A coordinate that is found leaves on ``out_crd``, its
    own reference on ``out_ref``, and the reference that was found, ``base * size + coordinate``, on
    ``out_ref2``. A coordinate of ``size`` or above is dropped, and so are the heads if one of them is N.
    Stops and done pass.

    Timing: one token per cycle, when all inputs have a visible token.

    Counts: ``found`` coordinates; ``missed``, the coordinates and N that were dropped.

    Source: SAM (ASPLOS 2023), Definition 4.1, in which a missing coordinate gives an empty token. The
    choice of the fiber, and dropping, are choices of this model. The public simulator has no such block.

    Args:
        size: number of coordinates of the level.

    Raises:
        ValueError: if the size is negative.
        SimulationError: during the run, if the streams differ in shape.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (
        Input("in_crd", CRD),
        Input("in_ref", ANY),
        Input("in_base", ANY, optional=True),
        output_stream("out_crd", CRD),
        output_stream("out_ref", REF),
        output_stream("out_ref2", REF),
    )
    COUNTERS = ("found", "missed")
    SIGNALS: ClassVar[tuple[Signal, ...]] = (*StreamBlock.SIGNALS, Signal("found", 48), Signal("missed", 48))

    in_crd: Channel
    in_ref: Channel
    in_base: Channel | None
    out_crd: OutputStream
    out_ref: OutputStream
    out_ref2: OutputStream

    def __init__(self, name: str, size: int) -> None:
        super().__init__(name, NO_QUIRKS)
        if size < 0:
            raise ValueError(f"{name}: the size of a dense level must not be negative, as {size} is")
        self.size = size
        self.found = self.missed = 0

    def update(self, now: int) -> int:
        """Pop one token of each input, and send what is found."""
        for channel in self.inputs:
            if not channel.can_pop():
                return self.wait_input(channel)
        self.check_shape(self.inputs, now)
        kind = self._kind()
        self._send(kind)
        for channel in self.inputs:
            channel.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _kind(self) -> int:
        """Return the kind of the next tokens; it is N if any of them is N."""
        for channel in self.inputs:
            if channel.control() == EMPTY:
                return EMPTY
        return self.in_crd.control()

    def _base(self) -> int:  # C: noexcept
        return 0 if self.in_base is None else self.in_base.coordinate()

    def _send(self, kind: int) -> None:
        """Send a stop or done, or a coordinate that the level has; drop any other coordinate and N."""
        if kind in (STOP, DONE):
            self.send_control(kind, self.in_crd.coordinate())
        elif kind == DATA and self.in_crd.coordinate() < self.size:
            self._send_found()
        else:
            self.missed += 1

    def _send_found(self) -> None:
        """Send a coordinate that the level has, with its own and the found reference."""
        coordinate = self.in_crd.coordinate()
        self.found += 1
        self.out_crd.push(DATA, coordinate)
        self.out_ref.push(DATA, self.in_ref.coordinate())
        self.out_ref2.push(DATA, self._base() * self.size + coordinate)
