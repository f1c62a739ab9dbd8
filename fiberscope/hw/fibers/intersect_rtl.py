"""RTL of the two-finger and the skip-ahead intersector of ``fiberscope.hw.fibers.intersect``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyrtl

from fiberscope.hw.fibers.intersect import SkipAheadIntersector, TwoFingerIntersector
from fiberscope.hw.fibers.merge import COORDINATE_BITS
from fiberscope.hw.fibers.windows_rtl import Comparisons, Window, order_of
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import Token
from fiberscope.hw.rtl.kit.parameters import Parameters, number, one_of
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias, blank_if_stop, unless
from fiberscope.hw.rtl.kit.unit import PortContents, StatusCounter, elements, stops, unit
from fiberscope.hw.stream import DATA, FIBER_NUMBERS
from fiberscope.sim.channel import Channel

SIDES = ("a", "b")
HEAD_SHOWN = ("shown_a", "shown_b")  # status outputs: whether the window of this side holds a token
NUMBER_BITS = (FIBER_NUMBERS - 1).bit_length()


@dataclass(frozen=True)
class TwoFingerParameters(Parameters):
    """Parameters of a two-finger intersector; widths in bits.

    Args:
        coordinate_bits: width of a coordinate, 1 to ``COORDINATE_BITS``, as in the event class.
        reference_bits: width of a reference, 1 to 64.
        value_bits: width of a value, 32 or 64.
    """

    coordinate_bits: int = number(32, 1, COORDINATE_BITS)
    reference_bits: int = number(64, 1, 64)
    value_bits: int = one_of(64, 32, 64)


@dataclass(frozen=True)
class SkipAheadParameters(TwoFingerParameters):
    """Parameters of a skip-ahead intersector: those of a two-finger intersector, and the window.

    Args:
        window: capacity of each side's window in tokens, 1 to 32.
    """

    window: int = number(8, 1, 32)


def skip_ahead_contents(parameters: SkipAheadParameters) -> PortContents:
    """Return the fields of each port; the reference of a skip is the number of the fiber, never negative."""
    skip = {"control": 1, "coordinate": parameters.coordinate_bits, "reference": NUMBER_BITS + 1}
    return {**_fibers(parameters), **{f"skips_{side}": skip for side in SIDES}}


def skip_ahead_status(parameters: SkipAheadParameters) -> Mapping[str, int]:
    """Return the status of the windows.

    ``step`` and ``continued`` are high in the cycles that the counters ``intersect`` and ``continued`` count.
    ``pending`` is high in the cycles in which tokens leave a window. ``dropped`` is the number of tokens that
    leave without a match. ``shown_a`` and ``shown_b`` are high while the window of the side holds a token.
    """
    status = dict.fromkeys(("step", "continued", PENDING, *HEAD_SHOWN), 1)
    return status | {"dropped": parameters.window.bit_length()}


def _fibers(parameters: TwoFingerParameters) -> PortContents:
    """Return the fields of the ports of fibers; all four have the same fields."""
    element = {
        "control": 1,
        "coordinate": parameters.coordinate_bits,
        "reference": parameters.reference_bits,
        "value": parameters.value_bits,
    }
    return dict.fromkeys((*SIDES, *(f"matches_{side}" for side in SIDES)), element)


def two_finger(_parameters: TwoFingerParameters, streams: Streams) -> None:
    """Build a two-finger intersector: two comparators of the heads, and no registers.

    Both tokens of a match leave in the same cycle: ``valid`` is high only while both outputs are ready.

    Args:
        _parameters: parameters of the module, not used: the streams have the widths.
        streams: the streams of the module.
    """
    a, b = (streams.inputs[side] for side in SIDES)
    order_a, order_b = (alias(f"order_{side}", order_of(streams.inputs[side].fields)) for side in SIDES)
    shown = alias("both_shown", a.valid & b.valid)
    paired = alias("paired", shown & (order_a == order_b) & _ready(streams))
    # A drop needs no ready output. A stop is above all coordinates, so it waits for the other fiber's stop.
    a.accept(paired | (shown & (order_a < order_b)))
    b.accept(paired | (shown & (order_b < order_a)))
    for side in SIDES:
        streams.outputs[f"matches_{side}"].send(paired, blank_if_stop(streams.inputs[side].fields))


def _ready(streams: Streams) -> Signal:
    return streams.outputs["matches_a"].ready & streams.outputs["matches_b"].ready


@dataclass(frozen=True)
class _Side:
    """Drops of one side in a cycle.

    Args:
        name: ``"a"`` or ``"b"``.
        head: fields of the head of the window.
        drops: 1 if the side drops at least its head.
        dropped: number of elements that the side drops.
        empties: 1 if the drop leaves the window without a token.
        skipping: register, 1 while a skip that has emptied the window continues with the next tokens.
    """

    name: str
    head: Mapping[str, Signal]
    drops: Signal
    dropped: Signal
    empties: Signal
    skipping: Signal


def skip_ahead(parameters: SkipAheadParameters, streams: Streams) -> None:
    """Build a skip-ahead intersector: a window for each side, and the order of all pairs of their tokens.

    A register for each side holds whether its skip continues beyond the window; another, whether the source
    has been notified of the skip. A counter numbers the fibers. Both tokens of a match leave in the same
    cycle, as in ``two_finger``. A skip is offered only in cycles in which its side drops, so an offer can end
    without a transfer. Tie ``ready`` of an unused skip output low.
    """
    a, b = (Window(side, parameters.window, streams.inputs[side]) for side in SIDES)
    before = Comparisons(a, b), Comparisons(b, a)
    shown = alias("both_shown", a.present[0] & b.present[0])
    equal = alias("heads_equal", ~before[0].less[0][0] & ~before[1].less[0][0])
    paired = alias("paired", shown & equal & _ready(streams))
    stopped = alias("any_stopped", a.head["control"] | b.head["control"])
    # Either the heads are paired, or at most one side drops.
    sides = [
        _side(streams, own, [shown & passed for passed in compared.below()], paired)
        for own, compared in zip((a, b), before, strict=True)
    ]
    for compared in before:
        compared.advance()
    dropped = alias("any_dropped", sides[0].drops | sides[1].drops)
    for side in sides:
        streams.outputs[f"matches_{side.name}"].send(paired, blank_if_stop(side.head))
        # A pair or a drop of the other side ends a skip; while nothing leaves, the skip goes on.
        kept = side.skipping & ~paired & ~dropped
        side.skipping.next <<= pyrtl.select(side.drops, side.empties, kept)
    goes_on = alias("goes_on", reduce(or_, [side.drops & side.skipping for side in sides]))
    # A skip is one step in its first cycle. After the stop of one fiber, drops are no steps.
    streams.show("step", ~stopped & (paired | (dropped & ~goes_on)))
    streams.show("continued", ~stopped & goes_on)
    streams.show(PENDING, dropped | paired)
    # At most one of the numbers is not 0.
    streams.show("dropped", sides[0].dropped | sides[1].dropped)
    _tell(streams, sides, alias("finished", paired & stopped))


def _side(streams: Streams, own: Window, below: Sequence[Signal], paired: Signal) -> _Side:
    """Drop the tokens of a side that are below the other side's head, or only the head if it is paired."""
    leaves = [below[0] | paired, *below[1:]]
    streams.show(f"shown_{own.side}", own.present[0])
    drops = alias(f"drops_{own.side}", below[0])
    empties = alias(f"empties_{own.side}", drops & own.advance(leaves))
    dropped = unless(~drops, own.leaving)
    return _Side(own.side, own.head, drops, dropped, empties, pyrtl.Register(1, f"skipping_{own.side}"))


