"""The two-finger and the skip-ahead intersector as RTL."""

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
from fiberscope.hw.rtl.kit.backend import Backend
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import Interface, Token
from fiberscope.hw.rtl.kit.parameters import Parameters, number, one_of
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias, blank_if_stop, unless
from fiberscope.hw.rtl.kit.unit import PortContents, StatusCounter, elements, stops, unit
from fiberscope.hw.stream import DATA, FIBER_NUMBERS
from fiberscope.sim.channel import Channel

SIDES = ("a", "b")
_SHOWN = ("shown_a", "shown_b")  # status of the windows
NUMBER_BITS = (FIBER_NUMBERS - 1).bit_length()


@dataclass(frozen=True)
class TwoFingerParameters(Parameters):
    """Parameters of a two-finger intersector; widths in bits.

    Args:
        coordinate_bits: 1 to ``COORDINATE_BITS``, as in the component.
        reference_bits: 1 to 64.
        value_bits: 32 or 64.
    """

    coordinate_bits: int = number(32, 1, COORDINATE_BITS)
    reference_bits: int = number(64, 1, 64)
    value_bits: int = one_of(64, 32, 64)


@dataclass(frozen=True)
class SkipAheadParameters(TwoFingerParameters):
    """Parameters of a skip-ahead intersector.

    Args:
        window: tokens that each side's window holds, 1 to 32; the other parameters are those of two fingers.
    """

    window: int = number(8, 1, 32)


def skip_ahead_contents(parameters: SkipAheadParameters) -> PortContents:
    """The fibers, and what is told of skips."""
    skip = {"control": 1, "coordinate": parameters.coordinate_bits, "reference": NUMBER_BITS + 1}
    return {**_fibers(parameters), **{f"skips_{side}": skip for side in SIDES}}


def skip_ahead_status(parameters: SkipAheadParameters) -> Mapping[str, int]:
    """Return the status of the windows.

    ``step`` and ``continued`` are high in the cycles that the counters count, ``pending`` while tokens leave
    windows; ``dropped`` is how many of these leave for no match, ``shown_a`` whether the window of a holds
    any.
    """
    status = dict.fromkeys(("step", "continued", PENDING, *_SHOWN), 1)
    return status | {"dropped": parameters.window.bit_length()}


def _fibers(parameters: TwoFingerParameters) -> PortContents:
    """Elements of fibers."""
    element = {
        "control": 1,
        "coordinate": parameters.coordinate_bits,
        "reference": parameters.reference_bits,
        "value": parameters.value_bits,
    }
    return dict.fromkeys((*SIDES, *(f"matches_{side}" for side in SIDES)), element)


def two_finger(_parameters: TwoFingerParameters, between: Streams) -> None:
    """Compare the heads by two comparators; no registers.

    Both matches leave in one cycle: the one side's ``valid`` is high only while both are ready.
    """
    a, b = (between.inputs[side] for side in SIDES)
    order_a, order_b = (alias(f"order_{side}", order_of(between.inputs[side].fields)) for side in SIDES)
    shown = alias("both_shown", a.valid & b.valid)
    paired = alias("paired", shown & (order_a == order_b) & _ready(between))
    a.accept(paired | (shown & (order_a < order_b)))
    b.accept(paired | (shown & (order_b < order_a)))
    for side in SIDES:
        between.outputs[f"matches_{side}"].send(paired, blank_if_stop(between.inputs[side].fields))


def _ready(between: Streams) -> Signal:
    return between.outputs["matches_a"].ready & between.outputs["matches_b"].ready


@dataclass(frozen=True)
class _Side:
    """Work of one side in a cycle, besides its part in a pair: how many coordinates it drops, and whether
    none is left.

    ``skipping`` is a register: the skip has emptied the window and goes on.
    """

    name: str
    head: Mapping[str, Signal]
    drops: Signal
    dropped: Signal
    empties: Signal
    skipping: Signal


