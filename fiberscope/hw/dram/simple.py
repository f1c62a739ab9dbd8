# cython: infer_types=True
"""The simple mode: a memory of fixed latency and peak bandwidth, for comparison with the papers' models."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fiberscope.hw.memory.protocol import (
    OPERATIONS,
    READ,
    READ_BURST,
    REPLY,
    REQUEST,
    TENSOR_SHIFT,
    TENSORS,
    WRITE,
    WRITE_BURST,
    WRITE_THROUGH,
    HeldRequest,
)
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.constants import NEVER
from fiberscope.sim.errors import SimulationError


@dataclass(frozen=True)
class SimpleSpecification:
    """A memory of fixed latency and peak bandwidth.

    Args:
        bytes_per_second: peak bandwidth, reads and writes together, exact.
        clock_hertz: frequency of the clock domain that the memory is put in.
        latency: cycles of that clock from the transfer's beginning to the reply, beside the transfer itself.
        request_bytes: bytes of one request.
        queue: reads on their way back, at the most.
        burst_bytes: bytes of one burst, for requests of a single one; 0: as many as of any request.
    """

    bytes_per_second: Fraction | int
    clock_hertz: Fraction | int = 10**9
    latency: int = 50
    request_bytes: int = 64
    queue: int = 64
    burst_bytes: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be built.

        Raises:
            ValueError: naming the field and its value.
        """
        for name in ("bytes_per_second", "clock_hertz", "latency", "request_bytes", "queue"):
            if getattr(self, name) <= 0:
                raise ValueError(f"SimpleSpecification: {name} must be above 0, not {getattr(self, name)}")
        if not 0 <= self.burst_bytes <= self.request_bytes:
            raise ValueError(
                f"SimpleSpecification: burst_bytes must be from 0 to {self.request_bytes}, "
                f"not {self.burst_bytes}"
            )

    @staticmethod
    def cycles(nanoseconds: Fraction | int, clock_hertz: Fraction | int) -> int:
        """A latency in ns as cycles of a clock, rounded up."""
        return math.ceil(Fraction(nanoseconds) * clock_hertz / 10**9)

    @property
    def cycles_per_byte(self) -> Fraction:
        """Cycles that the transfer of one byte takes, exact."""
        return Fraction(self.clock_hertz) / Fraction(self.bytes_per_second)