def _tell(streams: Streams, sides: Sequence[_Side], finished: Signal) -> None:
    """Notify the source of a side whose window a skip has emptied, once for each skip.

    The register ``told`` holds whether the source has been notified of the present skip. Its value has a
    meaning only while a side is skipping. ``finished`` is 1 in the cycle in which the stops of both fibers
    leave.
    """
    sent: Signal = pyrtl.Register(1, "told")
    number: Signal = pyrtl.Register(NUMBER_BITS, "fiber_number")
    number.next <<= (number + finished)[:NUMBER_BITS]
    told_next = sent
    for side, other in zip(sides, reversed(sides), strict=True):
        skips = streams.outputs[f"skips_{side.name}"]
        already = sent & side.skipping
        asks = alias(f"asks_{side.name}", side.empties & ~already)
        target = blank_if_stop({field: other.head[field] for field in ("control", "coordinate")})
        # The 0 is the sign bit: fiber numbers are not negative. They wrap at ``FIBER_NUMBERS``.
        skips.send(asks, target | {"reference": pyrtl.concat(pyrtl.Const(0, 1), number)})
        told_next = pyrtl.select(side.drops, already | (asks & skips.ready), told_next)
    sent.next <<= told_next


class TwoFingerAdapter(Adapter):
    """Adapter that counts comparisons, which the module does not report, from the tokens at its ports."""

    _steps = 0

    def observe(self, moved: Mapping[str, Token]) -> None:
        """Count steps: a match is a step, and so is a drop if the head of the other side is an element."""
        if "matches_a" in moved:
            self._steps += moved["matches_a"].control == DATA
        elif moved:
            self._steps += self.channel("b" if "a" in moved else "a").control() == DATA

    def counters(self) -> dict[str, int]:
        """Return the numbers of steps, matches, dropped elements and pairs of fibers."""
        # A match takes one element of each side; all other elements that were taken are dropped.
        matches, taken = self.end("matches_a"), sum(self.end(side).elements for side in SIDES)
        return {
            "intersect": self._steps,
            "matches": matches.elements,
            "dropped": taken - 2 * matches.elements,
            "fibers": matches.stops,
        }


