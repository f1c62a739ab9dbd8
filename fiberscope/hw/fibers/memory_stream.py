# cython: infer_types=True
"""The memory stream: moves the bytes of a tensor between memory and a buffer, in whole lines."""

from __future__ import annotations

from array import array

from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK, TENSOR_SHIFT
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.protocol import Protocol

# A job is a request to move a number of bytes. A token of DONE reports that the bytes of a job are moved.
JOB = Protocol("bytes to move", coordinate="bytes")
DONE = Protocol("bytes moved")


class MemoryStream(Component):
    """Reads or writes the bytes of successive jobs at consecutive addresses.

    Interface: the coordinate of a token on ``jobs`` is a number of bytes to move. A token on ``done`` reports
    that the bytes of the oldest job have arrived or, for writes, that their requests are sent. The bytes of a
    job follow those of the job before, so that a line which two jobs share is moved once: whole, with the
    first of them.

    Timing: in each cycle, the stream takes one job, receives one reply, sends one request and reports one
    completed job. Up to ``lines`` reads are in flight.

    Accounting: busy while a job, a reply, a request or a report moves; else, with uncompleted jobs, waiting
    for ``requests``, for ``done`` or for ``replies``, the first that applies.

    Counters: ``bytes`` of all jobs taken, and ``lines`` requested.

    Args:
        operation: ``READ`` or ``WRITE``; ``READ`` needs ``replies`` connected.
        tensor: number of the tensor in its addresses.
        start: byte offset of the first byte in the tensor, for streams that share a tensor.
        port: number of this stream's port at the network to memory.
        line_bytes: bytes of a line; a request moves one line.
        lines: greatest number of reads in flight.
        most_jobs: greatest number of jobs taken and not completed, at least 1.

    Raises:
        ValueError: if ``lines`` is below 1.
        SimulationError: in the run, if a reply has no request.
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
        self.bytes = 0  # bytes of all jobs taken
        self.window = ReorderWindow(lines)
        self.targets = array("q", bytes(8 * most_jobs))  # ring: lines to have arrived, by job
        self.most_jobs = most_jobs
        self.first_job = 0
        self.job_count = 0

    def tick(self, now: int) -> int:
        """Take a job, receive a reply, send a request, and report a completed job."""
        progress = self._take()
        if self._receive():
            progress = True
        if self._ask():
            progress = True
        if self._finish():
            progress = True
        return self.busy(now + 1) if progress else self._wait()

    def _take(self) -> bool:
        """Take a job; return whether there was one, with space for it.

        A job is complete when all lines up to its last byte have arrived.
        """
        if self.job_count == self.most_jobs or not self.jobs.can_pop():
            return False
        self.bytes += self.jobs.coordinate()
        self.jobs.pop()
        place = (self.first_job + self.job_count) % self.most_jobs
        self.targets[place] = (self.bytes + self.line_bytes - 1) // self.line_bytes
        self.job_count += 1
        return True

    def _target(self) -> int:  # C: noexcept
        """Return the number of lines that all jobs taken need."""
        return (self.bytes + self.line_bytes - 1) // self.line_bytes

    def _receive(self) -> bool:
        """Receive a line; return whether one has arrived. Replies may arrive in any order."""
        if self.operation != READ or not self.replies.can_pop():
            return False
        self.window.receive(self.replies.coordinate() & TAG_MASK)
        self.replies.pop()
        return True

    def _ask(self) -> bool:
        """Request the next line; return whether it was requested."""
        line = self.window.sent
        if line == self._target() or not self.window.has_free_slot():
            return False
        if not self.requests.can_push():
            return False
        slot = self.window.send()
        self.requests.push(self.operation, self.tag_base | slot, self.base + line * self.line_bytes)
        if self.operation != READ:
            self.window.receive(slot)  # a write counts as complete when its request is sent
        return True

    def _finish(self) -> bool:
        """Report that the oldest job is complete; return whether it was reported."""
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
        """Return the wait state of a cycle without progress."""
        if self.job_count == 0:
            return self.idle()
        if self.window.sent < self._target() and not self.requests.can_push():
            return self.wait_output(self.requests)
        if self.window.arrived >= self.targets[self.first_job]:
            return self.wait_output(self.done)
        return self.wait_input(self.replies)

    def counters(self) -> dict[str, int]:
        """Return the bytes of all jobs taken, and the lines requested."""
        return {"bytes": self.bytes, "lines": self.window.sent}

    def signals(self) -> tuple[Signal, ...]:
        """Return the signals: jobs taken and not completed, lines requested, and lines in flight."""
        return (Signal("jobs_taken", 8), Signal("asked", 32), Signal("in_flight", 16))

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of the signals."""
        values[0], values[1], values[2] = self.job_count, self.window.sent, self.window.in_flight()
