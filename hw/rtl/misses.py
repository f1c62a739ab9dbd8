"""Miss status holding registers as RTL: the twin of ``hw.misses``."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from hw.rtl.kit.twin import Signal, index_bits, named

OPERATION_BITS = 2  # of what waits for a line: a read or a consume


def memory(name: str, bits: int, entries: int, *, reads: int = 1) -> Signal:
    """A memory that is read in the cycle of its address and has one port to write; never reset."""
    return pyrtl.MemBlock(
        bits, index_bits(entries), name, max_read_ports=reads, max_write_ports=1, asynchronous=True
    )


def write(block: Signal, address: Signal, data: Signal, enable: Signal) -> None:
    """Write at the end of the cycle if enabled."""
    block[address] <<= pyrtl.MemBlock.EnabledWrite(data, enable)


class FreeList:
    """Numbers below a count, to take and to give back; the one given back last is the next to take.

    At first they go out in their order. So that no memory needs contents after a reset, those never taken
    are a counter, and those given back a stack upon them.

    ``available`` says whether there is one, ``next`` which.
    """

    def __init__(self, name: str, count: int) -> None:
        bits = count.bit_length()
        self._name = name
        self._untaken: Signal = pyrtl.Register(bits, f"untaken_{name}")
        self._depth: Signal = pyrtl.Register(bits, f"freed_{name}_depth")
        self._stack = memory(f"freed_{name}", index_bits(count), count)
        self._index = index_bits(count)
        self._stacked = named(f"freed_{name}_left", self._depth != 0)
        self._top = (self._depth - 1)[: self._index]
        self.available: Signal = named(f"{name}_available", self._stacked | (self._untaken != count))
        self.next: Signal = named(
            f"next_of_{name}",
            pyrtl.select(self._stacked, self._stack[self._top], self._untaken[: self._index]),
        )

    def update(self, take: Signal, give: Signal, given: Signal) -> None:
        """Take ``next``, or give a number back; never both in a cycle."""
        bits = len(self._depth)
        again = named(f"{self._name}_taken_again", take & self._stacked)
        first = named(f"{self._name}_first_taken", take & ~self._stacked)
        self._untaken.next <<= (self._untaken + first)[:bits]
        self._depth.next <<= pyrtl.select(give, self._depth + 1, self._depth - again)[:bits]
        write(self._stack, self._depth[: self._index], given, give)


@dataclass(frozen=True)
class Queue:
    """The targets of a miss: whether there are any, whether one consumes the line, the oldest of them."""

    waiting: Signal
    consumed: Signal
    first: Signal
    last: Signal
    operation: Signal
    tag: Signal

    @property
    def only(self) -> Signal:
        """Whether the oldest is also the last; only if there are any."""
        return self.first == self.last


@dataclass(frozen=True)
class MissChanges:
    """What happens to the misses in a cycle; at most one of ``opened``, ``joined``, ``answered``, ``closed``.

    Except that the last answer closes. ``waits`` says that the request that opens or joins is a target.
    """

    opened: Signal
    joined: Signal
    answered: Signal
    closed: Signal
    placed: Signal  # of one opened: its line has a place in the tags
    line: Signal
    waits: Signal
    consume: Signal
    operation: Signal
    tag: Signal


class MissTable:
    """Lines in flight, and who waits for each, in the order of arrival.

    A miss has a line and whether that has a place in the tags; a queue of targets, linked as in the component
    (``following``). Each of these memories is read and written once a cycle at the most.

    Args:
        misses: lines in flight at once.
        targets: requests that wait, over all misses.
        line_bits: of a line's number.
        tag_bits: of a request's tag.
    """

    def __init__(self, misses: int, targets: int, line_bits: int, tag_bits: int) -> None:
        self.miss_bits, self.target_bits = index_bits(misses), index_bits(targets)
        self._free_misses = FreeList("misses", misses)
        self._free_targets = FreeList("targets", targets)
        self._lines = memory("miss_lines", 1 + line_bits, misses)
        self._queues = memory("miss_queues", 2 + 2 * self.target_bits, misses)
        self._targets = memory("targets", OPERATION_BITS + tag_bits, targets)
        self._following = memory("following", self.target_bits, targets)
        self.next: Signal = self._free_misses.next
        self.available: Signal = self._free_misses.available
        self.can_wait: Signal = self._free_targets.available

    def line(self, miss: Signal) -> tuple[Signal, Signal]:
        """The line of a miss, and whether it has a place."""
        entry = named("miss_line_entry", self._lines[miss])
        return named("miss_line", entry[1:]), named("miss_placed", entry[0])

    def queue(self, miss: Signal) -> Queue:
        """The targets of a miss; of the one that ``update`` is about, unless it opens one."""
        bits = self.target_bits
        entry = named("queue_entry", self._queues[miss])
        first = named("first_target", entry[2 : 2 + bits])
        target = named("target_entry", self._targets[first])
        self._miss = miss
        self._queue = Queue(
            waiting=named("targets_wait", entry[0]),
            consumed=named("line_consumed", entry[1]),
            first=first,
            last=named("last_target", entry[2 + bits :]),
            operation=named("target_operation", target[:OPERATION_BITS]),
            tag=named("target_tag", target[OPERATION_BITS:]),
        )
        return self._queue

    def update(self, changes: MissChanges) -> None:
        """Change the table at the end of the cycle."""
        queue, target = self._queue, self._free_targets.next
        added = named("target_added", changes.waits & (changes.opened | changes.joined))
        behind = named("target_behind", queue.waiting & ~changes.opened)  # there is one to stand behind
        entry = pyrtl.concat(
            pyrtl.select(changes.answered, queue.last, target),
            pyrtl.select(
                changes.answered, self._following[queue.first], pyrtl.select(behind, queue.first, target)
            ),
            (changes.consume & added) | (queue.consumed & ~changes.opened),
            pyrtl.select(changes.answered, ~queue.only, added | behind),
        )
        at = named("miss_changed", pyrtl.select(changes.opened, self.next, self._miss))
        write(self._lines, at, pyrtl.concat(changes.line, changes.placed), changes.opened)
        write(self._queues, at, entry, changes.opened | added | changes.answered)
        write(self._targets, target, pyrtl.concat(changes.tag, changes.operation), added)
        write(self._following, queue.last, target, added & behind)
        self._free_misses.update(changes.opened, changes.closed, self._miss)
        self._free_targets.update(added, changes.answered, queue.first)
