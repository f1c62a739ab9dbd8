# cython: infer_types=True
"""FiberCache: a banked cache with explicit fetches, read-once partial lines and priority replacement."""

from __future__ import annotations

from array import array

from fiberscope.hw.lanes.pipeline import Pipeline
from fiberscope.hw.memory.cache_geometry import HASHED, FiberCacheSpecification
from fiberscope.hw.memory.misses import MissTable
from fiberscope.hw.memory.protocol import (
    CONSUME,
    FETCH,
    PORT_SHIFT,
    READ,
    REPLY,
    REQUEST,
    TAG_MASK,
    WRITE,
    WRITE_THROUGH,
    WRITE_UNREAD,
    HeldRequest,
)
from fiberscope.hw.memory.replacement import ReplacementPolicy
from fiberscope.hw.memory.tags import Sets, TagStore
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError

NONE = -1
# Words of a request in the pipeline. They are adjacent and fill a line of the host's cache. ``ENTRY`` is the
# entry of the line or of the victim, -1 without one. ``PRESENT`` is 1 if the line is held or in flight.
OPERATION, TAG, ADDRESS, SET, ENTRY, PRESENT = range(6)
WORDS = 8


class FiberCacheBank(Component):
    """A pipelined bank of the FiberCache, which processes one request or one reply of a miss a cycle.

    Interface: the bank receives ``requests`` and sends ``replies``, see ``fiberscope.hw.memory.protocol``.
    It sends line reads and write-backs on ``memory_requests`` and receives lines on ``memory_replies``.

    - ``READ`` replies with the line and lowers its priority by one.
    - ``FETCH`` brings the line into the cache without a reply, and raises its priority by one.
    - ``WRITE`` writes a whole line without fetching it, and replies. A line that it allocates has priority
      one, because one read is expected. A hit does not change the priority.
    - ``WRITE_UNREAD`` is a write of a line of which no read is expected: it allocates with priority zero.
    - ``CONSUME`` reads a line for the last time. The line is dropped without a write-back; a line in flight
      is not kept when it arrives.
    - ``WRITE_THROUGH`` passes a whole line on to memory, and does not change a copy in the cache.

    A miss does not block later requests as long as a miss register, a target and a way are free. A ``READ``
    or ``CONSUME`` of a line in flight joins the miss; a write waits until the line has arrived. The victim is
    the line with the lowest priority; dirty bits and then SRRIP decide among lines of equal priority (see
    ``fiberscope.hw.memory.tags``), unless ``policy`` is set. A dirty victim is written back.

    Timing: the bank accepts one request a cycle and processes it ``stages`` cycles later, when the tags have
    been read from synchronous memories. A hit is answered in that cycle; the latency of the channel at
    ``replies`` is additional. The stages move in step, see ``fiberscope.hw.lanes.pipeline``. A request waits
    at the input while the pipeline holds a request to the same set, or while all ways of its set are in
    flight.

    The bank pops a line from ``memory_replies`` in a cycle. It answers the waiting requests of the line
    from the next cycle, one a cycle, and processes no request of the pipeline in these cycles, at least one.
    It can pop the next line in the last of these cycles. Only a full channel at ``replies`` can block the
    lines from memory, so every requester has to pop its replies eventually.

    Source: Gamma (ASPLOS 2021) for operations, priorities and SRRIP. Line size, number of misses in flight,
    stages and widths of the counts are choices of this model.

    Args:
        specification: geometry and policies.
        port: number of the bank's port at the network to memory.

    Raises:
        SimulationError: when built, if ``memory_requests`` has a capacity below 2; during the run, if an
            operation is unknown, a line arrives without a request, or ``policy`` chooses no line of the set.
    """

    PORTS = (
        Input("requests", REQUEST),
        Output("replies", REPLY),
        Output("memory_requests", REQUEST),
        Input("memory_replies", REPLY),
    )
    # By operation: the line was present (hit), in flight (join; a fetch then hits), or neither (miss).
    COUNTERS = (
        "read_hits",
        "read_joins",
        "read_misses",
        "fetch_hits",
        "fetch_misses",
        "write_hits",
        "write_misses",
        "consume_hits",
        "consume_joins",
        "consume_misses",
        "evictions",
        "write_backs",
        "writes_through",
    )
    SIGNALS = (
        Signal("hits", 48),
        Signal("joins", 48),
        Signal("misses", 48),
        Signal("in_flight", 16),
        Signal("answering", 1),
        Signal("held", 32),
        Signal("evictions", 48),
    )

    POLICY = ReplacementPolicy

    requests: Channel
    replies: Channel
    memory_requests: Channel
    memory_replies: Channel

    def __init__(self, name: str, specification: FiberCacheSpecification, port: int) -> None:
        super().__init__(name)
        self.specification = specification
        self.policy: ReplacementPolicy | None = None  # C: public
        self.line_bytes = specification.line_bytes
        self.tag_base = port << PORT_SHIFT
        self.tags = TagStore(
            specification.sets, specification.ways, specification.priority_limit, specification.reuse_limit
        )
        self.sets = Sets(specification.banks, specification.sets, specification.index == HASHED)
        self.misses = MissTable(specification.misses, specification.targets)
        self.answering = -1  # miss whose line has arrived and whose targets get replies
        self.pipeline = Pipeline(specification.stages)
        self.records = array("q", [NONE] * (WORDS * specification.stages))  # requests, by slot
        self.decided = 0  # first word of the request that is decided
        self.read_hits = self.read_joins = self.read_misses = 0
        self.fetch_hits = self.fetch_misses = 0
        self.write_hits = self.write_misses = 0
        self.consume_hits = self.consume_joins = self.consume_misses = 0
        self.evictions = self.write_backs = self.writes_through = 0

    def elaborate(self) -> None:
        """Fetch the channels, and check the capacity of the channel to memory."""
        super().elaborate()
        if self.memory_requests.capacity < 2:
            reason = "a line read and the victim written back leave together"
            requirement = f"at least 2 towards memory, not {self.memory_requests.capacity}: {reason}"
            raise SimulationError(f"{self.memory_requests.name}: a bank needs a capacity of {requirement}")

    def preload(
        self, lines: memoryview[int], reuse: memoryview[int]
    ) -> None:  # C: lines=long[::1], reuse=unsigned char[::1]
        """Replace the idle lines of the bank, except in the sets of requests in the pipeline."""
        busy_sets = [self.records[WORDS * slot + SET] for slot in range(self.pipeline.depth)]
        self.tags.preload(lines, reuse, busy_sets)  # which explains lines and reuse

    def tick(self, now: int) -> int:
        """Process the oldest request or answer a waiting one; accept a request and a line from memory."""
        pipeline = self.pipeline
        is_due, is_answering = pipeline.has_due_item(now), self.answering >= 0
        set_index = self._set_to_enter()
        blocked: Channel | None = None
        can_advance = not is_due
        if is_due and not is_answering:
            blocked = self._decide()
            can_advance = blocked is None
            if can_advance:
                self.records[WORDS * pipeline.leave(now) + SET] = NONE
        accepts_request = can_advance and set_index != NONE
        if accepts_request:
            self._enter(WORDS * pipeline.enter(now), set_index, now)
        if is_answering:
            blocked = self._answer()
        accepts_line = self.answering < 0 and self.memory_replies.can_pop()
        if accepts_line:
            self._take_line()
        if accepts_request or accepts_line or (is_due and can_advance) or (is_answering and blocked is None):
            return self.busy(now + 1)
        if pipeline.filled > 0 and can_advance:
            return self.busy(pipeline.due())
        return self._wait(blocked)

    def held_requests(self) -> list[HeldRequest]:  # C: def
        """Return the requests in the pipeline, and the requests that wait for a line."""
        requests = []
        for age in range(self.pipeline.filled):
            base = WORDS * ((self.pipeline.oldest + age) % self.pipeline.depth)
            fields = self.records[base + OPERATION], self.records[base + TAG], self.records[base + ADDRESS]
            requests.append(HeldRequest(*fields, "in the pipeline of the bank"))
        for miss in range(self.misses.registers):
            if self.misses.lines[miss] >= 0:
                requests += self._waiting_for(miss)
        return requests

    def _waiting_for(self, miss: int) -> list[HeldRequest]:  # C: def
        """Return the requests that wait for the line of a miss."""
        has_arrived, tags = miss == self.answering, self.misses.tags_of(miss)
        location = f"its line {'has come' if has_arrived else 'is fetched'}, as miss {miss}"
        forwarded = None if has_arrived else self.tag_base | miss
        address = self.misses.lines[miss] * self.line_bytes
        return [HeldRequest(operation, tag, address, location, None, forwarded) for operation, tag in tags]

    def _wait(self, blocked: Channel | None) -> int:
        """Wait for the channel that blocks the bank, or else for a line from memory."""
        if blocked is None and self.misses.used == 0:
            return self.idle()
        if blocked is None or blocked is self.memory_replies:
            return self.wait_input(self.memory_replies)
        return self.wait_output(blocked)

    def _set_to_enter(self) -> int:  # C: noexcept
        """Return the set of the head of ``requests``, or ``NONE`` if this request cannot be accepted."""
        if not self.requests.can_pop():
            return NONE
        set_index = self.sets.set_of(self.requests.reference() // self.line_bytes)
        for slot in range(self.pipeline.depth):
            if self.records[WORDS * slot + SET] == set_index:
                return NONE
        return set_index if self.tags.in_flight[set_index] < self.tags.ways else NONE

    def _enter(self, base: int, set_index: int, now: int) -> None:
        """Accept the head of ``requests`` and look up its line, whose set cannot change meanwhile."""
        operation = self.requests.control()
        if operation < READ or operation > WRITE_UNREAD:
            fault = f"no operation {operation}; see OPERATIONS of hw.memory.protocol"
            raise SimulationError(f"{self.requests.name}: {fault}")
        address = self.requests.reference()
        entry = self.tags.find(set_index, address // self.line_bytes)
        self.records[base + PRESENT] = entry >= 0
        if entry < 0 and operation not in (CONSUME, WRITE_THROUGH):
            entry = self.tags.victim(set_index)
            if self.policy is not None and entry >= 0 and self.tags.lines[entry] != NONE:
                entry = self.policy.choose_entry(self.tags, set_index)
        self.records[base + OPERATION] = operation
        self.records[base + TAG] = self.requests.coordinate()
        self.records[base + ADDRESS] = address
        self.records[base + SET] = set_index
        self.records[base + ENTRY] = entry
        self.requests.pop()
        if self.policy is not None:
            self.policy.requested(address // self.line_bytes, operation, now)

    def _take_line(self) -> None:
        """Pop a line from memory; its register stays occupied until all its targets are answered."""
        miss = self.memory_replies.coordinate() & TAG_MASK
        if miss >= self.misses.registers or self.misses.lines[miss] < 0:
            raise SimulationError(f"{self.memory_replies.name}: a line that was not requested (miss {miss})")
        self.memory_replies.pop()
        self.answering = miss

    def _answer(self) -> Channel | None:
        """Answer one target of the line that arrived; return the channel that blocks the reply, if any."""
        miss = self.answering
        if self.misses.first_target[miss] >= 0:
            if not self.replies.can_push():
                return self.replies
            target = self.misses.next_target(miss)
            address = self.misses.lines[miss] * self.line_bytes
            self.replies.push(self.misses.operations[target], self.misses.target_tags[target], address)
        if self.misses.first_target[miss] < 0:
            if self.misses.entries[miss] >= 0:
                self.tags.arrive(self.misses.entries[miss])
            self.misses.release(miss)
            self.answering = -1
        return None

    def _decide(self) -> Channel | None:
        """Process the oldest request of the pipeline; return the channel that blocks it, if any."""
        base = self.decided = WORDS * self.pipeline.oldest
        operation, entry = self.records[base + OPERATION], self.records[base + ENTRY]
        present = self.records[base + PRESENT]
        if operation == WRITE_THROUGH:
            return self._pass_write()
        if present and self.tags.pending[entry] >= 0:
            return self._join(operation, entry)
        if present:
            return self._hit(operation, entry)
        if operation in (WRITE, WRITE_UNREAD):
            return self._allocate(operation, entry)
        return self._miss(operation, entry)

    def _pass_write(self) -> Channel | None:
        """Send a write-through to memory; the tags are not changed, even if the line is present."""
        if not self.memory_requests.can_push():
            return self.memory_requests
        self.memory_requests.push(WRITE, self.tag_base, self.records[self.decided + ADDRESS])
        self.writes_through += 1
        return None

    def _hit(self, operation: int, entry: int) -> Channel | None:
        """Apply a request to its present line, and reply unless it is a fetch."""
        if operation == FETCH:
            self.tags.record_fetch(entry)
            self.fetch_hits += 1
            return None
        if not self.replies.can_push():
            return self.replies
        self._reply(operation)
        if operation == READ:
            self.tags.record_read(entry)
            self.read_hits += 1
        elif operation == CONSUME:
            self.tags.drop(entry)
            self.consume_hits += 1
        else:
            self.tags.dirty[entry] = 1
            self.write_hits += 1
        return None

    def _reply(self, operation: int) -> None:
        self.replies.push(operation, self.records[self.decided + TAG], self.records[self.decided + ADDRESS])

    def _join(self, operation: int, entry: int) -> Channel | None:
        """Add a request to the miss of its line, unless the line is popped from memory in this cycle."""
        if operation == FETCH:
            self.tags.record_fetch(entry)
            self.fetch_hits += 1
            return None
        miss = self.tags.pending[entry]
        if operation in (WRITE, WRITE_UNREAD) or not self.misses.can_wait() or self._is_arriving(miss):
            return self.memory_replies  # all three waits end only after a line has arrived
        self.misses.wait(miss, operation, self.records[self.decided + TAG])
        if operation == CONSUME:
            self.tags.drop(entry)
            self.misses.entries[miss] = NONE
            self.consume_joins += 1
        else:
            self.tags.record_read(entry)
            self.read_joins += 1
        return None

    def _is_arriving(self, miss: int) -> bool:  # C: noexcept
        """Return whether the line of a miss is at the head of ``memory_replies``."""
        return self.memory_replies.can_pop() and self.memory_replies.coordinate() & TAG_MASK == miss

    def _allocate(self, operation: int, entry: int) -> Channel | None:
        """Allocate the line of a write that misses, without fetching it."""
        if not self.replies.can_push():
            return self.replies
        if self.tags.dirty[entry] and not self.memory_requests.can_push():
            return self.memory_requests
        self._evict(entry)
        self.tags.fill(entry, self._line(), 1 if operation == WRITE else 0)  # expected reads
        self.tags.dirty[entry] = 1
        self._reply(operation)
        self.write_misses += 1
        return None

    def _line(self) -> int:  # C: noexcept
        return self.records[self.decided + ADDRESS] // self.line_bytes

    def _miss(self, operation: int, entry: int) -> Channel | None:
        """Request the line of a read, fetch or consume that misses; a line to consume gets no entry."""
        if self.misses.is_full() or (operation != FETCH and not self.misses.can_wait()):
            return self.memory_replies
        if not self.memory_requests.fits(2 if entry >= 0 and self.tags.dirty[entry] else 1):
            return self.memory_requests
        if entry >= 0:
            self._evict(entry)
            self.tags.fill(entry, self._line(), 1 if operation == FETCH else 0)
        miss = self.misses.allocate(self._line(), entry)
        if entry >= 0:
            self.tags.mark_in_flight(entry, miss)
        self._request_line(operation, miss)
        return None

    def _request_line(self, operation: int, miss: int) -> None:
        """Request the line of a new miss from memory; a read or consume becomes its first target."""
        self.memory_requests.push(READ, self.tag_base | miss, self.misses.lines[miss] * self.line_bytes)
        if operation == FETCH:
            self.fetch_misses += 1
        else:
            self.misses.wait(miss, operation, self.records[self.decided + TAG])
            if operation == CONSUME:
                self.consume_misses += 1
            else:
                self.read_misses += 1

    def _evict(self, entry: int) -> None:
        """Count the eviction of a victim and write it back if it is dirty; the tags still hold the victim."""
        if self.tags.lines[entry] >= 0:
            self.evictions += 1
        if self.tags.dirty[entry]:
            self.write_backs += 1
            self.memory_requests.push(WRITE, self.tag_base, self.tags.lines[entry] * self.line_bytes)

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of ``SIGNALS``.

        - ``hits``, ``joins``, ``misses``: requests so far whose line was present, in flight, or neither;
        - ``in_flight``: occupied miss registers;
        - ``answering``: 1 while targets are answered; ``held``: lines held or in flight;
        - ``evictions``: lines evicted so far.
        """
        values[0] = self.read_hits + self.fetch_hits + self.consume_hits + self.write_hits
        values[1] = self.read_joins + self.consume_joins
        values[2] = self.read_misses + self.fetch_misses + self.consume_misses + self.write_misses
        values[3] = self.misses.used
        values[4] = self.answering >= 0
        values[5] = self.tags.held
        values[6] = self.evictions
