# cython: infer_types=True
"""Moves the bytes of one tensor between memory and a buffer, packed into lines."""

from __future__ import annotations

from array import array

from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK, TENSOR_SHIFT
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.protocol import Protocol

# Protocols: a token asks to move so many bytes (its coordinate), one says that they are moved.
JOB = Protocol("bytes to move", coordinate="bytes")
DONE = Protocol("bytes moved")


class MemoryStream(Component):
    """Reads or writes what it is asked to, byte behind byte.

    Interface: a token on ``jobs`` asks for so many bytes (its coordinate), ``done`` tells when they are here,
    or on their way to memory if they are written. The bytes of successive jobs follow one another, in the
    order of use, so that a line which two of them share is moved once.

    Timing: a cycle takes one job, one reply, sends one request and tells that one job is done; up to
    ``lines`` reads are in flight.

    Args:
        name: instance name.
        operation: ``READ`` or ``WRITE``.
        tensor: number of the tensor in its addresses.
        start: byte from which its addresses count, for streams that share a tensor.
        port: number of its port at the network to memory.
        line_bytes: of one request.
        lines: reads in flight at the most.
        most_jobs: jobs taken and not done, at the most.
    """

    PORTS = (
        Input("jobs", JOB),
        Output("done", DONE),
        Output("requests", REQUEST),
        Input("replies", REPLY, optional=True),
    )

    jobs: Channel
    done: Channel
    requests: Channel
    replies: Channel

    def __init__(
        self,
        name: str,
        operation: int,
        tensor: int,
        start: int,
        port: int,
        *,
        line_bytes: int,
        lines: int,
        most_jobs: int,
    ) -> None:
        super().__init__(name)
        self.operation = operation
        self.base = (tensor << TENSOR_SHIFT) + start
        self.tag_base = port << PORT_SHIFT
        self.line_bytes = line_bytes
        self.bytes = 0  # of all jobs taken
        self.window = ReorderWindow(lines)
        self.targets = array("q", bytes(8 * most_jobs))  # ring of the lines that must have arrived, by job
        self.most_jobs = most_jobs
        self.first_job = 0
        self.job_count = 0

    def tick(self, now: int) -> int:
        """Take a job and a reply, send a request, finish a job."""
        progress = self._take()
        if self._receive():
            progress = True
        if self._ask():
            progress = True
        if self._finish():
            progress = True
        return self.busy(now + 1) if progress else self._wait()

    def _take(self) -> bool:
        if self.job_count == self.most_jobs or not self.jobs.can_pop():
            return False
        self.bytes += self.jobs.coordinate()
        self.jobs.pop()
        place = (self.first_job + self.job_count) % self.most_jobs
        self.targets[place] = (self.bytes + self.line_bytes - 1) // self.line_bytes
        self.job_count += 1
        return True

    def _target(self) -> int:  # C: noexcept
        """Lines that all jobs taken need."""
        return (self.bytes + self.line_bytes - 1) // self.line_bytes

    def _receive(self) -> bool:
        if self.operation != READ or not self.replies.can_pop():
            return False
        self.window.receive(self.replies.coordinate() & TAG_MASK)
        self.replies.pop()
        return True

    def _ask(self) -> bool:
        line = self.window.sent
        if line == self._target() or not self.window.has_room():
            return False
        if not self.requests.can_push():
            return False
        slot = self.window.send()
        self.requests.push(self.operation, self.tag_base | slot, self.base + line * self.line_bytes)
        if self.operation != READ:
            self.window.receive(slot)
        return True

    def _finish(self) -> bool:
        if (
            self.job_count == 0
            or self.window.arrived < self.targets[self.first_job]
            or not self.done.can_push()
        ):
            return False
        self.done.push(0)
        self.first_job = (self.first_job + 1) % self.most_jobs
        self.job_count -= 1
        return True

    def _wait(self) -> int:
        if self.job_count == 0:
            return self.idle()
        if self.window.sent < self._target() and not self.requests.can_push():
            return self.wait_output(self.requests)
        if self.window.arrived >= self.targets[self.first_job]:
            return self.wait_output(self.done)
        return self.wait_input(self.replies)

    def counters(self) -> dict[str, int]:
        """Bytes of all jobs, and lines asked for."""
        return {"bytes": self.bytes, "lines": self.window.sent}

    def signals(self) -> tuple[Signal, ...]:
        """Jobs taken and not done, lines asked for, lines in flight."""
        return (Signal("jobs_taken", 8), Signal("asked", 32), Signal("in_flight", 16))

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return self.job_count, self.window.sent, self.window.in_flight()
