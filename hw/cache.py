"""FiberCache: a banked cache with explicit fetches, read-once partial lines and priority replacement."""

from __future__ import annotations

from dataclasses import dataclass

from hw.memory import (
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
)
from hw.misses import MissTable
from hw.tags import TagStore
from sim.channel import Channel
from sim.component import Component, Input, Output, Signal
from sim.errors import SimulationError

# The least and the most of each number of a specification.
LIMITS = {
    "banks": (1, 4096),
    "sets": (1, 1 << 22),
    "ways": (1, 1024),
    "line_bytes": (2, 4096),
    "misses": (1, 4096),
    "targets": (1, 65536),
    "priority_limit": (0, (1 << 16) - 1),
    "reuse_limit": (1, (1 << 8) - 1),
}


@dataclass(frozen=True)
class FiberCacheSpecification:
    """A FiberCache's geometry and policies, per bank where not said otherwise.

    Args:
        banks: banks of the whole cache; lines are interleaved over them.
        sets: sets of one bank.
        ways: ways of a set.
        line_bytes: bytes of a line.
        misses: misses in flight (miss status holding registers).
        targets: reads that wait for lines in flight.
        priority_limit: where a line's count of reads to come saturates; 0 for SRRIP alone.
        reuse_limit: largest re-reference prediction value of SRRIP, 3 for its two bits.

    Raises:
        ValueError: if a number is out of its ``LIMITS``.
    """

    banks: int
    sets: int
    ways: int
    line_bytes: int = 64
    misses: int = 16
    targets: int = 64
    priority_limit: int = 15
    reuse_limit: int = 3

    def __post_init__(self) -> None:
        """Refuse what no cache can have."""
        for name, (least, most) in LIMITS.items():
            number = getattr(self, name)
            if not least <= number <= most:
                raise ValueError(f"FiberCache: {name} must be from {least} to {most}, not {number}")


