"""The parts of this machine that no block of ``fiberscope.hw`` provides."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.hw.fibers.memory_stream import DONE, JOB
from fiberscope.hw.stream import DATA, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output


class RowSums(Component):
    """A unit that adds up the products of a row of Z by coordinate and requests its write to memory.

    Interface: products arrive on ``products``. A token of ``z_jobs`` requests the write of a number of bytes.
    A token of ``z_done`` reports that all requests for these bytes are sent.

    Timing: one product in a cycle. After the stop of a row, one cycle for each element of the row.

    Args:
        product: the rows of Z; each maps a coordinate to its sum.
        rows: numbers of the rows that this component computes, in order.
        element_bytes: bytes of an element.
    """

    PORTS = (Input("products", STREAM), Output("z_jobs", JOB), Input("z_done", DONE))
    COUNTERS = ("add",)

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
        self.finished = 0  # finished rows
        self.ready = -1  # cycle in which the last element of the row has left; -1 before the stop arrives
        self.add = 0

    def tick(self, now: int) -> int:
        """Add a product, or request the write of a finished row."""
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
