# cython: infer_types=True
"""Sequential reading ahead of use: line buffers, of which each that is free asks for the next line."""

from __future__ import annotations

from array import array

from fiberscope.hw.memory.prefetch_protocol import OPEN, STREAM_ELEMENT, STREAM_JOB, STREAM_STOP
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel, seen_from
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError

NO_LINE = 1 << 62  # beyond every line

JOBS, REPLIES, STOPS = range(3)  # inputs, in the order in which their heads show

FREE, IN_FLIGHT, HERE, DROPPED = range(4)  # what a line buffer is; dropped: free once its line has come


class StreamPrefetcher(Component):
    """Reads elements that lie one behind another in memory, ahead of who takes them.

    Interface: a token on ``jobs`` names the first element and the one behind the last, or ``OPEN``. The
    elements' numbers leave on ``elements`` in order, a stop behind those of each job. A token on ``stops``
    ends a job that is open: what was read ahead of it is dropped, and its stop leaves.

    Timing: in each cycle a line is asked for if the next buffer in turn is free, whose line then comes by
    ``replies``; an element leaves if its last byte is here; and a job is taken once all lines of the one
    before are asked for. A buffer is free again from the cycle behind that in which the last element that
    ends in it leaves; what it has of the next one is kept beside. That takes a cycle only where no element of
    a job ends in its first line. A stop takes a cycle, of a job as at ``stops``.

    Accounting: busy while anything moves; within a job waiting for space in ``elements``, then for a line in
    flight, then for space in ``requests``; an open job without any of these waits for a line too.

    Counts: ``lines`` asked for and their bytes, ``fetched_bytes``; ``used_bytes`` of elements that left.

    Source: Graphicionado (MICRO 2016): up to four lines ahead. Lines of 64 bytes, buffers in turn, and that a
    job that has an end is followed by the next without a gap, are choices of this model.

    Args:
        name: instance name.
        base: byte address of element 0, a multiple of ``line_bytes``.
        element_bytes: of an element, up to a line.
        port: number of its port at the network to memory.
        line_bytes: of a line.
        lines: buffers, and jobs taken and not ended at the most.

    Raises:
        ValueError: if an element is larger than a line, the base within one, or there is no buffer.
        SimulationError: in the run, for a job that ends before its first element.
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
        self,
        name: str,
        base: int,
        element_bytes: int,
        *,
        port: int = 0,
        line_bytes: int = 64,
        lines: int = 4,
    ) -> None:
        super().__init__(name)
        _check(name, base, element_bytes, line_bytes, lines)
        self.base = base
        self.element_bytes = element_bytes
        self.tag_base = port << PORT_SHIFT
        self.line_bytes = line_bytes
        self.buffers = lines
        self.states = array("b", bytes(lines))  # by buffer
        self.asking = 0  # the buffer of the next line to ask for
        self.reading = 0  # that of the next element's last byte
        self.next_line = self.end_line = 0  # to ask for, and the one behind the last
        self.nexts = array("q", bytes(8 * lines))  # by job, in a ring: its next element,
        self.ends = array("q", bytes(8 * lines))  # the one behind its last,
        self.offsets = array("q", bytes(8 * lines))  # and where in its line the next one begins
        self.oldest = 0
        self.job_count = 0
        self.element = -1  # the last that left
        self.lines = self.fetched_bytes = self.used_bytes = 0

    def elaborate(self) -> None:
        """Fetch the channels; the heads of the inputs show side by side."""
        super().elaborate()
        self.seen_from = seen_from([self.jobs, self.replies, self.stops])  # C: long[::1]

    def tick(self, now: int) -> int:
        """Stop or go on with the oldest job, ask for a line, take a line and a job.

        What a cycle does depends on what was there when it began; hence the order.
        """
        takes = self._takes(now)
        progress = self._stop(now)
        if not progress:
            progress = self._ask()
            if self.job_count > 0 and self._serve():
                progress = True
        if self.seen_from[REPLIES] <= now:
            self._receive()
            progress = True
        if takes:
            self._take()
            progress = True
        return self.busy(now + 1) if progress else self._wait(now)

    def _takes(self, now: int) -> bool:  # C: noexcept, inline
        """Return whether a job is to be taken: all lines of those before are asked for, and there is room."""
        if self.next_line != self.end_line or self.job_count == self.buffers:
            return False
        return self.seen_from[JOBS] <= now

    def _take(self) -> None:
        first, end = self.jobs.coordinate(), self.jobs.reference()
        if first < 0 or (end < first and end != OPEN):
            raise SimulationError(f"{self.name}: there is no job from element {first} to {end}")
        place = self.oldest + self.job_count  # C: long
        if place >= self.buffers:
            place -= self.buffers
        self.nexts[place] = first
        self.ends[place] = end
        self.next_line = first * self.element_bytes // self.line_bytes
        self.offsets[place] = first * self.element_bytes - self.next_line * self.line_bytes
        self.end_line = NO_LINE
        if end == first:
            self.end_line = self.next_line
        elif end != OPEN:
            self.end_line = (end * self.element_bytes - 1) // self.line_bytes + 1
        self.job_count += 1
        self.jobs.pop()

    def _stop(self, now: int) -> bool:  # C: inline
        """Return whether an open job is stopped; it is the youngest too."""
        if not self._is_stopped(now) or not self.elements.can_push():
            return False
        assert self.stops is not None
        self.stops.pop()
        for buffer in range(self.buffers):
            if self.states[buffer] == HERE:
                self.states[buffer] = FREE
            elif self.states[buffer] == IN_FLIGHT:
                self.states[buffer] = DROPPED
        self.reading = self.asking
        self.next_line = self.end_line = 0
        self._end()
        return True

    def _is_stopped(self, now: int) -> bool:  # C: noexcept, inline
        """Return whether a stop shows for the oldest job."""
        return self.seen_from[STOPS] <= now and self.job_count > 0 and self.ends[self.oldest] == OPEN

    def _end(self) -> None:
        """The oldest job's stop leaves."""
        self.elements.push(STOP)
        self.oldest = self.oldest + 1 if self.oldest + 1 < self.buffers else 0
        self.job_count -= 1

    def _ask(self) -> bool:  # C: inline
        if self.next_line == self.end_line or self.states[self.asking] != FREE:
            return False
        if not self.requests.can_push():
            return False
        address = self.base + self.next_line * self.line_bytes
        self.requests.push(READ, self.tag_base | self.asking, address)
        self.states[self.asking] = IN_FLIGHT
        self.asking = self.asking + 1 if self.asking + 1 < self.buffers else 0
        self.next_line += 1
        self.lines += 1
        self.fetched_bytes += self.line_bytes
        return True

    def _serve(self) -> bool:  # C: inline
        """Give the next element of the oldest job, or its stop."""
        job = self.oldest
        if self.nexts[job] == self.ends[job]:
            if not self.elements.can_push():
                return False
            self._end()
            return True
        if self.states[self.reading] != HERE:
            return False
        end = self.offsets[job] + self.element_bytes
        if end <= self.line_bytes:
            if not self.elements.can_push():
                return False
            self._give(job)
            self.offsets[job] = end
        if self.nexts[job] == self.ends[job] or self.offsets[job] + self.element_bytes > self.line_bytes:
            self._free(job)
        return True

    def _give(self, job: int) -> None:  # C: inline
        self.element = self.nexts[job]
        self.elements.push(DATA, self.element)
        self.nexts[job] += 1
        self.used_bytes += self.element_bytes

    def _free(self, job: int) -> None:  # C: noexcept, inline
        """No further element ends in the line that is read."""
        self.offsets[job] -= self.line_bytes
        self.states[self.reading] = FREE
        self.reading = self.reading + 1 if self.reading + 1 < self.buffers else 0

    def _receive(self) -> None:  # C: inline
        buffer = self.replies.coordinate() & TAG_MASK
        if buffer >= self.buffers or self.states[buffer] not in (IN_FLIGHT, DROPPED):
            raise SimulationError(f"{self.name}: a reply for buffer {buffer}, which waits for none")
        self.states[buffer] = HERE if self.states[buffer] == IN_FLIGHT else FREE
        self.replies.pop()

    def _wait(self, now: int) -> int:
        if self.job_count == 0:
            return self.idle()
        if self._is_blocked(now):
            return self.wait_output(self.elements)
        if self.next_line < self.end_line and self.states[self.asking] == FREE:
            return self.wait_output(self.requests)
        return self.wait_input(self.replies)

    def _is_blocked(self, now: int) -> bool:  # C: noexcept
        """Return whether an element or a stop has no space to leave, which alone stalls the oldest job."""
        if self.nexts[self.oldest] == self.ends[self.oldest] or self.states[self.reading] == HERE:
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
