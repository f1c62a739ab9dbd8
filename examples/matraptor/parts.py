"""The sorting queues of a processing element: what makes a row of Z of the products of several rows of B."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.hw.fibers.memory_stream import DONE, JOB
from fiberscope.hw.stream import DATA, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output

NO_FIBER = -1


class SortingQueues(Component):
    """Brings the products of a row of Z into order, in two phases, and adds up those of one coordinate.

    Interface: products in on ``products``, those of one row of B with one reference, a stop behind a row of
    Z; ``z_jobs`` asks for the bytes of a row of Z to be written, ``z_done`` tells that they are on their way.

    Timing: in the first phase a row of B fills a queue, a product a cycle; once all queues but one are taken,
    it is merged with what is in the shortest, into the free one, an element a cycle. In the second the heads
    of all queues are compared, and an element of Z leaves a cycle. There are two sets of queues, so that the
    first phase of a row goes on beside the second of the row before.

    Elements for which a queue has no room are counted (``overflows``), and kept all the same.

    Args:
        name: instance name.
        product: where rows of Z are kept, coordinates and values.
        rows: of Z that are made here, in their order.
        queues: of each set.
        entries: elements that a queue has room for.
        element_bytes: of an element in memory.
    """

    PORTS = (Input("products", STREAM), Output("z_jobs", JOB), Input("z_done", DONE))
    COUNTERS = ("add", "merged", "overflows", "popped", "pushed", "sorted")

    products: Channel
    z_jobs: Channel
    z_done: Channel

    def __init__(
        self,
        name: str,
        product: list[tuple[array[int], array[float]]],
        rows: Sequence[int],
        *,
        queues: int,
        entries: int,
        element_bytes: int,
    ) -> None:
        super().__init__(name)
        self.product = product
        self.rows = rows
        self.queues = queues
        self.entries = entries
        self.element_bytes = element_bytes
        self.full: list[list[tuple[int, float]]] = []  # queues that hold a fiber each
        self.filling: list[tuple[int, float]] = []  # the queue that the present row of B goes to,
        self.target: list[tuple[int, float]] = []  # the one that it is merged with, if any,
        self.head = 0  # and the first element there that has not passed
        self.fiber = NO_FIBER
        self.ready = 0  # the cycle in which the first phase goes on
        self.draining = False  # whether a row is in its second phase,
        self.drained = 0  # which ends in this cycle
        self.finished = 0  # rows
        self.add = 0  # sums of two
        self.pushed = 0  # products that entered a queue
        self.merged = 0  # elements that passed from queue to queue
        self.popped = 0  # elements that the second phase took
        self.sorted = 0  # and those that left it
        self.overflows = 0

    def tick(self, now: int) -> int:
        """Take a product, or have a row written."""
        progress = self._retire()
        if self._write(now):
            progress = True
        if self._take(now):
            progress = True
        if progress:
            return self.busy(now + 1)
        if now < self.ready:
            return self.busy(self.ready)
        if self.draining and now < self.drained:
            return self.busy(self.drained)
        if self.draining:
            return self.wait_output(self.z_jobs)
        return self.wait_input(self.products) if self.finished < len(self.rows) else self.idle()

    def _retire(self) -> bool:
        if not self.z_done.can_pop():
            return False
        self.z_done.pop()
        return True

    def _write(self, now: int) -> bool:
        if not self.draining or now < self.drained or not self.z_jobs.can_push():
            return False
        coordinates, _values = self.product[self.rows[self.finished]]
        self.z_jobs.push(0, len(coordinates) * self.element_bytes)
        self.finished += 1
        self.draining = False
        return True

    def _take(self, now: int) -> bool:
        """A product, or a stop once the queues of the second phase are free."""
        if now < self.ready or not self.products.can_pop():
            return False
        if self.products.control() == DATA:
            passed = self._turn(self.products.reference())
            passed += self._enter(self.products.coordinate(), self.products.value())
            self.ready = now + 1 + passed
        elif self.draining:
            return False
        else:
            self.ready = now + 1 + self._turn(NO_FIBER)
            self.drained = self.ready + self._sort()
            self.draining = True
        self.products.pop()
        return True

    def _turn(self, fiber: int) -> int:
        """Begin another row of B, if it is another; the elements that pass for it."""
        if fiber == self.fiber:
            return 0
        passed = self._pass(len(self.target))
        if self.fiber != NO_FIBER:
            self.full.append(self.filling)
        self.fiber, self.filling, self.target, self.head = fiber, [], [], 0
        if fiber != NO_FIBER and len(self.full) == self.queues - 1:
            self.target = self.full.pop(min(range(len(self.full)), key=lambda i: len(self.full[i])))
        return passed

    def _enter(self, coordinate: int, value: float) -> int:
        """Put a product behind those elements of the other queue that lie before it; how many these are."""
        end = self.head
        while end < len(self.target) and self.target[end][0] < coordinate:
            end += 1
        passed = self._pass(end)
        if end < len(self.target) and self.target[end][0] == coordinate:
            value += self.target[end][1]
            self.head += 1
            self.add += 1
        self.filling.append((coordinate, value))
        self.pushed += 1
        self.overflows += len(self.filling) > self.entries
        return passed

    def _pass(self, end: int) -> int:
        """Move the elements before this one to the queue that is filled; how many they are."""
        passed = end - self.head
        self.filling += self.target[self.head : end]
        self.overflows += min(passed, max(0, len(self.filling) - self.entries))
        self.head = end
        self.merged += passed
        return passed

    def _sort(self) -> int:
        """The second phase: the row of Z, of all queues; its elements."""
        sums: dict[int, float] = {}
        for queue in self.full:
            for coordinate, value in queue:
                self.add += coordinate in sums
                sums[coordinate] = sums.get(coordinate, 0.0) + value
        self.popped += sum(map(len, self.full))
        self.full = []
        order = sorted(sums)
        row = self.rows[self.finished]
        self.product[row] = array("q", order), array("d", [sums[coordinate] for coordinate in order])
        self.sorted += len(order)
        return len(order)
