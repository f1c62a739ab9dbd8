# cython: infer_types=True
"""Intersectors of two fibers: components that pass on the elements with equal coordinates in pairs."""

from __future__ import annotations

from array import array
from typing import ClassVar

from fiberscope.hw.stream import DATA, FIBER_NUMBERS, SKIP, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port, Signal

NEITHER, SIDE_A, SIDE_B = range(3)  # one of the two inputs, or none
NO_COORDINATE = -1


class Intersector(Component):
    """Base class of all intersectors: it takes two fibers and passes on their matches.

    Interface: fiber by fiber, elements with increasing coordinates and a stop come in on ``a`` and ``b``.
    For each coordinate that both fibers have, the element of ``a`` leaves on ``matches_a`` and the element of
    ``b`` on ``matches_b`` in the same cycle. When both fibers have ended, a stop leaves on both outputs.
    A coordinate has up to ``COORDINATE_BITS`` (``fiberscope.hw.fibers.merge``) bits.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (
        Input("a", STREAM),
        Input("b", STREAM),
        Output("matches_a", STREAM),
        Output("matches_b", STREAM),
    )
    # Counters: pairs of elements that leave, dropped elements, and pairs of fibers.
    COUNTERS: ClassVar[tuple[str, ...]] = ("matches", "dropped", "fibers")

    a: Channel
    b: Channel
    matches_a: Channel
    matches_b: Channel

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.begun = False  # whether an element of the present pair of fibers has been taken
        self.steps = 0
        self.matches = 0
        self.dropped = 0
        self.fibers = 0

    def _wait_for_head(self, shown_a: bool, shown_b: bool) -> int:
        """Wait for the input without a token; between two pairs of fibers the unit is idle."""
        if shown_a:
            return self.wait_input(self.b)
        if shown_b or self.begun:
            return self.wait_input(self.a)
        return self.idle()

    def _has_space(self) -> bool:  # C: noexcept
        """Return whether both outputs have a free slot."""
        return self.matches_a.can_push() and self.matches_b.can_push()

    def _wait_for_space(self) -> int:
        """Wait for the first output without a free slot."""
        return self.wait_output(self.matches_b if self.matches_a.can_push() else self.matches_a)

    def _drop(self, elements: int) -> None:  # C: noexcept
        """Count dropped elements."""
        self.dropped += elements
        self.begun = True

    def _count_match(self) -> None:  # C: noexcept
        """Count a match, which is also a step."""
        self.steps += 1
        self.matches += 1
        self.begun = True

    def _push_stops(self) -> None:
        """Send a stop on both outputs: both fibers have ended."""
        self.matches_a.push(STOP)
        self.matches_b.push(STOP)
        self.fibers += 1
        self.begun = False

    def counters(self) -> dict[str, int]:
        """Return the steps, matches, dropped elements and pairs of fibers."""
        return {"intersect": self.steps, **super().counters()}


class TwoFingerIntersector(Intersector):
    """Intersects two fibers by comparing their heads, one comparison a cycle.

    Interface: that of ``Intersector``.

    Timing: the unit acts in each cycle in which both inputs have a token at their head. Two equal coordinates
    leave together, as soon as both outputs have a free slot. Of two different coordinates, the smaller is
    dropped, which needs no free slot. When one fiber has ended, the rest of the other fiber is dropped, one
    element a cycle. The stop takes a cycle. A match leaves in the cycle in which its elements are compared.

    Accounting: busy while it acts; waiting for the first output without a free slot if a match or a stop is
    blocked; waiting for the input without a token if the other has one, or within a fiber; else idle.

    Counters: ``intersect`` counts comparisons of two elements.

    Source: the two-finger merge of SAM (ASPLOS 2023), Section 4.2; TeAAL (MICRO 2023), Table 2.
    """

    # Whether the unit is within a pair of fibers, comparisons so far, and matches so far.
    SIGNALS = (Signal("begun", 1), Signal("steps", 48), Signal("matches", 48))

    def tick(self, now: int) -> int:
        """Compare the heads, and pass on a match or drop an element."""
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
        """Return the side whose head has no match; a stop counts as larger than every coordinate."""
        if self.a.control() == STOP:
            return NEITHER if self.b.control() == STOP else SIDE_B
        if self.b.control() == STOP or self.a.coordinate() < self.b.coordinate():
            return SIDE_A
        return SIDE_B if self.b.coordinate() < self.a.coordinate() else NEITHER

    def _pair(self) -> None:
        """Pass on two equal heads: a match, or the stops of both fibers."""
        if self.a.control() == STOP:
            self._push_stops()
        else:
            self.matches_a.push(DATA, self.a.coordinate(), self.a.reference(), self.a.value())
            self.matches_b.push(DATA, self.b.coordinate(), self.b.reference(), self.b.value())
            self._count_match()
        self.a.pop()
        self.b.pop()

    def _drop_head(self, side: Channel) -> None:
        """Drop the head of an input; this is a step unless the other fiber has ended."""
        if self.a.control() == DATA and self.b.control() == DATA:
            self.steps += 1
        side.pop()
        self._drop(1)


class Window:  # C: final
    """A queue of the next tokens of one input, which an intersector can compare all at once.

    Args:
        size: capacity in tokens.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.held = 0
        self._head = 0
        self._controls = array("q", bytes(8 * size))
        self._coordinates = array("q", bytes(8 * size))
        self._references = array("q", bytes(8 * size))
        self._values = array("d", bytes(8 * size))

    def _slot(self, index: int) -> int:  # C: noexcept
        """Return the index in the arrays of token number ``index``, counted from the head."""
        slot = self._head + index
        return slot if slot < self.size else slot - self.size

    def fill(self, source: Channel) -> None:
        """Move the head of a channel to the end of the window; both a token and a free slot must exist."""
        slot = self._slot(self.held)
        self._controls[slot] = source.control()
        self._coordinates[slot] = source.coordinate()
        self._references[slot] = source.reference()
        self._values[slot] = source.value()
        source.pop()
        self.held += 1

    def stopped(self) -> bool:  # C: noexcept
        """Return whether the head is a stop, which ends the fiber."""
        return self._controls[self._head] == STOP

    def coordinate(self) -> int:  # C: noexcept
        """Return the coordinate of the head."""
        return self._coordinates[self._head]

    def send(self, matches: Channel) -> None:
        """Push the head, which must be an element."""
        head = self._head
        matches.push(DATA, self._coordinates[head], self._references[head], self._values[head])

    def leave(self, tokens: int) -> None:  # C: cdef, noexcept
        """Drop this number of tokens, beginning with the head."""
        self._head = self._slot(tokens)
        self.held -= tokens

    def count_below(self, coordinate: int) -> int:  # C: cdef, noexcept
        """Return the number of elements at the head that are below a coordinate."""
        count = 0
        while count < self.held:
            slot = self._slot(count)
            if self._controls[slot] == STOP or self._coordinates[slot] >= coordinate:
                break
            count += 1
        return count

    def count_elements(self) -> int:  # C: cdef, noexcept
        """Return the number of elements before the first stop, or of all if there is no stop."""
        count = 0
        while count < self.held and self._controls[self._slot(count)] == DATA:
            count += 1
        return count


