# cython: infer_types=True
"""Predicates on a running machine for compiled loops: comparisons and their combinations.

``fiberscope.sim.trigger`` parses them from text. A time is a base tick: all components have ticked before it,
and none at it. A pause is a number of cycles of the first clock.
"""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.sim.channel import Channel
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.gauge import Gauge

SIGNS = ("<", "<=", ">", ">=", "==", "!=")
AT_LEAST = (">", ">=", "==")  # signs for which a growing number must reach the bound

# Indices into SIGNS.
LESS = 0
LESS_OR_EQUAL = 1
GREATER = 2
GREATER_OR_EQUAL = 3
EQUAL = 4

# Positions of the words of a token in the channel's memory.
ARRIVAL = 3
VALUE = 4
WORDS = 5


class Predicate:
    """A statement about a machine.

    A caller observes the cycles of a momentary predicate: it calls ``begin``, then ``notice`` after each time
    step of the cycle, then ``holds`` or ``pause``. For other predicates, these two calls are not needed.

    Args:
        momentary: whether the predicate can become true and false again within a cycle of the first clock.
    """

    def __init__(self, momentary: bool = False) -> None:
        self.momentary = momentary  # C: bint

    def holds(self, time: int) -> bool:
        """Return whether the predicate holds at this time."""
        raise NotImplementedError(f"{type(self).__name__} does not define holds")

    def pause(self, time: int, quiet: int) -> int:
        """Return the number of cycles in which the predicate cannot hold; 0 if it holds now.

        Args:
            time: the current base tick.
            quiet: cycles, at least 1, to the end of the next cycle in which a component ticks.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define pause")

    def begin(self) -> None:
        """Begin a cycle of the first clock."""

    def notice(self) -> None:
        """Observe the state after a time step."""


class Comparison(Predicate):
    """A comparison of gauges with a bound. It holds if it holds for any gauge.

    Args:
        gauges: the compared gauges.
        sign: one of ``SIGNS``.
        bound: the number on the right side.
    """

    def __init__(self, gauges: Sequence[Gauge], sign: str, bound: int) -> None:
        super().__init__()
        self.gauges: list[Gauge] = list(gauges)
        self.sign = SIGNS.index(sign)  # C: long
        self.bound = bound  # C: long
        self.threshold = bound + (sign == ">")  # C: long
        self.grows = sign in AT_LEAST and all(gauge.growth > 0 for gauge in gauges)  # C: bint
        self.sleeps = any(gauge.growth > 0 for gauge in gauges)  # C: bint

    def holds(self, time: int) -> bool:
        """Return whether the comparison holds for any gauge."""
        for gauge in self.gauges:  # noqa: SIM110  (C has no generators)
            if compare(self.sign, gauge.read(time), self.bound):
                return True
        return False

    def pause(self, time: int, quiet: int) -> int:
        """Return the cycles in which no gauge can reach the bound, or in which no component ticks."""
        if self.holds(time):
            return 0
        if not self.grows:
            return 1 if self.sleeps else quiet
        cycles = MAX_TIME
        for gauge in self.gauges:
            missing = self.threshold - gauge.read(time)
            cycles = min(cycles, missing // gauge.growth - (gauge.growth > 1))
        return max(1, cycles)


class TokenComparison(Predicate):
    """A comparison of a word of a channel's tokens with a bound. It holds if it holds for any token.

    Each token is compared once. If a clock of the channel is faster than the first clock, the predicate is
    momentary: a token that comes and goes within a cycle counts at the end of that cycle.

    Args:
        word: index of the word in ``fiberscope.sim.protocol.WORDS``.
        sign: one of ``SIGNS``.
        bound: the number on the right side.
        momentary: whether a clock of the channel is faster than the first clock.
    """

    def __init__(self, channel: Channel, word: int, sign: str, bound: int, momentary: bool) -> None:
        super().__init__(momentary)
        self.channel = channel
        self.word = word if word < ARRIVAL else VALUE  # C: long
        self.sign = SIGNS.index(sign)  # C: long
        self.bound = bound  # C: long
        self.pushes = 0  # tokens compared so far
        self.latest = -1  # number of the last token for which the comparison holds
        self.earlier_pushes = MAX_TIME  # tokens pushed before the current cycle of the first clock

    def holds(self, time: int) -> bool:
        """Return whether the comparison holds for a token in the channel or of the last cycle."""
        self.notice()
        return self.latest >= min(self.earlier_pushes, self.channel.pops)

    def pause(self, time: int, quiet: int) -> int:
        """Return the cycles in which no component ticks."""
        return 0 if self.holds(time) else quiet

    def begin(self) -> None:
        """Count tokens that come and go from now on."""
        self.notice()
        self.earlier_pushes = self.channel.pops + self.channel.occupancy

    def notice(self) -> None:
        """Compare the tokens that arrived since the last call."""
        channel = self.channel
        pops = channel.pops
        for number in range(max(self.pushes, pops), pops + channel.occupancy):
            if self._matches(channel._head + number - pops):
                self.latest = number
        self.pushes = pops + channel.occupancy

    def _matches(self, slot: int) -> bool:
        """Return whether the comparison holds for the token at a place in the channel's ring buffer."""
        if slot >= self.channel.capacity:
            slot -= self.channel.capacity
        if self.word == VALUE:
            return compare_real(self.sign, self.channel._values[WORDS * slot + VALUE], self.bound)
        return compare(self.sign, self.channel._words[WORDS * slot + self.word], self.bound)