class SkipAheadAdapter(Adapter):
    """Adapter that follows the windows by status outputs, because the ports do not show their contents."""

    _begun = False  # whether an element of the current pair of fibers has left a window

    def observe(self, moved: Mapping[str, Token]) -> None:
        """Update whether an element of the current fibers has left a window; a pair of stops ends them."""
        if self.status[PENDING]:
            # Without a drop, a pair has left: it moves at both outputs.
            self._begun = self.status["dropped"] > 0 or moved["matches_a"].control == DATA

    def account(self, now: int, moved: Mapping[str, Token], blocked: Channel | None) -> int:
        """Account for a cycle; it also counts as busy if a token leaves a window and none moves at a port."""
        return self.busy(now + 1) if self.status[PENDING] else super().account(now, moved, blocked)

    def complete(self) -> bool:
        """Return whether both windows show a head."""
        return all(self.status[shown] for shown in HEAD_SHOWN)

    def awaited(self) -> Channel | None:
        """Return the input of a side whose window is empty: within fibers, or if the other has a token."""
        shown_a, shown_b = (self.status[shown] for shown in HEAD_SHOWN)
        if shown_a:
            return None if shown_b else self.channel("b")
        return self.channel("a") if shown_b or self._begun else None


TWO_FINGER = unit(
    "two_finger",
    TwoFingerIntersector,
    TwoFingerParameters,
    _fibers,
    two_finger,
    base=TwoFingerAdapter,
    events=("intersect",),
    fibers=True,
    together=("matches_a", "matches_b"),
    fibers_of={"matches_a": "a", "matches_b": "b"},
)


def _skips(adapter: Adapter) -> int:
    """Return the number of skips that the sources have received."""
    return sum(end.tokens for end in adapter.ends if end.stream.label.startswith("skips"))


SKIP_AHEAD = unit(
    "skip_ahead",
    SkipAheadIntersector,
    SkipAheadParameters,
    skip_ahead_contents,
    skip_ahead,
    arguments=("window",),
    status=skip_ahead_status,
    base=SkipAheadAdapter,
    retracts=("skips_a", "skips_b"),
    fibers_of={"matches_a": "a", "matches_b": "b"},
    counters={
        "intersect": StatusCounter("step"),
        "matches": elements("matches_a"),
        "dropped": StatusCounter("dropped"),
        "fibers": stops("matches_a"),
        "continued": StatusCounter("continued"),
        "skips": _skips,
    },
    events=("intersect",),
    together=("matches_a", "matches_b"),
)