class SimpleMemory(Component):
    """Transfers one request after the other at peak bandwidth; a read is answered ``latency`` cycles later.

    Ports and counters as of ``DramChannel``, where they make sense. A transfer begins when the request can
    be seen and the one before has ended; ends are kept exact, in fractions of a cycle, so that no bandwidth
    is lost to rounding. A reply is sent in the first cycle at or after begin + transfer + latency.

    Args:
        name: instance name.
        specification: what it is built from.
    """

    PORTS = (Input("requests", REQUEST), Output("replies", REPLY))
    SIGNALS = (Signal("returning", 16, "integer"),)  # reads on their way back

    requests: Channel
    replies: Channel

    def __init__(self, name: str, specification: SimpleSpecification) -> None:
        super().__init__(name)
        self.specification = specification
        self._request_bytes = specification.request_bytes
        self._burst_bytes = specification.burst_bytes or specification.request_bytes
        # Of a cycle, in which transfers' ends count
        self._parts = specification.cycles_per_byte.denominator  # C: long
        self._per_byte = specification.cycles_per_byte.numerator  # C: long
        self._size = 0  # bytes of the request whose transfer begins
        self._latency = specification.latency
        self._capacity = specification.queue
        self._due = array("q", bytes(8 * self._capacity))
        self._tag = array("q", bytes(8 * self._capacity))
        self._address = array("q", bytes(8 * self._capacity))
        self._arrival = array("q", bytes(8 * self._capacity))
        self._head = 0
        self._count = 0
        self._free = 0  # when the last transfer ends: cycle and parts of it
        self._free_part = 0
        # As of ``DramChannel``
        self.on_request: Callable[[int, int, int, int], None] | None = None  # C: public
        self._reads = self._writes = self._read_latency = 0
        self._read_bytes = array("q", bytes(8 * TENSORS))
        self._write_bytes = array("q", bytes(8 * TENSORS))

    def tick(self, now: int) -> int:
        """Begin the transfers of this cycle and send the replies that are due."""
        while self._can_begin(now):
            self._begin(now)
        self._reply(now)
        return self._rest(now)

    def _can_begin(self, now: int) -> bool:  # C: noexcept
        """Return whether a transfer begins in this cycle: within it, at the latest, the last has ended."""
        return self._count < self._capacity and self._free <= now and self.requests.can_pop()

    def _begin(self, now: int) -> None:
        operation = self.requests.control()
        address = self.requests.reference()
        tensor = address >> TENSOR_SHIFT
        if tensor < 0 or tensor >= TENSORS:
            self._refuse(f"address {address:#x} names tensor {tensor}, not one of 0 to {TENSORS - 1}")
        if operation not in (READ, READ_BURST, WRITE, WRITE_BURST, WRITE_THROUGH):
            self._refuse(f"{OPERATIONS[operation]} is an operation of caches, not of memory")
        self._size = self._burst_bytes if operation in (READ_BURST, WRITE_BURST) else self._request_bytes
        self._transfer(now)
        if operation in (READ, READ_BURST):
            self._remember(address, now)
            self._reads += 1
            self._read_bytes[tensor] += self._size
        else:
            self._writes += 1
            self._write_bytes[tensor] += self._size
        if self.on_request is not None:
            self.on_request(now, operation, address, self.requests.coordinate())
        self.requests.pop()

    def _refuse(self, fault: str) -> None:  # C: fault=str
        raise SimulationError(f"{self.name}: {fault}")

    def _transfer(self, now: int) -> None:  # C: noexcept
        """Occupy the bus for one request, from now or the end of the last transfer."""
        if self._free < now:
            self._free = now
            self._free_part = 0
        parts = self._free_part + self._size * self._per_byte
        self._free += parts // self._parts
        self._free_part = parts % self._parts

    def _remember(self, address: int, now: int) -> None:  # C: noexcept
        """A read whose transfer has been given its place."""
        tail = self._head + self._count
        if tail >= self._capacity:
            tail -= self._capacity
        ended = self._free + 1 if self._free_part else self._free
        self._due[tail] = ended + self._latency
        self._tag[tail] = self.requests.coordinate()
        self._address[tail] = address
        self._arrival[tail] = now
        self._count += 1

    def _reply(self, now: int) -> None:
        while self._count and self._due[self._head] <= now and self.replies.can_push():
            self.replies.push(READ, self._tag[self._head], self._address[self._head], 0.0)
            self._read_latency += now + 1 - self._arrival[self._head]
            self._count -= 1
            self._head += 1
            if self._head == self._capacity:
                self._head = 0

    def _rest(self, now: int) -> int:  # C: noexcept
        """Sleep until a reply is due or the next transfer may begin."""
        begins = self._free
        if self._can_begin(now):
            begins = now + 1  # the replies of this cycle made room
        if self._count == 0:
            return self.busy(begins) if begins > now else self.idle()
        due = self._due[self._head]
        if due > now:
            return self.busy(min(due, begins) if begins > now else due)
        self.wait_output(self.replies)
        return begins if begins > now else NEVER

    def held_requests(self) -> list[HeldRequest]:  # C: def
        """The reads on their way back."""
        held = []
        for count in range(self._count):
            place = (self._head + count) % self._capacity
            due = f"its data comes in cycle {self._due[place]} of the memory"
            held.append(HeldRequest(READ, self._tag[place], self._address[place], due, self._arrival[place]))
        return held

    def read_bytes(self, tensor: int) -> int:  # C: def
        """Bytes of this tensor read so far."""
        return self._read_bytes[tensor]

    def write_bytes(self, tensor: int) -> int:  # C: def
        """Bytes of this tensor written so far."""
        return self._write_bytes[tensor]

    def counters(self) -> dict[str, int]:
        """Event counts so far; the data bus is busy for the transfers, in whole cycles."""
        moved = sum(self._read_bytes) + sum(self._write_bytes)
        counts = {
            "reads": self._reads,
            "writes": self._writes,
            "read_latency": self._read_latency,
            "data_bus_busy_0": math.ceil(moved * self.specification.cycles_per_byte),
        }
        for tensor in range(TENSORS):
            counts[f"read_bytes_{tensor}"] = self._read_bytes[tensor]
            counts[f"write_bytes_{tensor}"] = self._write_bytes[tensor]
        return counts

    @property
    def returning(self) -> int:
        """Reads on their way back."""
        return self._count
