# cython: infer_types=True
"""Intersection of two fibers: their elements of equal coordinate, side by side."""

from __future__ import annotations

from array import array
from typing import ClassVar

from fiberscope.hw.stream import DATA, FIBER_NUMBERS, SKIP, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port, Signal

NEITHER, SIDE_A, SIDE_B = range(3)  # a side of the two fibers, or none
NO_COORDINATE = -1


class Intersector(Component):
    """Base of all intersectors: two fibers in, the matches of each out, a stop behind both.

    Interface: fiber by fiber, elements with increasing coordinates and a stop come in on ``a`` and ``b``.
    For each coordinate that both fibers have, an element leaves on ``matches_a`` with a's reference and value
    and, in the same cycle, one on ``matches_b`` with b's; so does a stop on both when both fibers have ended.
    A coordinate has up to ``COORDINATE_BITS`` (``fiberscope.hw.fibers.merge``) bits.

    Args:
        name: instance name.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (
        Input("a", STREAM),
        Input("b", STREAM),
        Output("matches_a", STREAM),
        Output("matches_b", STREAM),
    )
    # Counters: elements that leave in pairs, dropped elements, and pairs of fibers.
    COUNTERS: ClassVar[tuple[str, ...]] = ("matches", "dropped", "fibers")

    a: Channel
    b: Channel
    matches_a: Channel
    matches_b: Channel

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.begun = False  # whether elements of the two fibers were taken
        self.steps = 0
        self.matches = 0
        self.dropped = 0
        self.fibers = 0

    def _wait_for_head(self, shown_a: bool, shown_b: bool) -> int:
        """Wait for the side that shows no head; between fibers for either."""
        if shown_a:
            return self.wait_input(self.b)
        if shown_b or self.begun:
            return self.wait_input(self.a)
        return self.idle()

    def _has_space(self) -> bool:  # C: noexcept
        return self.matches_a.can_push() and self.matches_b.can_push()

    def _wait_for_space(self) -> int:
        return self.wait_output(self.matches_b if self.matches_a.can_push() else self.matches_a)

    def _drop(self, elements: int) -> None:  # C: noexcept
        self.dropped += elements
        self.begun = True

    def _count_match(self) -> None:  # C: noexcept
        self.steps += 1
        self.matches += 1
        self.begun = True

    def _push_stops(self) -> None:
        self.matches_a.push(STOP)
        self.matches_b.push(STOP)
        self.fibers += 1
        self.begun = False

    def counters(self) -> dict[str, int]:
        """Steps, matches, elements dropped, and pairs of fibers."""
        return {"intersect": self.steps, **super().counters()}


class TwoFingerIntersector(Intersector):
    """Intersects two fibers by comparing their heads, one comparison a cycle.

    Interface: that of ``Intersector``.

    Timing: when both sides show a head: two equal coordinates leave together, of two that differ the smaller
    is dropped. When one fiber has ended, the rest of the other is dropped, an element a cycle. The stop takes
    a cycle of its own. What leaves does so in the cycle in which it is seen.

    Counters: ``intersect`` is comparisons of two elements.

    Source: the two-finger merge of SAM (ASPLOS 2023), Section 4.2; TeAAL (MICRO 2023), Table 2.

    Args:
        name: instance name.
    """

    # Whether the unit is within a pair of fibers, and its progress.
    SIGNALS = (Signal("begun", 1), Signal("steps", 48), Signal("matches", 48))

    def tick(self, now: int) -> int:
        """Compare the heads and move what is to be moved."""
        a = self.a
        b = self.b
        shown_a = a.can_pop()
        shown_b = b.can_pop()
        if not (shown_a and shown_b):
            return self._wait_for_head(shown_a, shown_b)
        lagging = self._lagging()
        if lagging == NEITHER:
            if not self._has_space():
                return self._wait_for_space()
            self._pair()
        else:
            self._drop_head(a if lagging == SIDE_A else b)
        return self.busy(now + 1)

    def _lagging(self) -> int:  # C: noexcept
        """The side whose head no match can come of; a stop is behind all coordinates."""
        if self.a.control() == STOP:
            return NEITHER if self.b.control() == STOP else SIDE_B
        if self.b.control() == STOP or self.a.coordinate() < self.b.coordinate():
            return SIDE_A
        return SIDE_B if self.b.coordinate() < self.a.coordinate() else NEITHER

    def _pair(self) -> None:
        """Pass on two heads that are equal."""
        if self.a.control() == STOP:
            self._push_stops()
        else:
            self.matches_a.push(DATA, self.a.coordinate(), self.a.reference(), self.a.value())
            self.matches_b.push(DATA, self.b.coordinate(), self.b.reference(), self.b.value())
            self._count_match()
        self.a.pop()
        self.b.pop()

    def _drop_head(self, side: Channel) -> None:
        if self.a.control() == DATA and self.b.control() == DATA:
            self.steps += 1
        side.pop()
        self._drop(1)


class Window:  # C: final
    """The next tokens of one side: a queue within the intersector, all of which can be compared at once."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.held = 0
        self._head = 0
        self._controls = array("q", bytes(8 * size))
        self._coordinates = array("q", bytes(8 * size))
        self._references = array("q", bytes(8 * size))
        self._values = array("d", bytes(8 * size))

    def _place(self, index: int) -> int:  # C: noexcept
        place = self._head + index
        return place if place < self.size else place - self.size

    def fill(self, source: Channel) -> None:
        """Take the head of a channel as the last of the window."""
        place = self._place(self.held)
        self._controls[place] = source.control()
        self._coordinates[place] = source.coordinate()
        self._references[place] = source.reference()
        self._values[place] = source.value()
        source.pop()
        self.held += 1

    def stopped(self) -> bool:  # C: noexcept
        """Return whether the fiber has ended: the head is its stop."""
        return self._controls[self._head] == STOP

    def coordinate(self) -> int:  # C: noexcept
        """Coordinate of the head."""
        return self._coordinates[self._head]

    def send(self, matches: Channel) -> None:
        """Push the head."""
        head = self._head
        matches.push(DATA, self._coordinates[head], self._references[head], self._values[head])

    def leave(self, tokens: int) -> None:  # C: cdef, noexcept
        """Drop so many from the head on."""
        self._head = self._place(tokens)
        self.held -= tokens

    def below(self, coordinate: int) -> int:  # C: cdef, noexcept
        """Return the number of elements, from the head on, below a coordinate."""
        count = 0
        while count < self.held:
            place = self._place(count)
            if self._controls[place] == STOP or self._coordinates[place] >= coordinate:
                break
            count += 1
        return count

    def elements(self) -> int:  # C: cdef, noexcept
        """Return the number of elements, from the head on, before a stop."""
        count = 0
        while count < self.held and self._controls[self._place(count)] == DATA:
            count += 1
        return count