class Combination(Predicate):
    """A combination of predicates, its parts.

    Args:
        predicates: the combined predicates.
    """

    def __init__(self, predicates: Sequence[Predicate]) -> None:
        super().__init__(any(predicate.momentary for predicate in predicates))
        self.predicates: list[Predicate] = list(predicates)

    def begin(self) -> None:
        """Begin a cycle."""
        for predicate in self.predicates:
            predicate.begin()

    def notice(self) -> None:
        """Observe the state after a time step."""
        for predicate in self.predicates:
            predicate.notice()


class Conjunction(Combination):
    """A predicate that holds if all its parts hold."""

    def holds(self, time: int) -> bool:
        """Return whether all parts hold."""
        for predicate in self.predicates:  # noqa: SIM110
            if not predicate.holds(time):
                return False
        return True

    def pause(self, time: int, quiet: int) -> int:
        """Return the longest pause of a part."""
        cycles = 0
        for predicate in self.predicates:
            cycles = max(cycles, predicate.pause(time, quiet))
        return cycles


class Disjunction(Combination):
    """A predicate that holds if any of its parts holds."""

    def holds(self, time: int) -> bool:
        """Return whether any part holds."""
        for predicate in self.predicates:  # noqa: SIM110
            if predicate.holds(time):
                return True
        return False

    def pause(self, time: int, quiet: int) -> int:
        """Return the shortest pause of a part."""
        cycles = MAX_TIME
        for predicate in self.predicates:
            cycles = min(cycles, predicate.pause(time, quiet))
        return cycles


class Onset(Predicate):
    """A predicate that becomes true: it holds now and did not hold in the cycle before.

    Args:
        time: base tick from which the predicate is evaluated.
    """

    def __init__(self, predicate: Predicate, time: int) -> None:
        super().__init__(predicate.momentary)
        self.predicate = predicate
        self.was_true = predicate.holds(time)
        self.time = -1  # base tick at which the predicate became true

    def holds(self, time: int) -> bool:
        """Return whether ``pause`` found that the predicate became true at this time."""
        return self.time == time

    def pause(self, time: int, quiet: int) -> int:
        """Return the cycles in which the predicate cannot become true; 0 if it has become true."""
        if self.time == time:
            return 0
        if self.was_true:
            self.was_true = self.predicate.holds(time)
            return 1
        cycles = self.predicate.pause(time, quiet)
        if cycles == 0:
            self.was_true = True
            self.time = time
        return cycles

    def begin(self) -> None:
        """Begin a cycle."""
        self.predicate.begin()

    def notice(self) -> None:
        """Observe the state after a time step."""
        self.predicate.notice()


def compare(sign: int, number: int, bound: int) -> bool:  # C: cdef
    """Return whether a number meets a bound; ``sign`` is an index into ``SIGNS``."""
    if sign == LESS:
        return number < bound
    if sign == LESS_OR_EQUAL:
        return number <= bound
    if sign == GREATER:
        return number > bound
    if sign == GREATER_OR_EQUAL:
        return number >= bound
    return (number == bound) == (sign == EQUAL)


def compare_real(sign: int, number: float, bound: int) -> bool:  # C: cdef
    """Return whether a real number meets a bound; ``sign`` is an index into ``SIGNS``."""
    if sign == LESS:
        return number < bound
    if sign == LESS_OR_EQUAL:
        return number <= bound
    if sign == GREATER:
        return number > bound
    if sign == GREATER_OR_EQUAL:
        return number >= bound
    return (number == bound) == (sign == EQUAL)