class FiberCacheBank(Component):
    """One bank; serves one request or one fill a cycle.

    Interface: requests come in on ``requests`` and are answered on ``replies`` (protocol in ``hw.memory``);
    line reads and write-backs leave on ``memory_requests``, lines come back on ``memory_replies``.

    - ``READ`` answers with the line; the line's priority falls by one.
    - ``FETCH`` brings the line in without an answer; its priority rises by one.
    - ``WRITE`` puts a whole line into the cache without fetching it, and acknowledges. The line
      awaits one read: its priority is one.
    - ``WRITE_UNREAD`` is a write of a line that awaits no read; its priority is zero.
    - ``CONSUME`` reads for the last time: the line is dropped and never written back.
    - ``WRITE_THROUGH`` passes a whole line on to memory; a copy in the cache stays as it is.

    A miss does not block later requests while a register for misses in flight, a target and a way are to be
    had; requests to a line in flight join it. The victim is the line of the lowest priority, a clean
    one before a dirty one, which would cost a write as well, and by SRRIP among equals. A dirty victim is
    written back.

    Timing: a hit is answered in the cycle in which it is seen; the bank's latency is the latency of the
    channel at ``replies``. A fill takes the cycle in which the line comes back and answers one waiting
    request a cycle, the first in that same cycle. Lines are taken before requests are served, and only a full
    channel at ``replies`` holds them up: a requester must take its replies in the end.

    Source: Gamma (ASPLOS 2021) for operations, priorities and SRRIP; line size, misses in flight and the
    widths of the counts are choices of this model.

    Args:
        name: instance name.
        specification: geometry and policies.
        port: the bank's number on the network to memory.

    Raises:
        SimulationError: when built, if the channel at ``memory_requests`` has a capacity below 2; in the run,
            if a request has no known operation or memory sends a line that was not asked for.
    """

    PORTS = (
        Input("requests", REQUEST),
        Output("replies", REPLY),
        Output("memory_requests", REQUEST),
        Input("memory_replies", REPLY),
    )
    # By operation: the line was here, in flight (a fetch then hits), or had to be asked for.
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

    requests: Channel
    replies: Channel
    memory_requests: Channel
    memory_replies: Channel

    def __init__(self, name: str, specification: FiberCacheSpecification, port: int) -> None:
        super().__init__(name)
        self.specification = specification
        self.line_bytes = specification.line_bytes
        self.banks = specification.banks
        self.tag_base = port << PORT_SHIFT
        self.tags = TagStore(
            specification.sets, specification.ways, specification.priority_limit, specification.reuse_limit
        )
        self.misses = MissTable(specification.misses, specification.targets)
        self.answering = -1  # the miss whose line has come and whose targets are being answered
        self.read_hits = self.read_joins = self.read_misses = 0
        self.fetch_hits = self.fetch_misses = 0
        self.write_hits = self.write_misses = 0
        self.consume_hits = self.consume_joins = self.consume_misses = 0
        self.evictions = self.write_backs = self.writes_through = 0

    def elaborate(self) -> None:
        """Fetch the channels, and check the size of that towards memory."""
        super().elaborate()
        if self.memory_requests.capacity < 2:
            raise SimulationError(
                f"{self.memory_requests.name}: a bank needs a capacity of at least 2 towards memory, not "
                f"{self.memory_requests.capacity}: a line read and the victim written back leave together"
            )

    def tick(self, now: int) -> int:
        """Answer a target of a line that came, take a line or serve a request."""
        if self.answering < 0 and self.memory_replies.can_pop():
            self._fill()
            if self.answering < 0:
                return self.busy(now + 1)
        if self.answering >= 0:
            return self._answer(now)
        if not self.requests.can_pop():
            return self.wait_input(self.memory_replies) if self.misses.used > 0 else self.idle()
        blocked = self._serve()
        if blocked is None:
            self.requests.pop()
            return self.busy(now + 1)
        if blocked is self.memory_replies:
            return self.wait_input(blocked)
        return self.wait_output(blocked)

    def _fill(self) -> None:
        """Take a line from memory; its register stays until its targets are answered."""
        miss = self.memory_replies.coordinate() & TAG_MASK
        if miss >= self.misses.registers or self.misses.lines[miss] < 0:
            raise SimulationError(f"{self.memory_replies.name}: a line that was not asked for (miss {miss})")
        self.memory_replies.pop()
        place = self.misses.places[miss]
        if place >= 0:
            self.tags.pending[place] = -1
        if self.misses.first[miss] >= 0:
            self.answering = miss
        else:
            self.misses.close(miss)

    def _answer(self, now: int) -> int:
        """Answer one of the requests that waited for the line that came."""
        if not self.replies.can_push():
            return self.wait_output(self.replies)
        miss = self.answering
        target = self.misses.next_target(miss)
        address = self.misses.lines[miss] * self.line_bytes
        self.replies.push(self.misses.operations[target], self.misses.target_tags[target], address)
        if self.misses.first[miss] < 0:
            if self.misses.consumed[miss] and self.misses.places[miss] >= 0:
                self.tags.drop(self.misses.places[miss])
            self.misses.close(miss)
            self.answering = -1
        return self.busy(now + 1)

    def _serve(self) -> Channel | None:
        """Serve the request at the head; returns the channel it has to wait for, if it cannot be served."""
        operation = self.requests.control()
        if operation == WRITE_THROUGH:
            return self._pass_write()
        if operation < READ or operation > WRITE_UNREAD:
            raise SimulationError(f"{self.requests.name}: no operation {operation}; see hw.memory.OPERATIONS")
        line = self.requests.reference() // self.line_bytes
        set_index = line // self.banks % self.tags.sets
        place = self.tags.find(set_index, line)
        if place >= 0 and self.tags.pending[place] >= 0:
            return self._join(operation, place)
        if place >= 0:
            return self._hit(operation, place)
        if operation in (WRITE, WRITE_UNREAD):
            return self._allocate(operation, line, set_index)
        return self._miss(operation, line, set_index)

    def _pass_write(self) -> Channel | None:
        if not self.memory_requests.can_push():
            return self._wait_for_memory(1)
        self.memory_requests.push(WRITE, self.tag_base, self.requests.reference())
        self.writes_through += 1
        return None

    def _hit(self, operation: int, place: int) -> Channel | None:
        if operation == FETCH:
            self.tags.note_fetch(place)
            self.fetch_hits += 1
            return None
        if not self.replies.can_push():
            return self.replies
        self._reply(operation)
        if operation == READ:
            self.tags.note_read(place)
            self.read_hits += 1
        elif operation == CONSUME:
            self.tags.drop(place)
            self.consume_hits += 1
        else:
            self.tags.dirty[place] = 1
            self.write_hits += 1
        return None

    def _reply(self, operation: int) -> None:
        self.replies.push(operation, self.requests.coordinate(), self.requests.reference())

    def _join(self, operation: int, place: int) -> Channel | None:
        """A request to a line that is in flight."""
        if operation == FETCH:
            self.tags.note_fetch(place)
            self.fetch_hits += 1
            return None
        if operation in (WRITE, WRITE_UNREAD) or not self.misses.can_wait():
            return self.memory_replies
        miss = self.tags.pending[place]
        self.misses.wait(miss, operation, self.requests.coordinate())
        if operation == CONSUME:
            self.misses.consumed[miss] = 1
            self.consume_joins += 1
        else:
            self.tags.note_read(place)
            self.read_joins += 1
        return None

    def _allocate(self, operation: int, line: int, set_index: int) -> Channel | None:
        """A write to a line that is not here: it takes a place without being fetched."""
        place = self.tags.victim(set_index)
        if place < 0:
            return self.memory_replies
        if not self.replies.can_push():
            return self.replies
        if self.tags.dirty[place] and not self.memory_requests.can_push():
            return self._wait_for_memory(1)
        self._evict(place)
        self.tags.place_line(place, line, 1 if operation == WRITE else 0)  # the reads that it awaits
        self.tags.dirty[place] = 1
        self._reply(operation)
        self.write_misses += 1
        return None

    def _miss(self, operation: int, line: int, set_index: int) -> Channel | None:
        """A read, fetch or consume of a line that is not here."""
        if self.misses.full() or (operation != FETCH and not self.misses.can_wait()):
            return self.memory_replies
        place = -1 if operation == CONSUME else self.tags.victim(set_index)
        if place < 0 and operation != CONSUME:
            return self.memory_replies
        slots = 2 if place >= 0 and self.tags.dirty[place] else 1
        if self.memory_requests.space() < slots:
            return self._wait_for_memory(slots)
        if place >= 0:
            self._evict(place)
            self.tags.place_line(place, line, 1 if operation == FETCH else 0)
        miss = self.misses.open(line, place)
        if place >= 0:
            self.tags.pending[place] = miss
        self._ask(operation, miss)
        return None

    def _ask(self, operation: int, miss: int) -> None:
        """Ask memory for the line of a new miss, whose first target is the request at the head."""
        self.memory_requests.push(READ, self.tag_base | miss, self.misses.lines[miss] * self.line_bytes)
        if operation == FETCH:
            self.fetch_misses += 1
        else:
            self.misses.wait(miss, operation, self.requests.coordinate())
            if operation == CONSUME:
                self.consume_misses += 1
            else:
                self.read_misses += 1

    def _evict(self, place: int) -> None:
        """Write the victim back if it is dirty; the tags forget it when the place is given away."""
        if self.tags.lines[place] >= 0:
            self.evictions += 1
        if self.tags.dirty[place]:
            self.write_backs += 1
            self.memory_requests.push(WRITE, self.tag_base, self.tags.lines[place] * self.line_bytes)

    def _wait_for_memory(self, slots: int) -> Channel:
        self.memory_requests.want(slots)
        return self.memory_requests

    def sample(self) -> tuple[int, ...]:
        """Requests so far by what they found, misses in flight, lines.

        - ``hits``, ``joins``, ``misses``: the line was here, in flight, or had to be asked for;
        - ``in_flight``: misses that hold a register; ``answering``: one whose line came answers its targets;
        - ``held``: lines, those in flight included; ``evictions``: lines that had to leave, so far.
        """
        return (
            self.read_hits + self.fetch_hits + self.consume_hits + self.write_hits,
            self.read_joins + self.consume_joins,
            self.read_misses + self.fetch_misses + self.consume_misses + self.write_misses,
            self.misses.used,
            int(self.answering >= 0),
            self.tags.held,
            self.evictions,
        )
