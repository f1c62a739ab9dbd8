# cython: infer_types=True
"""Predicates on a running machine that a compiled loop checks: comparisons, and what joins them.

``fiberscope.sim.trigger`` reads them from text. A time is a base tick before which everything has ticked, and
at which nothing has; a pause is a number of cycles of the first clock.
"""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.sim.channel import Channel
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.gauge import Gauge

SIGNS = ("<", "<=", ">", ">=", "==", "!=")
AT_LEAST = (">", ">=", "==")  # signs by which a number that grows has to come up to the bound

# Places of SIGNS.
LESS = 0
LESS_OR_EQUAL = 1
GREATER = 2
GREATER_OR_EQUAL = 3
EQUAL = 4

# Places of the words of a token in the memory of its channel.
ARRIVAL = 3
VALUE = 4
WORDS = 5


class Predicate:
    """Statement on a machine that holds or does not.

    Between ``begin`` and ``holds`` it may ``notice`` what happens within a cycle.

    Args:
        momentary: whether it may hold and cease to within a cycle of the first clock, and has to notice.
    """

    def __init__(self, momentary: bool = False) -> None:
        self.momentary = momentary  # C: bint

    def holds(self, time: int) -> bool:
        """Return whether it holds at this time."""
        raise NotImplementedError(f"{type(self).__name__} does not define holds")

    def pause(self, time: int, quiet: int) -> int:
        """Return for how many cycles it surely does not hold; 0 if it holds.

        Args:
            time: now.
            quiet: cycles, at least 1, up to the end of the next one in which a component ticks.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define pause")

    def begin(self) -> None:
        """Begin a cycle of the first clock."""

    def notice(self) -> None:
        """Notice what has happened in the last time step."""


class Comparison(Predicate):
    """Gauges against a bound: it holds if it does for any of them.

    Args:
        gauges: what is compared.
        sign: one of ``SIGNS``.
        bound: the number on the right.
    """

    def __init__(self, gauges: Sequence[Gauge], sign: str, bound: int) -> None:
        super().__init__()
        self.gauges: list[Gauge] = list(gauges)
        self.sign = SIGNS.index(sign)  # C: long
        self.bound = bound  # C: long
        self.least = bound + (sign == ">")  # C: long
        self.grows = sign in AT_LEAST and all(gauge.growth > 0 for gauge in gauges)  # C: bint
        self.sleeps = any(gauge.growth > 0 for gauge in gauges)  # C: bint

    def holds(self, time: int) -> bool:
        """Return whether it holds for any gauge."""
        for gauge in self.gauges:  # noqa: SIM110  (C has no generators)
            if meets(self.sign, gauge.read(time), self.bound):
                return True
        return False

    def pause(self, time: int, quiet: int) -> int:
        """Return the cycles in which no gauge comes up to the bound, or in which no component ticks."""
        if self.holds(time):
            return 0
        if not self.grows:
            return 1 if self.sleeps else quiet
        cycles = MAX_TIME
        for gauge in self.gauges:
            missing = self.least - gauge.read(time)
            cycles = min(cycles, missing // gauge.growth - (gauge.growth > 1))
        return max(1, cycles)


class TokenComparison(Predicate):
    """A word of the tokens in a channel against a bound: it holds if it does for any token.

    Each token is looked at once. With a channel between clocks faster than the first, it is momentary: a
    token may come and go within a cycle, and counts at the end of that cycle.

    Args:
        channel: the channel.
        word: place of the word among ``fiberscope.sim.protocol.WORDS``.
        sign: one of ``SIGNS``.
        bound: the number on the right.
        momentary: whether a clock of the channel is faster than the first.
    """

    def __init__(self, channel: Channel, word: int, sign: str, bound: int, momentary: bool) -> None:
        super().__init__(momentary)
        self.channel = channel
        self.word = word if word < ARRIVAL else VALUE  # C: long
        self.sign = SIGNS.index(sign)  # C: long
        self.bound = bound  # C: long
        self.pushes = 0  # tokens looked at
        self.latest = -1  # number of the last token for which it holds
        self.before = MAX_TIME  # tokens pushed before the present cycle of the first clock

    def holds(self, time: int) -> bool:
        """Return whether it holds for a token in the channel, or one that came in the cycle noticed last."""
        self.notice()
        return self.latest >= min(self.before, self.channel.pops)

    def pause(self, time: int, quiet: int) -> int:
        """Return the cycles in which no component ticks."""
        return 0 if self.holds(time) else quiet

    def begin(self) -> None:
        """Count, from now on, tokens that come and go."""
        self.notice()
        self.before = self.channel.pops + self.channel.occupancy

    def notice(self) -> None:
        """Look at the tokens that have come since the last time."""
        channel = self.channel
        pops = channel.pops
        for number in range(max(self.pushes, pops), pops + channel.occupancy):
            if self._meets(channel._head + number - pops):
                self.latest = number
        self.pushes = pops + channel.occupancy

    def _meets(self, place: int) -> bool:
        """Return whether it holds for the token at a place in the memory of the channel, which is a ring."""
        if place >= self.channel.capacity:
            place -= self.channel.capacity
        if self.word == VALUE:
            return meets_real(self.sign, self.channel._values[WORDS * place + VALUE], self.bound)
        return meets(self.sign, self.channel._words[WORDS * place + self.word], self.bound)


class Joined(Predicate):
    """Predicates of which all hold together, or one."""

    def __init__(self, parts: Sequence[Predicate]) -> None:
        super().__init__(any(part.momentary for part in parts))
        self.parts: list[Predicate] = list(parts)

    def begin(self) -> None:
        """Begin a cycle."""
        for part in self.parts:
            part.begin()

    def notice(self) -> None:
        """Notice what has happened."""
        for part in self.parts:
            part.notice()


class Conjunction(Joined):
    """Predicates that hold together."""

    def holds(self, time: int) -> bool:
        """Return whether all parts hold."""
        for part in self.parts:  # noqa: SIM110
            if not part.holds(time):
                return False
        return True

    def pause(self, time: int, quiet: int) -> int:
        """Return the longest pause of a part."""
        cycles = 0
        for part in self.parts:
            cycles = max(cycles, part.pause(time, quiet))
        return cycles


class Disjunction(Joined):
    """Predicates of which one holds at least."""

    def holds(self, time: int) -> bool:
        """Return whether any part holds."""
        for part in self.parts:  # noqa: SIM110
            if part.holds(time):
                return True
        return False

    def pause(self, time: int, quiet: int) -> int:
        """Return the shortest pause of a part."""
        cycles = MAX_TIME
        for part in self.parts:
            cycles = min(cycles, part.pause(time, quiet))
        return cycles


class Onset(Predicate):
    """A predicate that begins to hold: it holds now, and did not in the cycle before.

    Args:
        predicate: the predicate.
        time: from which on it is asked in every cycle that its pauses leave.
    """

    def __init__(self, predicate: Predicate, time: int) -> None:
        super().__init__(predicate.momentary)
        self.predicate = predicate
        self.held = predicate.holds(time)
        self.time = -1  # at which it began to hold

    def holds(self, time: int) -> bool:
        """Return whether it has begun to hold at this time, as ``pause`` has seen."""
        return self.time == time

    def pause(self, time: int, quiet: int) -> int:
        """Return the cycles in which it surely does not begin to hold; 0 if it has begun."""
        if self.time == time:
            return 0
        if self.held:
            self.held = self.predicate.holds(time)
            return 1
        cycles = self.predicate.pause(time, quiet)
        if cycles == 0:
            self.held = True
            self.time = time
        return cycles

    def begin(self) -> None:
        """Begin a cycle."""
        self.predicate.begin()

    def notice(self) -> None:
        """Notice what has happened."""
        self.predicate.notice()


def meets(sign: int, number: int, bound: int) -> bool:  # C: cdef
    """Return whether a number meets a bound by the sign at this place of ``SIGNS``."""
    if sign == LESS:
        return number < bound
    if sign == LESS_OR_EQUAL:
        return number <= bound
    if sign == GREATER:
        return number > bound
    if sign == GREATER_OR_EQUAL:
        return number >= bound
    return (number == bound) == (sign == EQUAL)


def meets_real(sign: int, number: float, bound: int) -> bool:  # C: cdef
    """Return whether a real number meets a bound by the sign at this place of ``SIGNS``."""
    if sign == LESS:
        return number < bound
    if sign == LESS_OR_EQUAL:
        return number <= bound
    if sign == GREATER:
        return number > bound
    if sign == GREATER_OR_EQUAL:
        return number >= bound
    return (number == bound) == (sign == EQUAL)