class SkipAheadIntersector(Intersector):
    """Intersects two fibers by skipping: of two heads that differ, the one behind skips to the other.

    Interface: that of ``Intersector``. Each side has a window, a queue of ``window`` tokens. On ``skips_a``
    and ``skips_b``, where they are connected, the source of the side behind is told what it need not send:
    the elements below a coordinate, or all that are left (``fiberscope.hw.stream.SKIP``). It may heed that,
    late or not at all: the matches are the same.

    Timing: a window takes a token in each cycle in which it had room at the beginning; the token can be
    compared from the next cycle on. In each cycle, if both windows hold a token:

    - two equal heads leave together; so do two stops;
    - of two heads that differ, all elements in the window of the one behind that are below the other leave;
    - when one fiber has ended, all elements of the other's in its window leave.

    A skip that empties the window goes on with what comes next, until an element that is not below the other
    head, or the stop. The source is told of it in its first cycle, or in the first in which an element is
    dropped for it and the channel has space; once a skip. A window of 2 or more keeps one token a cycle
    flowing.

    Counters: ``intersect`` is steps as ExTensor counts them: a match is one, and so is a skip, however many
    cycles the window needs for it; the rest of a fiber, when the other has ended, is none. ``continued`` is
    the cycles that skips took beyond their first. So for any window ``intersect`` depends on the coordinates
    alone, and where the windows hold the fibers ``continued`` is 0: a step a cycle. ``skips`` is how often a
    source was told.

    Source: ExTensor (MICRO 2019): skip-ahead; SAM (ASPLOS 2023), Section 4.2: skips told to the scanner. The
    window and the order within a cycle are choices of this model.

    Args:
        name: instance name.
        window: tokens that each side's window holds.

    Raises:
        ValueError: if the window is below 1.
    """

    PORTS = (
        *Intersector.PORTS,
        Output("skips_a", SKIP, optional=True),
        Output("skips_b", SKIP, optional=True),
    )
    COUNTERS = (*Intersector.COUNTERS, "continued", "skips")
    # The side that skips; the contents of the windows, and their heads (-1: none, or a stop).
    SIGNALS = (
        Signal("skipping", 2, "state", ("neither", "a", "b")),
        Signal("held_a", 16),
        Signal("held_b", 16),
        Signal("coordinate_a", 56, "integer"),
        Signal("coordinate_b", 56, "integer"),
        Signal("steps", 48),
    )

    skips_a: Channel | None
    skips_b: Channel | None

    def __init__(self, name: str, window: int) -> None:
        super().__init__(name)
        if window < 1:
            raise ValueError(f"{name}: window must be at least 1, not {window}")
        self.window = window
        self.window_a = Window(window)
        self.window_b = Window(window)
        self.skipping = NEITHER  # side whose skip has emptied its window and continues
        self.source_notified = False  # whether its source was notified
        self.continued = 0
        self.skips = 0

    def tick(self, now: int) -> int:
        """Compare what the windows hold, and let one more token into each."""
        fills_a = self.window_a.held < self.window and self.a.can_pop()
        fills_b = self.window_b.held < self.window and self.b.can_pop()
        wake = self._step(now)
        if fills_a:
            self.window_a.fill(self.a)
        if fills_b:
            self.window_b.fill(self.b)
        return self.busy(now + 1) if fills_a or fills_b else wake

    def _step(self, now: int) -> int:
        """One step on what the windows hold; returns what the cycle counts as."""
        a = self.window_a
        b = self.window_b
        if a.held == 0 or b.held == 0:
            return self._wait_for_head(a.held > 0, b.held > 0)
        stopped_a = a.stopped()
        stopped_b = b.stopped()
        if stopped_a != stopped_b:
            self._drop_rest(SIDE_B if stopped_a else SIDE_A)
        elif stopped_a or a.coordinate() == b.coordinate():
            if not self._has_space():
                return self._wait_for_space()
            self._pair(stopped_a)
        elif a.coordinate() < b.coordinate():
            self._skip(SIDE_A, b.coordinate())
        else:
            self._skip(SIDE_B, a.coordinate())
        return self.busy(now + 1)

    def _pair(self, stopped: bool) -> None:
        """Pass on two heads that are equal."""
        if stopped:
            self._push_stops()
        else:
            self.window_a.send(self.matches_a)
            self.window_b.send(self.matches_b)
            self._count_match()
        self.window_a.leave(1)
        self.window_b.leave(1)
        self.skipping = NEITHER

    def _skip(self, side: int, coordinate: int) -> None:
        """Drop what the side behind has below the other's head."""
        if self.skipping == side:
            self.continued += 1
        else:
            self.steps += 1
        self._leave(side, self._window(side).below(coordinate), DATA, coordinate)

    def _drop_rest(self, side: int) -> None:
        """Drop what a side has left when the other's fiber has ended."""
        self._leave(side, self._window(side).elements(), STOP, 0)

    def _leave(self, side: int, elements: int, control: int, coordinate: int) -> None:
        """Drop elements; when that empties the window, the skip goes on and the source is told."""
        self.source_notified = self.source_notified and self.skipping == side
        window = self._window(side)
        window.leave(elements)
        self._drop(elements)
        self.skipping = NEITHER if window.held > 0 else side
        skips = self.skips_a if side == SIDE_A else self.skips_b
        if self.skipping != NEITHER and not self.source_notified and skips is not None and skips.can_push():
            skips.push(control, coordinate, self.fibers % FIBER_NUMBERS)
            self.source_notified = True
            self.skips += 1

    def _window(self, side: int) -> Window:
        return self.window_a if side == SIDE_A else self.window_b

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        a, b = self.window_a, self.window_b
        return self.skipping, a.held, b.held, _shown(a), _shown(b), self.steps


def _shown(window: Window) -> int:  # C: cdef, noexcept
    return NO_COORDINATE if window.held == 0 or window.stopped() else window.coordinate()
