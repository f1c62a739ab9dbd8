"""The level format of OuterSPACE: fibers as linked lists, so that they can be written in any order."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from hw.streams.block import StreamBlock
from hw.streams.growing import Growing
from hw.streams.modes import IN_FIBER
from hw.streams.quirks import CLEAN
from hw.streams.scanner import Scanner
from hw.streams.tokens import CRD, DATA, DONE
from sim.channel import Channel
from sim.component import Input, Signal
from sim.errors import SimulationError

NO_NODE = -1  # the end of a list


class LinkedLevel:
    """Fibers as linked lists of nodes, one an element; the number of a node is the reference to its child.

    Source: OuterSPACE (HPCA 2018), the lists of partial products; SAM (ASPLOS 2023), Section 6.5. That a node
    goes to the end of its list is a choice of this model: written in increasing order, fibers are so.

    Args:
        fibers: how many there are; all empty at first.

    Raises:
        ValueError: if that is negative.
    """

    def __init__(self, fibers: int) -> None:
        if fibers < 0:
            raise ValueError(f"a linked level must not have {fibers} fibers")
        self.fibers = fibers
        self.heads = array("q", [NO_NODE]) * fibers
        self.tails = array("q", [NO_NODE]) * fibers
        self.links = Growing(1)
        self.elements = Growing(1)

    def append(self, fiber: int, coordinate: int) -> int:
        """Put an element at the end of a fiber; gives the number of its node."""
        node = self.elements.count
        self.elements.append(coordinate)
        self.links.append(NO_NODE)
        if self.heads[fiber] == NO_NODE:
            self.heads[fiber] = node
        else:
            self.links.put(self.tails[fiber], node)
        self.tails[fiber] = node
        return node

    def check_fiber(self, fiber: int, user: str) -> None:
        """Check that there is such a fiber.

        Raises:
            SimulationError: naming who wants to use it.
        """
        if fiber < 0 or fiber >= self.fibers:
            raise SimulationError(
                f"{user}: reference {fiber} names no fiber; the level has {self.fibers}, from 0 on"
            )

    def begin(self, fiber: int) -> int:
        """The first node of a fiber, ``NO_NODE`` if it is empty."""
        return self.heads[fiber]

    def next(self, node: int) -> int:
        """The node behind this one, ``NO_NODE`` if it is the last."""
        return self.links.integer(node)

    def coordinate(self, node: int) -> int:
        """Coordinate of an element."""
        return self.elements.integer(node)

    @staticmethod
    def of(fibers: Sequence[Sequence[int]]) -> LinkedLevel:
        """The level with these fibers, written one after the other."""
        level = LinkedLevel(len(fibers))
        for fiber, coordinates in enumerate(fibers):
            for coordinate in coordinates:
                level.append(fiber, coordinate)
        return level


class LinkedListScanner(Scanner):
    """Scans the fibers of a level of linked lists.

    Interface: that of ``Scanner``; the references that leave are numbers of nodes.

    Timing: that of ``Scanner``, but that to follow a link takes ``link_cycles``: so long after an element the
    next one leaves, and likewise the stop.

    Args:
        name: instance name.
        level: what is scanned.
        link_cycles: cycles in which a link is followed.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if a link takes less than a cycle.
        SimulationError: in the run, if a reference names no fiber.
    """

    SIGNALS = (*Scanner.SIGNALS, Signal("node", 48, "integer"))

    def __init__(self, name: str, level: LinkedLevel, link_cycles: int = 1, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        if link_cycles < 1:
            raise ValueError(f"{name}: link_cycles must be at least 1, not {link_cycles}")
        self.level = level
        self.link_cycles = link_cycles
        self.node = NO_NODE  # sent last
        self._known = 0  # the cycle from which the node behind it is known

    def begin(self, reference: int, now: int) -> int:
        """Send the fiber's first element, or its stop if it is empty."""
        self.level.check_fiber(reference, self.name)
        node = self.level.begin(reference)
        if node == NO_NODE:
            return self.end_empty_fiber(now)
        self.mode = IN_FIBER
        return self._send_element(node, now)

    def advance(self, now: int) -> int:
        """Send the element behind the last one, or the stop, once it is known."""
        if now < self._known:
            return self.busy(self._known)
        node = self.level.next(self.node)
        return self.end_fiber(now) if node == NO_NODE else self._send_element(node, now)

    def _send_element(self, node: int, now: int) -> int:
        self.node = node
        self._known = now + self.link_cycles
        self.send(DATA, self.level.coordinate(node), node)
        return self.busy(now + 1)


class LinkedListWriter(StreamBlock):
    """Writes a level whose fibers come in pieces, in an order that is not theirs: each element to its list.

    Interface: elements on ``in_crd``, and in step with them on ``in_outer`` the fiber that each belongs to;
    stops and N are ignored. What hangs on the elements is written in the order in which they come: the n-th
    is the child of the n-th node.

    Timing: an element a cycle, when both are seen; never stalls.

    Counts: ``stored``.

    Source: SAM (ASPLOS 2023), Section 6.5, the discordant write of OuterSPACE's multiply phase.

    Args:
        name: instance name.
        fibers: of the level.
        quirks: see ``StreamBlock``.

    Raises:
        SimulationError: in the run, if there is no such fiber, or the streams differ in shape.
    """

    PORTS = (Input("in_outer", CRD), Input("in_crd", CRD))
    COUNTERS = ("stored",)

    in_outer: Channel
    in_crd: Channel

    def __init__(self, name: str, fibers: int, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.level = LinkedLevel(fibers)
        self.stored = 0

    def update(self, now: int) -> int:
        """Take one pair."""
        if not self.in_outer.can_pop():
            return self.wait_input(self.in_outer)
        if not self.in_crd.can_pop():
            return self.wait_input(self.in_crd)
        kind = self.in_crd.control()
        if kind != self.in_outer.control():
            raise SimulationError(f"{self.name}: in_outer and in_crd must have the same shape")
        if kind == DATA:
            self.level.check_fiber(self.in_outer.coordinate(), self.name)
            self.level.append(self.in_outer.coordinate(), self.in_crd.coordinate())
            self.stored += 1
        self.in_outer.pop()
        self.in_crd.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)
