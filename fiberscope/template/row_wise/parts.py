"""Parts that no block of ``fiberscope.hw`` provides: sums of a row of Z."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.hw.fibers.memory_stream import DONE, JOB
from fiberscope.hw.stream import DATA, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output


class RowSums(Component):
    """Adds up the products of a row of Z by their coordinates, and has the row written at its end.

    Interface: products in on ``products``; ``z_jobs`` asks for the bytes of a row of Z to be written, and
    ``z_done`` tells that they are on their way.

    Timing: a product a cycle; at the stop a cycle for each element of the row, which leave in order.

    Args:
        name: instance name.
        product: where rows of Z are kept, by coordinate.
        rows: the rows of Z that are made here, in their order.
        element_bytes: bytes of an element.
    """

    PORTS = (Input("products", STREAM), Output("z_jobs", JOB), Input("z_done", DONE))
    COUNTERS = ("add",)  # done

    products: Channel
    z_jobs: Channel
    z_done: Channel

    def __init__(
        self, name: str, product: list[dict[int, float]], rows: Sequence[int], element_bytes: int
    ) -> None:
        super().__init__(name)
        self.product = product
        self.rows = rows
        self.element_bytes = element_bytes
        self.finished = 0  # rows
        self.ready = -1  # the cycle in which the row's last element has left; -1 where it has not ended
        self.add = 0

    def tick(self, now: int) -> int:
        """Take a product, or have a row written."""
        if self._retire() | self._take(now) | self._write(now):
            return self.busy(now + 1)
        if now < self.ready:
            return self.busy(self.ready)
        if self.ready >= 0:
            return self.wait_output(self.z_jobs)
        return self.wait_input(self.products) if self.finished < len(self.rows) else self.idle()

    def _retire(self) -> bool:
        if not self.z_done.can_pop():
            return False
        self.z_done.pop()
        return True

    def _take(self, now: int) -> bool:
        if self.ready >= 0 or not self.products.can_pop():
            return False
        row = self.product[self.rows[self.finished]]
        if self.products.control() == DATA:
            coordinate = self.products.coordinate()
            self.add += coordinate in row
            row[coordinate] = row.get(coordinate, 0.0) + self.products.value()
        else:
            self.ready = now + 1 + len(row)
        self.products.pop()
        return True

    def _write(self, now: int) -> bool:
        if self.ready < 0 or now < self.ready or not self.z_jobs.can_push():
            return False
        self.z_jobs.push(0, len(self.product[self.rows[self.finished]]) * self.element_bytes)
        self.finished += 1
        self.ready = -1
        return True
