# cython: infer_types=True
"""A simple memory with a fixed latency and peak bandwidth, as the models of many papers have it."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fiberscope.hw.memory.protocol import (
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
    operation_name,
)
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.constants import NEVER
from fiberscope.sim.errors import SimulationError


@dataclass(frozen=True)
class SimpleSpecification:
    """The specification of a memory with a fixed latency and peak bandwidth.

    Args:
        bytes_per_second: peak bandwidth of reads and writes together, exact.
        clock_hertz: frequency of the memory's clock domain.
        latency: cycles of this clock from the start of a transfer to its reply, in addition to the transfer
            time.
        queue: maximum number of reads in flight. While it is reached, no transfer starts, not even a write's.
        burst_bytes: bytes of a request for a single burst; 0 for ``request_bytes``.
    """

    bytes_per_second: Fraction | int
    clock_hertz: Fraction | int = 10**9
    latency: int = 50
    request_bytes: int = 64
    queue: int = 64
    burst_bytes: int = 0

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ValueError: if a value is out of range; the message has the field and the value.
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
        """Return a latency in nanoseconds as cycles of a clock, rounded up."""
        return math.ceil(Fraction(nanoseconds) * clock_hertz / 10**9)

    @property
    def cycles_per_byte(self) -> Fraction:
        """Return the exact number of cycles that the transfer of one byte takes."""
        return Fraction(self.clock_hertz) / Fraction(self.bytes_per_second)


class SimpleMemory(Component):
    """A memory that transfers one request after another at peak bandwidth, with a fixed read latency.

    Interface: that of ``DramChannel``, with those of its counters that apply.

    Timing: a transfer starts when the request is seen and the transfer before it has ended. The end of a
    transfer is exact, in fractions of a cycle, so that rounding loses no bandwidth. With a high bandwidth,
    several transfers can start in a cycle. A reply is sent in the first cycle at or after the end of its
    transfer plus ``latency`` cycles.

    Args:
        specification: latency, bandwidth and sizes.

    Raises:
        SimulationError: in the run, if memory has no such operation, or an address names no tensor.
    """

    PORTS = (Input("requests", REQUEST), Output("replies", REPLY))
    SIGNALS = (Signal("returning", 16, "integer"),)  # reads in flight

    requests: Channel
    replies: Channel

    def __init__(self, name: str, specification: SimpleSpecification) -> None:
        super().__init__(name)
        self.specification = specification
        self._request_bytes = specification.request_bytes
        self._burst_bytes = specification.burst_bytes or specification.request_bytes
        # Fractions of a cycle are counted in units of 1 / _units_per_cycle, in which all transfers are whole
        # numbers. Nothing is therefore rounded, however long the run.
        self._units_per_cycle = specification.cycles_per_byte.denominator  # C: long
        self._units_per_byte = specification.cycles_per_byte.numerator  # C: long
        self._size = 0  # bytes of the last request whose transfer began
        self._latency = specification.latency
        self._capacity = specification.queue
        self._due_cycles = array("q", bytes(8 * self._capacity))
        self._tag = array("q", bytes(8 * self._capacity))
        self._address = array("q", bytes(8 * self._capacity))
        self._arrival = array("q", bytes(8 * self._capacity))
        self._head = 0
        self._count = 0
        self._free_at = 0  # cycle in which the last transfer ends, rounded down
        self._free_units = 0  # fraction of this cycle at the end, in units of 1 / _units_per_cycle
        # Called with cycle, operation, address and tag of each accepted request
        self.on_request: Callable[[int, int, int, int], None] | None = None  # C: public
        self._reads = self._writes = self._read_latency = 0
        self._read_bytes = array("q", bytes(8 * TENSORS))
        self._write_bytes = array("q", bytes(8 * TENSORS))

    def tick(self, now: int) -> int:
        """Start the transfers of this cycle, and send the replies that are due."""
        while self._can_start(now):
            self._start_transfer(now)
        self._reply(now)
        return self._wait_state(now)

    def _can_start(self, now: int) -> bool:  # C: noexcept
        """Return whether a transfer can start in this cycle: the one before ends in it or earlier."""
        return self._count < self._capacity and self._free_at <= now and self.requests.can_pop()

    def _start_transfer(self, now: int) -> None:
        """Start the transfer of the first request and count it; a read is now in flight."""
        operation = self.requests.control()
        address = self.requests.reference()
        tensor = address >> TENSOR_SHIFT
        if tensor < 0 or tensor >= TENSORS:
            self._refuse(f"address {address:#x} names tensor {tensor}, not one of 0 to {TENSORS - 1}")
        if operation not in (READ, READ_BURST, WRITE, WRITE_BURST, WRITE_THROUGH):
            self._refuse(f"{operation_name(operation)} is no operation of memory")
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
        """Occupy the bus for a request, from ``now`` or from the end of the last transfer."""
        if self._free_at < now:
            self._free_at = now
            self._free_units = 0
        units = self._free_units + self._size * self._units_per_byte
        self._free_at += units // self._units_per_cycle
        self._free_units = units % self._units_per_cycle

    def _remember(self, address: int, now: int) -> None:  # C: noexcept
        """Append the read at the head of ``requests`` to the reads in flight."""
        tail = self._head + self._count
        if tail >= self._capacity:
            tail -= self._capacity
        # The end is rounded up for the reply only; the next transfer starts at the exact end
        end = self._free_at + 1 if self._free_units else self._free_at
        self._due_cycles[tail] = end + self._latency
        self._tag[tail] = self.requests.coordinate()
        self._address[tail] = address
        self._arrival[tail] = now
        self._count += 1

    def _reply(self, now: int) -> None:
        """Send the replies that are due, in order, while ``replies`` has space."""
        while self._count and self._due_cycles[self._head] <= now and self.replies.can_push():
            self.replies.push(READ, self._tag[self._head], self._address[self._head], 0.0)
            self._read_latency += now + 1 - self._arrival[self._head]
            self._count -= 1
            self._head += 1
            if self._head == self._capacity:
                self._head = 0

    def _wait_state(self, now: int) -> int:  # C: noexcept
        """Sleep until a reply is due or the next transfer can start."""
        next_start = self._free_at
        if self._can_start(now):
            next_start = now + 1  # a reply of this cycle has freed an entry
        if self._count == 0:
            return self.busy(next_start) if next_start > now else self.idle()
        due_cycle = self._due_cycles[self._head]
        if due_cycle > now:
            return self.busy(min(due_cycle, next_start) if next_start > now else due_cycle)
        self.wait_output(self.replies)
        return next_start if next_start > now else NEVER

    def held_requests(self) -> list[HeldRequest]:  # C: def
        """Return the reads in flight."""
        requests = []
        for position in range(self._count):
            slot = (self._head + position) % self._capacity
            reason = f"its data comes in cycle {self._due_cycles[slot]} of the memory"
            requests.append(
                HeldRequest(READ, self._tag[slot], self._address[slot], reason, self._arrival[slot])
            )
        return requests

    def read_bytes(self, tensor: int) -> int:  # C: def
        """Return the bytes of a tensor read so far."""
        return self._read_bytes[tensor]

    def write_bytes(self, tensor: int) -> int:  # C: def
        """Return the bytes of a tensor written so far."""
        return self._write_bytes[tensor]

    def counters(self) -> dict[str, int]:
        """Return the event counts so far; ``data_bus_busy_0`` is the time of all transfers, rounded up."""
        byte_count = sum(self._read_bytes) + sum(self._write_bytes)
        counts = {
            "reads": self._reads,
            "writes": self._writes,
            "read_latency": self._read_latency,
            "data_bus_busy_0": math.ceil(byte_count * self.specification.cycles_per_byte),
        }
        for tensor in range(TENSORS):
            counts[f"read_bytes_{tensor}"] = self._read_bytes[tensor]
            counts[f"write_bytes_{tensor}"] = self._write_bytes[tensor]
        return counts

    @property
    def returning(self) -> int:
        """Return the number of reads in flight."""
        return self._count
