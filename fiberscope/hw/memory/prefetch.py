# cython: infer_types=True
"""A stream prefetcher: reads consecutive elements from memory into line buffers ahead of their use."""

from __future__ import annotations

from array import array

from fiberscope.hw.memory.prefetch_protocol import OPEN, STREAM_ELEMENT, STREAM_JOB, STREAM_STOP
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel, seen_from
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError

NO_LINE = 1 << 62  # end line of an open job, above every line number

JOBS, REPLIES, STOPS = range(3)  # indices of the inputs in ``seen_from``

# States of a line buffer. The line of a DROPPED buffer is in flight, and is discarded when it arrives.
FREE, IN_FLIGHT, HERE, DROPPED = range(4)


class StreamPrefetcher(Component):
    """A prefetcher that reads consecutive elements of an array from memory ahead of their use.

    Interface: a token on ``jobs`` holds the first element of a job and the element after the last one, or
    ``OPEN`` for a job without an end. The prefetcher sends the numbers of the elements on ``elements`` in
    order, and a stop after the last element of each job. A token on ``stops`` ends an open job: the
    prefetcher discards the lines that it has read ahead and sends the stop of the job.

    Timing: in each cycle, the prefetcher does each of the following if it can.

    - It requests the next line, if the next buffer in round-robin order is free.
    - It pops a line from ``replies``.
    - It sends the next element, if the line with the last byte of the element has arrived.
    - It accepts a job, if all lines of the jobs before it are requested, no open job is left, and fewer than
      ``lines`` jobs are accepted and not ended.

    A buffer is free from the cycle after the last element that ends in its line is sent. The first bytes of
    an element that continues in the next line move to a register. This move takes a cycle of its own only if
    no element of the job ends in its first line. The stop of a job takes a cycle, as does a token on
    ``stops``; while ``elements`` is full, the token waits and the job goes on. A line that two jobs share is
    read for each of them.

    Accounting: busy while a token moves. Within a job without progress, the prefetcher waits for the first of
    these that applies: a free slot in ``elements``, a free slot in ``requests`` for the next line, a line
    from memory. An open job that lacks none of these also waits for a line.

    Counts: ``lines``, the lines requested, and ``fetched_bytes``, their bytes; ``used_bytes``, the bytes of
    the elements sent.

    Source: Graphicionado (MICRO 2016), which reads up to four lines ahead. Lines of 64 bytes, the round-robin
    order of the buffers, and that a job with an end is followed by the next job without a gap, are choices of
    this model.

    Args:
        base: byte address of element 0, a multiple of ``line_bytes``.
        element_bytes: bytes of an element, from 1 to ``line_bytes``.
        port: number of the prefetcher's port at the network to memory.
        lines: number of line buffers, which is also the maximum number of jobs accepted and not ended.

    Raises:
        ValueError: if ``element_bytes`` is below 1 or above ``line_bytes``, ``base`` is not a multiple of
            ``line_bytes``, or ``lines`` is below 1.
        SimulationError: during the run, if the first element of a job is negative, a job ends before its
            first element, or a reply has no request.
    """

    PORTS = (
        Input("jobs", STREAM_JOB),
        Input("stops", STREAM_STOP, optional=True),
        Output("requests", REQUEST),
        Input("replies", REPLY),
        Output("elements", STREAM_ELEMENT),
    )
    COUNTERS = ("lines", "fetched_bytes", "used_bytes")
    SIGNALS = (Signal("element", 48, "integer"), Signal("lines", 48), Signal("job_count", 16))

    jobs: Channel
    stops: Channel | None
    requests: Channel
    replies: Channel
    elements: Channel

    def __init__(
        self, name: str, base: int, element_bytes: int, *, port: int = 0, line_bytes: int = 64, lines: int = 4
    ) -> None:
        super().__init__(name)
        _check(name, base, element_bytes, line_bytes, lines)
        self.base = base
        self.element_bytes = element_bytes
        self.tag_base = port << PORT_SHIFT
        self.line_bytes = line_bytes
        self.buffers = lines
        self.states = array("b", bytes(lines))  # state of each line buffer
        self.request_buffer = 0  # buffer for the next line to request
        self.read_buffer = 0  # buffer of the line with the last byte of the next element
        # The next line to request, and the line after the last one of the youngest job
        self.next_line = self.end_line = 0
        # A ring of the accepted jobs: next element, element after the last one, and the offset in bytes of
        # the next element from the start of the line in ``read_buffer`` (negative: it starts in an
        # earlier line)
        self.next_elements = array("q", bytes(8 * lines))
        self.end_elements = array("q", bytes(8 * lines))
        self.offsets = array("q", bytes(8 * lines))
        self.oldest = 0  # slot of the oldest job in the ring
        self.job_count = 0
        self.element = -1  # last element sent
        self.lines = self.fetched_bytes = self.used_bytes = 0

    def elaborate(self) -> None:
        """Fetch the channels, and the array of the cycles in which the heads of the inputs are seen."""
        super().elaborate()
        self.seen_from = seen_from([self.jobs, self.replies, self.stops])  # C: long[::1]

    def tick(self, now: int) -> int:
        """Stop or serve the oldest job, request a line, and accept a line and a job.

        What a cycle does depends on the state at its begin. Therefore a line and a job are accepted last.
        """
        accepts = self._can_accept(now)
        progress = self._stop(now)
        if not progress:
            progress = self._request_line()
            if self.job_count > 0 and self._serve():
                progress = True
        if self.seen_from[REPLIES] <= now:
            self._receive()
            progress = True
        if accepts:
            self._accept_job()
            progress = True
        return self.busy(now + 1) if progress else self._wait(now)

    def _can_accept(self, now: int) -> bool:  # C: noexcept, inline
        """Return whether a job can be accepted: all earlier lines are requested, and the ring is not full."""
        if self.next_line != self.end_line or self.job_count == self.buffers:
            return False
        return self.seen_from[JOBS] <= now

    def _accept_job(self) -> None:
        """Accept the job at the head of ``jobs``; its lines are requested from the next cycle on."""
        first, end = self.jobs.coordinate(), self.jobs.reference()
        if first < 0 or (end < first and end != OPEN):
            raise SimulationError(f"{self.name}: there is no job from element {first} to {end}")
        slot = self.oldest + self.job_count  # C: long
        if slot >= self.buffers:
            slot -= self.buffers
        self.next_elements[slot] = first
        self.end_elements[slot] = end
        self.next_line = first * self.element_bytes // self.line_bytes
        self.offsets[slot] = first * self.element_bytes - self.next_line * self.line_bytes
        self.end_line = NO_LINE
        if end == first:
            self.end_line = self.next_line
        elif end != OPEN:
            self.end_line = (end * self.element_bytes - 1) // self.line_bytes + 1
        self.job_count += 1
        self.jobs.pop()

    def _stop(self, now: int) -> bool:  # C: inline
        """Stop the oldest job, if a stop for it is seen; return whether it did. No job follows it yet."""
        if not self._is_stopped(now) or not self.elements.can_push():
            return False
        assert self.stops is not None
        self.stops.pop()
        for buffer in range(self.buffers):
            if self.states[buffer] == HERE:
                self.states[buffer] = FREE
            elif self.states[buffer] == IN_FLIGHT:
                self.states[buffer] = DROPPED
        self.read_buffer = self.request_buffer  # the next line requested is the first one of the next job
        self.next_line = self.end_line = 0
        self._end_job()
        return True

    def _is_stopped(self, now: int) -> bool:  # C: noexcept, inline
        """Return whether the oldest job is open and ``stops`` has a token."""
        return self.seen_from[STOPS] <= now and self.job_count > 0 and self.end_elements[self.oldest] == OPEN

    def _end_job(self) -> None:
        """Send the stop of the oldest job, and remove the job."""
        self.elements.push(STOP)
        self.oldest = self.oldest + 1 if self.oldest + 1 < self.buffers else 0
        self.job_count -= 1

    def _request_line(self) -> bool:  # C: inline
        """Request the next line of the youngest job if the next buffer is free; return whether it did."""
        if self.next_line == self.end_line or self.states[self.request_buffer] != FREE:
            return False
        if not self.requests.can_push():
            return False
        address = self.base + self.next_line * self.line_bytes
        self.requests.push(READ, self.tag_base | self.request_buffer, address)
        self.states[self.request_buffer] = IN_FLIGHT
        self.request_buffer = self.request_buffer + 1 if self.request_buffer + 1 < self.buffers else 0
        self.next_line += 1
        self.lines += 1
        self.fetched_bytes += self.line_bytes
        return True

    def _serve(self) -> bool:  # C: inline
        """Send the next element of the oldest job or its stop; return whether the job made progress."""
        job = self.oldest
        if self.next_elements[job] == self.end_elements[job]:
            if not self.elements.can_push():
                return False
            self._end_job()
            return True
        if self.states[self.read_buffer] != HERE:
            return False
        end = self.offsets[job] + self.element_bytes
        if end <= self.line_bytes:
            if not self.elements.can_push():
                return False
            self._send_element(job)
            self.offsets[job] = end
        # If no element was sent, the first bytes of the next one move to the register: its offset from the
        # start of the next line becomes negative.
        if (
            self.next_elements[job] == self.end_elements[job]
            or self.offsets[job] + self.element_bytes > self.line_bytes
        ):
            self._free_buffer(job)
        return True

    def _send_element(self, job: int) -> None:  # C: inline
        """Send the number of the next element of a job."""
        self.element = self.next_elements[job]
        self.elements.push(DATA, self.element)
        self.next_elements[job] += 1
        self.used_bytes += self.element_bytes

    def _free_buffer(self, job: int) -> None:  # C: noexcept, inline
        """Free the buffer that is read, as no further element ends in its line."""
        self.offsets[job] -= self.line_bytes
        self.states[self.read_buffer] = FREE
        self.read_buffer = self.read_buffer + 1 if self.read_buffer + 1 < self.buffers else 0

    def _receive(self) -> None:  # C: inline
        """Pop a line into its buffer, or free the buffer if the line belongs to a stopped job."""
        buffer = self.replies.coordinate() & TAG_MASK
        if buffer >= self.buffers or self.states[buffer] not in (IN_FLIGHT, DROPPED):
            raise SimulationError(f"{self.name}: a reply for buffer {buffer}, which waits for none")
        self.states[buffer] = HERE if self.states[buffer] == IN_FLIGHT else FREE
        self.replies.pop()

    def _wait(self, now: int) -> int:
        """Return the wait state of a cycle without progress, see the class."""
        if self.job_count == 0:
            return self.idle()
        if self._is_blocked(now):
            return self.wait_output(self.elements)
        if self.next_line < self.end_line and self.states[self.request_buffer] == FREE:
            return self.wait_output(self.requests)
        return self.wait_input(self.replies)

    def _is_blocked(self, now: int) -> bool:  # C: noexcept
        """Return whether only a full ``elements`` keeps the oldest job from sending an element or a stop."""
        if (
            self.next_elements[self.oldest] == self.end_elements[self.oldest]
            or self.states[self.read_buffer] == HERE
        ):
            return True
        return self._is_stopped(now)


def _check(name: str, base: int, element_bytes: int, line_bytes: int, lines: int) -> None:
    if not 1 <= element_bytes <= line_bytes:
        raise ValueError(
            f"{name}: an element of {element_bytes} bytes should fit a line of {line_bytes} bytes"
        )
    if base % line_bytes:
        raise ValueError(f"{name}: base must be a multiple of {line_bytes}, not {base}")
    if lines < 1:
        raise ValueError(f"{name}: lines must be at least 1, not {lines}")
