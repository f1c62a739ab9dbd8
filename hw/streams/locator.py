"""Locate: to ask a level whether it has a coordinate, instead of walking along it."""

from __future__ import annotations

from typing import ClassVar

from hw.level import Level
from hw.streams.block import StreamBlock
from hw.streams.output import OutputStream
from hw.streams.ports import output_stream
from hw.streams.quirks import CLEAN
from hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, STOP
from sim.channel import Channel
from sim.component import Input, Port, Signal
from sim.errors import SimulationError
from sim.protocol import ANY

MISSING = -1  # instead of a reference


class Locator(StreamBlock):
    """Finds for each coordinate of one operand the reference that another has for it.

    Interface: coordinates on ``in_crd`` with references, or any stream of their shape, on ``in_ref``, and on
    ``in_base``, if it is connected, for each of them the fiber of the level to look in, else its first. A
    coordinate that is found leaves on ``out_crd``, with its reference on ``out_ref`` and the one found on
    ``out_ref2``. One that is not found is dropped, or leaves N on all three if ``missing_empty``; so does N.
    Stops pass.

    Timing: a token a cycle, when all inputs show one; a search takes what the subclass says.

    Counts: ``found`` and ``missed``.

    Source: SAM (ASPLOS 2023), Definition 4.1, which leaves a missing coordinate empty; the fiber that is
    looked in, and dropping, are choices of this model. The public simulator has no such block.

    Args:
        name: instance name.
        missing_empty: whether what is not found leaves N, and is not dropped.
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

    def __init__(self, name: str, *, missing_empty: bool = False) -> None:
        super().__init__(name, CLEAN)
        self.missing_empty = missing_empty
        self.found = self.missed = 0
        self._searching = False
        self._ends = 0  # the cycle in which the search ends

    def find(self, fiber: int, coordinate: int) -> int:
        """The reference of this coordinate in a fiber, or ``MISSING``."""
        raise NotImplementedError(f"{type(self).__name__} does not define find")

    def search_cycles(self, fiber: int) -> int:
        """Cycles that a search in this fiber takes, at least 1."""
        return 1

    def update(self, now: int) -> int:
        """Take one token of each input."""
        if not self.in_crd.can_pop():
            return self.wait_input(self.in_crd)
        if not self.in_ref.can_pop():
            return self.wait_input(self.in_ref)
        if self.in_base is not None and not self.in_base.can_pop():
            return self.wait_input(self.in_base)
        kind = self._kind()
        if kind == DATA and self._goes_on(now):
            return self.busy(self._ends)
        self._send(kind)
        self.in_crd.pop()
        self.in_ref.pop()
        if self.in_base is not None:
            self.in_base.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _kind(self) -> int:
        """Kind of the next tokens; N if any of them is."""
        kind = self.in_crd.control()
        reference = self.in_ref.control()
        base = kind if self.in_base is None else self.in_base.control()
        if kind in (DATA, EMPTY) and reference in (DATA, EMPTY) and base in (DATA, EMPTY):
            return EMPTY if EMPTY in (kind, reference, base) else DATA
        if kind != reference or kind != base:
            raise SimulationError(f"{self.name}: in_crd, in_ref and in_base must have the same shape")
        return kind

    def _goes_on(self, now: int) -> bool:
        """Whether the search goes on beyond this cycle."""
        if not self._searching:
            self._searching = True
            self._ends = now + self.search_cycles(self._base()) - 1
        if now < self._ends:
            return True
        self._searching = False
        return False

    def _base(self) -> int:
        return 0 if self.in_base is None else self.in_base.coordinate()

    def _send(self, kind: int) -> None:
        reference = self.find(self._base(), self.in_crd.coordinate()) if kind == DATA else MISSING
        if kind in (STOP, DONE):
            self.send_control(kind, self.in_crd.coordinate())
        elif reference == MISSING:
            self._miss()
        else:
            self._send_found(reference)

    def _miss(self) -> None:
        self.missed += 1
        if self.missing_empty:
            self.send_control(EMPTY, 0)

    def _send_found(self, reference: int) -> None:
        self.found += 1
        self.out_crd.push(DATA, self.in_crd.coordinate())
        self.out_ref.push(DATA, self.in_ref.coordinate())
        self.out_ref2.push(DATA, reference)


class DenseLocator(Locator):
    """Locates in a dense level: ``base * size + coordinate``, unless the coordinate lies beyond.

    Interface and timing: those of ``Locator``; a search takes one cycle.

    Args:
        name: instance name.
        size: coordinates of the level.
        missing_empty: see ``Locator``.

    Raises:
        ValueError: if the size is negative.
    """

    def __init__(self, name: str, size: int, *, missing_empty: bool = False) -> None:
        super().__init__(name, missing_empty=missing_empty)
        if size < 0:
            raise ValueError(f"{name}: the size of a dense level must not be negative, as {size} is")
        self.size = size

    def find(self, fiber: int, coordinate: int) -> int:
        """The reference of this coordinate in a fiber, or ``MISSING``."""
        return fiber * self.size + coordinate if coordinate < self.size else MISSING


class CompressedLocator(Locator):
    """Locates in a compressed level, by binary search.

    Interface: that of ``Locator``. Timing: a search looks at one element a cycle, in a fiber of m elements at
    as many as m has bits, and takes at least a cycle.

    Args:
        name: instance name.
        level: what is looked in.
        missing_empty: see ``Locator``.

    Raises:
        SimulationError: in the run, if there is no such fiber.
    """

    def __init__(self, name: str, level: Level, *, missing_empty: bool = False) -> None:
        super().__init__(name, missing_empty=missing_empty)
        self.level = level

    def search_cycles(self, fiber: int) -> int:
        """Cycles that a search in this fiber takes: the bits of its number of elements."""
        self.level.check_fiber(fiber, self.name)
        left = (self.level.end(fiber) - self.level.begin(fiber)) >> 1
        cycles = 1
        while left > 0:
            left >>= 1
            cycles += 1
        return cycles

    def find(self, fiber: int, coordinate: int) -> int:
        """The reference of this coordinate in a fiber, or ``MISSING``."""
        end = self.level.end(fiber)
        position = self.level.find(fiber, coordinate)
        here = position < end and self.level.coordinate(position) == coordinate
        return position if here else MISSING