def skip_ahead(parameters: SkipAheadParameters, between: Streams) -> None:
    """A shift register a side, and for each pair of their places which comes first.

    Two bits say whose skip goes on beyond its window, one that the source has been told of it; a counter
    numbers the fibers. As with two fingers, both matches leave in one cycle. A skip is offered in cycles in
    which the side drops, and no longer; where there is none to tell, tie its ``ready`` low.
    """
    a, b = (Window(side, parameters.window, between.inputs[side]) for side in SIDES)
    before = Comparisons(a, b), Comparisons(b, a)
    shown = alias("both_shown", a.present[0] & b.present[0])
    equal = alias("heads_equal", ~before[0].less[0][0] & ~before[1].less[0][0])
    paired = alias("paired", shown & equal & _ready(between))
    stopped = alias("any_stopped", a.head["control"] | b.head["control"])
    sides = [
        _side(between, own, [shown & passed for passed in compared.below()], paired)
        for own, compared in zip((a, b), before, strict=True)
    ]
    for compared in before:
        compared.advance()
    dropped = alias("any_dropped", sides[0].drops | sides[1].drops)
    for side in sides:
        between.outputs[f"matches_{side.name}"].send(paired, blank_if_stop(side.head))
        kept = side.skipping & ~paired & ~dropped
        side.skipping.next <<= pyrtl.select(side.drops, side.empties, kept)
    goes_on = alias("goes_on", reduce(or_, [side.drops & side.skipping for side in sides]))
    between.show("step", ~stopped & (paired | (dropped & ~goes_on)))
    between.show("continued", ~stopped & goes_on)
    between.show(PENDING, dropped | paired)
    between.show("dropped", sides[0].dropped | sides[1].dropped)
    _tell(between, sides, alias("finished", paired & stopped))


def _side(between: Streams, own: Window, below: Sequence[Signal], paired: Signal) -> _Side:
    """Drop what is below the other's head, or the head alone when it leaves in a pair."""
    leaves = [below[0] | paired, *below[1:]]
    between.show(f"shown_{own.side}", own.present[0])
    drops = alias(f"drops_{own.side}", below[0])
    empties = alias(f"empties_{own.side}", drops & own.advance(leaves))
    dropped = unless(~drops, own.leaving)
    return _Side(own.side, own.head, drops, dropped, empties, pyrtl.Register(1, f"skipping_{own.side}"))


def _tell(between: Streams, sides: Sequence[_Side], finished: Signal) -> None:
    """Tell the source of a side whose window a skip has emptied, once a skip."""
    sent: Signal = pyrtl.Register(1, "told")
    number: Signal = pyrtl.Register(NUMBER_BITS, "fiber_number")
    number.next <<= (number + finished)[:NUMBER_BITS]
    told_next = sent
    for side, other in zip(sides, reversed(sides), strict=True):
        skips = between.outputs[f"skips_{side.name}"]
        already = sent & side.skipping
        asks = alias(f"asks_{side.name}", side.empties & ~already)
        target = blank_if_stop({field: other.head[field] for field in ("control", "coordinate")})
        skips.send(asks, target | {"reference": pyrtl.concat(pyrtl.Const(0, 1), number)})
        told_next = pyrtl.select(side.drops, already | (asks & skips.ready), told_next)
    sent.next <<= told_next


class TwoFingerAdapter(Adapter):
    """Stands in for a ``TwoFingerIntersector``."""

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._steps = 0

    def observe(self, moved: Mapping[str, Token]) -> None:
        """Count steps: a match is one, and so is a drop while the head that stays is an element."""
        if "matches_a" in moved:
            self._steps += moved["matches_a"].control == DATA
        elif moved:
            self._steps += self.channel("b" if "a" in moved else "a").control() == DATA

    def counters(self) -> dict[str, int]:
        """Steps, matches, elements dropped, and pairs of fibers."""
        matches, taken = self.end("matches_a"), sum(self.end(side).elements for side in SIDES)
        return {
            "intersect": self._steps,
            "matches": matches.elements,
            "dropped": taken - 2 * matches.elements,
            "fibers": matches.stops,
        }


class SkipAheadAdapter(Adapter):
    """Follows the windows by the module's status: what they do is not seen at its ports."""

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._begun = False  # some of the two fibers has left the windows

    def observe(self, moved: Mapping[str, Token]) -> None:
        """See the class."""
        if self.status[PENDING]:
            self._begun = self.status["dropped"] > 0 or moved["matches_a"].control == DATA

    def account(self, now: int, moved: Mapping[str, Token], blocked: Channel | None) -> int:
        """Busy also when a token leaves a window."""
        return self.busy(now + 1) if self.status[PENDING] else super().account(now, moved, blocked)

    def complete(self) -> bool:
        """Return whether both windows show a head."""
        return all(self.status[shown] for shown in _SHOWN)

    def awaited(self) -> Channel | None:
        """The side whose window is empty, in the midst of fibers or where the other is not."""
        shown_a, shown_b = (self.status[shown] for shown in _SHOWN)
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
    """Skips told."""
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
