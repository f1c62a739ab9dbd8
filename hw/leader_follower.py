"""Leader-follower intersection: one fiber is read, and each of its coordinates looked up in the other."""

from __future__ import annotations

from hw.level import Level
from hw.stream import DATA, STOP, STREAM
from sim.channel import Channel
from sim.component import Component, Input, Output, Signal

NO_FIBER = -1


class LeaderFollowerIntersector(Component):
    """Looks each coordinate of the leader up in a fiber of the follower, of which nothing else is read.

    Interface: the leader's fibers, elements with increasing coordinates and a stop, come in on ``leader``;
    for each, an element on ``references`` names the follower's fiber, as for ``LevelScanner``; a stop there
    is taken and gives nothing. For each coordinate that both have, an element leaves on ``matches_leader``
    with the leader's reference and value and, in the same cycle, one on ``matches_follower`` with the
    follower's position and value; so does a stop on both behind each fiber.

    Timing: an ``indexed`` follower, a dense array or a bitmap with its counts of ones, answers by position:
    an element of the leader a cycle. Another one is searched: a probe of a binary search a cycle, between
    where the last search ended and the end of the fiber; an element of the leader leaves in the cycle of the
    last probe, and takes one cycle where there is nothing to probe. The stop takes a cycle of its own.

    Counters: ``intersect`` is coordinates looked up, ``probes`` the coordinates of the follower that were
    read to find them.

    Source: leader-follower in Sparseloop (MICRO 2022), Section III, and TeAAL (MICRO 2023), Table 2; the
    locator of SAM (ASPLOS 2023), Definition 4.1, which leaves an empty fiber where nothing is found. Binary
    search and its rate are choices of this model.

    Args:
        name: instance name.
        follower: what is looked up in.
        indexed: whether the follower answers by position, or is searched.

    Raises:
        SimulationError: in the run, if a reference names no fiber.
    """

    PORTS = (
        Input("leader", STREAM),
        Input("references", STREAM),
        Output("matches_leader", STREAM),
        Output("matches_follower", STREAM),
    )
    COUNTERS = ("probes", "matches", "fibers")  # probes of searches
    SIGNALS = (  # the follower's fiber, -1: none; where in it is searched; so far
        Signal("fiber", 48, "integer"),
        Signal("low", 48),
        Signal("high", 48),
        Signal("lookups", 48),
        Signal("matches", 48),
    )

    leader: Channel
    references: Channel
    matches_leader: Channel
    matches_follower: Channel

    def __init__(self, name: str, follower: Level, *, indexed: bool = True) -> None:
        super().__init__(name)
        self.follower = follower
        self.indexed = indexed
        self.fiber = NO_FIBER  # of the follower
        self.low = 0  # the coordinate looked up lies between low and high, if at all
        self.high = 0
        self.end = 0
        self.lookups = 0
        self.probes = 0
        self.matches = 0
        self.fibers = 0

    def tick(self, now: int) -> int:
        """Look up the leader's head, or make one probe for it."""
        if self.fiber == NO_FIBER and self.references.can_pop():
            self._begin()
            if self.fiber == NO_FIBER or not self.leader.can_pop():
                return self.busy(now + 1)
        if not self.leader.can_pop():
            return self.idle() if self.fiber == NO_FIBER else self.wait_input(self.leader)
        if self.fiber == NO_FIBER:
            return self.wait_input(self.references)
        stopped = self.leader.control() == STOP
        found = not stopped and self._look_up()
        if stopped or found:
            if not self.matches_leader.can_push():
                return self.wait_output(self.matches_leader)
            if not self.matches_follower.can_push():
                return self.wait_output(self.matches_follower)
        if stopped:
            self._finish()
        else:
            self._go_on(found)
        return self.busy(now + 1)

    def _begin(self) -> None:
        """Take a reference."""
        if self.references.control() == DATA:
            fiber = self.references.reference()
            self.follower.check_fiber(fiber, self.name)
            self.fiber = fiber
            self.low = self.follower.begin(fiber)
            self.high = self.end = self.follower.end(fiber)
        self.references.pop()

    def _look_up(self) -> bool:
        """Whether the coordinate is found: by position at once, otherwise by the probe of this cycle."""
        if self.indexed:
            while self.low < self.high and self._middle() != self.leader.coordinate():
                self._halve()
        return self.low < self.high and self._middle() == self.leader.coordinate()

    def _middle(self) -> int:
        return self.follower.coordinate((self.low + self.high) >> 1)

    def _halve(self) -> None:
        """Go on in the half in which the coordinate must be."""
        middle = (self.low + self.high) >> 1
        if self.follower.coordinate(middle) < self.leader.coordinate():
            self.low = middle + 1
        else:
            self.high = middle

    def _go_on(self, found: bool) -> None:
        """Count the probe, and let the leader's element go when it is found or cannot be."""
        if not self.indexed and self.low < self.high:
            self.probes += 1
            if not found:
                self._halve()
        if found:
            self._match()
        if found or self.low == self.high:
            self.lookups += 1
            self.high = self.end
            self.leader.pop()

    def _match(self) -> None:
        leader = self.leader
        position = (self.low + self.high) >> 1
        self.matches_leader.push(DATA, leader.coordinate(), leader.reference(), leader.value())
        self.matches_follower.push(DATA, leader.coordinate(), position, self.follower.value(position))
        self.matches += 1
        self.low = position + 1

    def _finish(self) -> None:
        self.matches_leader.push(STOP)
        self.matches_follower.push(STOP)
        self.fibers += 1
        self.fiber = NO_FIBER
        self.leader.pop()

    def counters(self) -> dict[str, int]:
        """Lookups, probes of searches, matches and fibers."""
        return {"intersect": self.lookups, **super().counters()}