class SkipAheadIntersector(Intersector):
    """Intersects two fibers by skipping: of two heads that differ, the one behind skips to the other.

    Interface: that of ``Intersector``. Each input has a window, a queue of ``window`` tokens. If ``skips_a``
    or ``skips_b`` is connected, the unit sends the source of that input a skip
    (``fiberscope.hw.stream.SKIP``). A skip names elements that the source need not send: those below a
    coordinate, or the rest of the fiber. The source may ignore a skip; the matches stay the same.

    Timing: a window takes a token in each cycle in which it has space at the beginning. The token can be
    compared from the next cycle on. In each cycle in which both windows hold a token:

    - two equal heads leave together, and so do two stops;
    - of two different heads, the window of the smaller one drops all its elements below the larger one;
    - when one fiber has ended, the window of the other fiber drops all its elements.

    A skip that empties the window continues with the next tokens, up to the stop or an element that is not
    below the other head. The unit notifies the source at most once a skip: in the first cycle that empties
    the window while the channel of skips has space. A window of 2 tokens or more sustains one token a cycle.

    Accounting: as for ``TwoFingerIntersector``, by the heads of the windows; busy also while a token enters a
    window.

    Counters: ``intersect`` counts steps as ExTensor does. A match is a step, and so is a skip, however many
    cycles it takes; the rest of a fiber after the end of the other fiber is no step. ``intersect`` therefore
    does not depend on the window. ``continued`` counts the cycles of skips after their first cycle; it is 0
    if the windows hold the whole fibers. ``skips`` counts notifications of a source.

    Source: ExTensor (MICRO 2019) for skip-ahead; SAM (ASPLOS 2023), Section 4.2, for skips that the scanner
    gets. The window and the order within a cycle are choices of this model.

    Args:
        window: capacity of each window in tokens.

    Raises:
        ValueError: if ``window`` is less than 1.
    """

    PORTS = (
        *Intersector.PORTS,
        Output("skips_a", SKIP, optional=True),
        Output("skips_b", SKIP, optional=True),
    )
    COUNTERS = (*Intersector.COUNTERS, "continued", "skips")
    # The side that skips; the tokens in the windows, and the coordinates of the heads (-1: none, or a stop).
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
        self.source_notified = False  # whether the source of that side was notified
        self.continued = 0
        self.skips = 0

    def tick(self, now: int) -> int:
        """Compare the heads of the windows, and take one token into each window with space."""
        fills_a = self.window_a.held < self.window and self.a.can_pop()
        fills_b = self.window_b.held < self.window and self.b.can_pop()
        wake = self._step(now)  # first, so that a token of this cycle is compared in the next one
        if fills_a:
            self.window_a.fill(self.a)
        if fills_b:
            self.window_b.fill(self.b)
        return self.busy(now + 1) if fills_a or fills_b else wake

    def _step(self, now: int) -> int:
        """Compare the windows and act; return the value that ``tick`` returns if no token is taken."""
        a = self.window_a
        b = self.window_b
        if a.held == 0 or b.held == 0:
            return self._wait_for_head(a.held > 0, b.held > 0)
        stopped_a = a.stopped()
        stopped_b = b.stopped()
        if stopped_a != stopped_b:
            self._drop_remaining(SIDE_B if stopped_a else SIDE_A)
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
        """Pass on two equal heads: a match, or the stops of both fibers."""
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
        """Drop the elements of a window that are below the head of the other window."""
        if self.skipping == side:
            self.continued += 1
        else:
            self.steps += 1
        self._leave(side, self._window(side).count_below(coordinate), DATA, coordinate)

    def _drop_remaining(self, side: int) -> None:
        """Drop the elements of a window after the end of the other fiber."""
        self._leave(side, self._window(side).count_elements(), STOP, 0)

    def _leave(self, side: int, elements: int, control: int, coordinate: int) -> None:
        """Drop elements; if the window is then empty, continue the skip and notify the source."""
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
        """Return the current values of the signals."""
        a, b = self.window_a, self.window_b
        return self.skipping, a.held, b.held, _shown(a), _shown(b), self.steps


def _shown(window: Window) -> int:  # C: cdef, noexcept
    """Return the coordinate of a window's head for waveforms; -1 if it is a stop, or there is none."""
    return NO_COORDINATE if window.held == 0 or window.stopped() else window.coordinate()
