"""A toy accelerator: feeders that have the products, and lanes that add one in ``pause`` cycles."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator
from scipy import sparse

from fiberscope.accelerators.configuration import Bytes, BytesPerSecond, Configuration, Hertz
from fiberscope.accelerators.machine import Accelerator, MemoryUse, Traffic
from fiberscope.sim import Component, Input, Kernel, Output, Protocol
from fiberscope.workloads.canonical import CsrArray

PRODUCT = Protocol("product", coordinate="place", value="value")
Product = tuple[int, float, float]  # place (row x columns + column), and the two factors


class Lane(Configuration):
    count: Annotated[int, Field(ge=1, le=64)]
    pause: Annotated[int, Field(ge=1)]


class Memory(Configuration):
    bandwidth: BytesPerSecond
    buffer: Bytes


class ToyConfiguration(Configuration):
    clock: Hertz
    lane: Lane
    memory: Memory
    fault: Literal["none", "wrong", "missing", "surplus", "deadlock", "interrupt"]

    @model_validator(mode="after")
    def _buffer_divides(self) -> ToyConfiguration:
        if self.memory.buffer % self.lane.count:
            buffer, lanes = self.memory.buffer, self.lane.count
            raise ValueError(f"memory.buffer ({buffer} bytes) does not divide into lane.count ({lanes})")
        return self


class Feeder(Component):
    """A component that pushes its products, and stops before the last if a deadlock is planted."""

    PORTS = (Output("out", PRODUCT),)

    def __init__(self, name: str, products: list[Product], fault: str) -> None:
        super().__init__(name)
        self.products = products
        self.fault = fault
        self.sent = 0

    def elaborate(self) -> None:
        self.out = self.channel("out")

    def tick(self, now: int) -> int:
        if self.sent == len(self.products):
            return self.idle()
        if not self.out.can_push():
            return self.wait_output(self.out)
        place, left, right = self.products[self.sent]
        self.out.push(0, place, 0, left * right)
        self.sent += 1
        if self.fault == "interrupt" and self.sent == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return self.busy(now + 1)

    def counters(self) -> dict[str, int]:
        return {"sent": self.sent}


class Multiplier(Component):
    """A component that adds products by position; waits for the last if a deadlock is planted."""

    PORTS = (Input("in", PRODUCT),)

    def __init__(self, name: str, expected: int, pause: int) -> None:
        super().__init__(name)
        self.expected = expected
        self.pause = pause
        self.sums: dict[int, float] = {}
        self.done = 0
        self.ready = 0

    def elaborate(self) -> None:
        self.input = self.channel("in")

    def tick(self, now: int) -> int:
        if now < self.ready:
            return self.busy(self.ready)
        if self.done == self.expected:
            return self.idle()
        if not self.input.can_pop():
            return self.wait_input(self.input)
        place = self.input.coordinate()
        self.sums[place] = self.sums.get(place, 0.0) + self.input.value()
        self.input.pop()
        self.done += 1
        self.ready = now + self.pause
        return self.busy(self.ready)


class Toy:
    work = "multiply"

    def __init__(self, parameters: ToyConfiguration, a: CsrArray, b: CsrArray) -> None:
        self.parameters, self.a, self.b = parameters, a, b
        self.kernel = Kernel()
        self.kernel.clock("core", parameters.clock)
        self.lanes = [
            self._lane(number, products)
            for number, products in enumerate(_shares(a, b, parameters.lane.count))
        ]

    def _lane(self, number: int, products: list[Product]) -> Multiplier:
        fault = self.parameters.fault
        feeder = self.kernel.add(Feeder(f"toy.lane{number:02}.feeder", products, fault))
        expected = len(products) + (fault == "deadlock" and number == 0)
        lane = self.kernel.add(
            Multiplier(f"toy.lane{number:02}.multiplier", expected, self.parameters.lane.pause)
        )
        self.kernel.connect(feeder, "out", lane, "in", capacity=2, latency=1)
        return lane

    def result(self) -> CsrArray:
        sums = {place: value for lane in self.lanes for place, value in lane.sums.items()}
        if self.parameters.fault == "wrong":
            sums[next(iter(sums))] *= 1.001
        if self.parameters.fault == "missing":
            sums.popitem()
        if self.parameters.fault == "surplus":
            sums[next(place for place in range(len(sums) + 1) if place not in sums)] = 0.0
        places = np.array(sorted(sums), dtype=np.int64)
        values = np.array([sums[place] for place in sorted(sums)])
        shape = (self.a.shape[0], self.b.shape[1])
        return sparse.csr_array((values, (places // shape[1], places % shape[1])), shape=shape)

    def operations(self) -> dict[str, int]:
        multiplies = sum(lane.done for lane in self.lanes)
        return {"multiply": multiplies, "add": multiplies - sum(len(lane.sums) for lane in self.lanes)}

    def traffic(self) -> dict[str, Traffic]:
        done = 12 * sum(lane.done for lane in self.lanes)
        written = 12 * sum(len(lane.sums) for lane in self.lanes)
        return {"A": Traffic(12 * self.a.nnz, 0), "B": Traffic(done, 0), "Z": Traffic(0, written)}

    def traffic_minimum_bytes(self) -> int:
        return 12 * (self.a.nnz + self.b.nnz + sum(len(lane.sums) for lane in self.lanes))

    def memory(self) -> MemoryUse:
        done = sum(lane.done for lane in self.lanes)
        return MemoryUse(done, 0, 0, self.parameters.memory.bandwidth, {"refreshes": 0})

    def progress(self) -> tuple[int, int]:
        return sum(lane.done for lane in self.lanes), sum(lane.expected for lane in self.lanes)


def _shares(a: CsrArray, b: CsrArray, lanes: int) -> list[list[Product]]:
    """Return the products of each lane; the products of a row have the same lane."""
    shares: list[list[Product]] = [[] for _ in range(lanes)]
    for row in range(a.shape[0]):
        for entry in range(a.indptr[row], a.indptr[row + 1]):
            for other in range(b.indptr[a.indices[entry]], b.indptr[a.indices[entry] + 1]):
                place = row * b.shape[1] + int(b.indices[other])
                shares[row % lanes].append((place, float(a.data[entry]), float(b.data[other])))
    return shares


ACCELERATOR = Accelerator(
    name="toy",
    summary="two kinds of components, for the tests of the front door",
    configuration=ToyConfiguration,
    folder=Path(__file__).parent,
    models={"event": Toy},
    workers="lane.multiplier",
    limits=("lane.feeder",),
)
