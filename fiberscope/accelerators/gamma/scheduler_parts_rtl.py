"""Parts of the scheduler as RTL: memories, counters, queues and the window of requests in flight."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

import pyrtl

from fiberscope.hw.rtl.kit.trees import all_up_to, chosen, decoded, lowest, ones_of, ones_up_to
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, alias, index_bits, unless

Write = tuple[Signal, Signal, Signal]  # enable, address and word of a write to a memory


class Completion(NamedTuple):
    """Completion of a task in a cycle.

    Args:
        flag: 1 if a task completes.
        task: number of the task.
        word: fields of the task in the table of tasks.
        length: number of elements of the fiber that the task made.
    """

    flag: Signal
    task: Signal
    word: dict[str, Signal]
    length: Signal


class ForwardingMemory:
    """A memory that forwards: a read sees the write of the same cycle.

    Args:
        name: name of the memory.
        entries, bits: number of words, and width of a word in bits.
        writes: writes of a cycle; the addresses of enabled writes must differ.
    """

    def __init__(self, name: str, entries: int, bits: int, writes: Sequence[Write]) -> None:
        self._words = pyrtl.MemBlock(
            bits, index_bits(entries), name, max_read_ports=None, max_write_ports=None, asynchronous=True
        )
        self._writes = writes
        for enable, address, word in writes:
            self._words[address] <<= pyrtl.MemBlock.EnabledWrite(word, enable)

    def __getitem__(self, address: Signal) -> Signal:
        """Return the word at an address, including a write of this cycle."""
        hits = [enable & (written_address == address) for enable, written_address, _word in self._writes]
        forwarded = chosen(hits, [word for _enable, _address, word in self._writes])
        return pyrtl.select(pyrtl.concat_list(hits) != 0, forwarded, pyrtl.as_wires(self._words[address]))


class Countdowns:
    """A memory of counters, of which several count down in a cycle; one counter may count several times.

    Args:
        name: name of the memory.
        entries, bits: number of counters, and width of a counter in bits.
        load: write that sets a counter, in a cycle in which no counter counts.
    """

    def __init__(self, name: str, entries: int, bits: int, load: Write) -> None:
        self._words = pyrtl.MemBlock(
            bits, index_bits(entries), name, max_read_ports=None, max_write_ports=None, asynchronous=True
        )
        self._load = load

    def decrement(self, requests: Sequence[tuple[Signal, Signal]]) -> list[Signal]:
        """Count down, and return for each request whether it brings its counter to 0; call this once.

        Args:
            requests: enable and address of each request. A counter must be at least the number of its
                requests; it would wrap around without notice.
        """
        addresses = [address[: self._words.addrwidth] for _enable, address in requests]
        reaches_zero = []
        for i, (enable, _address) in enumerate(requests):
            same = [other & (addresses[j] == addresses[i]) for j, (other, _address) in enumerate(requests)]
            count = pyrtl.as_wires(self._words[addresses[i]])
            requests_so_far = ones_of(pyrtl.concat_list(same[: i + 1]))  # of this counter, with this one
            reaches_zero.append(enable & (count == requests_so_far))
            # Only the last request of a counter writes it.
            is_last = enable & ~reduce(or_, same[i + 1 :], pyrtl.Const(0, 1))
            self._write(i, is_last, addresses[i], (count - requests_so_far)[: len(count)])
        return reaches_zero

    def _write(self, i: int, enable: Signal, address: Signal, word: Signal) -> None:
        """Write a counter; the port of the first request also writes the loads."""
        if i == 0:
            loads, load_address, loaded = self._load
            address = pyrtl.select(loads, load_address[: len(address)], address)
            enable, word = loads | enable, pyrtl.select(loads, loaded[: len(word)], word)
        self._words[address] <<= pyrtl.MemBlock.EnabledWrite(word, enable)


class Queue:
    """A first-in-first-out queue that takes several words in a cycle, without a signal that it is full.

    Args:
        name: name of the memory, and end of the names of the registers.
        entries: number of words in the memory; as many words may wait, which nothing checks.
        pushes: enable and word of each push of a cycle, in the order of the queue.

    Attributes:
        has_word: 1 if a word waits, including the pushes of this cycle.
        word: the oldest word; 0 if no word waits.
    """

    def __init__(self, name: str, entries: int, pushes: Sequence[tuple[Signal, Signal]]) -> None:
        flags, words = [flag for flag, _word in pushes], [word for _flag, word in pushes]
        counts = ones_up_to(flags)
        memory = pyrtl.MemBlock(
            len(words[0]), index_bits(entries), name, max_write_ports=len(pushes), asynchronous=True
        )
        tail: Signal = pyrtl.Register(entries.bit_length(), f"tail_{name}")
        self._head: Signal = pyrtl.Register(len(tail), f"head_{name}")
        tail.next <<= (tail + counts[-1])[: len(tail)]
        # The offset of a push is the number of pushes before it, hence the 0; the last count is no offset.
        for flag, word, offset in zip(flags, words, [pyrtl.Const(0, 1), *counts], strict=False):
            address = (tail + offset)[: memory.addrwidth]
            memory[address] <<= pyrtl.MemBlock.EnabledWrite(word, flag)
        empty = alias(f"empty_{name}", self._head == tail)
        self.has_word = alias(f"waits_{name}", ~empty | (counts[-1] != 0))
        oldest = memory[self._head[: memory.addrwidth]]
        self.word = pyrtl.select(empty, chosen(lowest(flags), words), oldest)

    def pop(self, taken: Signal) -> None:
        """Remove the oldest word if ``taken`` is 1, which needs ``has_word``; call this once."""
        self._head.next <<= (self._head + taken)[: len(self._head)]


class WaitingTasks:
    """Tasks that wait for their lines; the oldest task whose lines have arrived leaves first.

    Args:
        entries: capacity in tasks; a task beyond it would be lost without notice.
        pushes: enable, task, and number of lines of A that must have arrived since the start of the run, of
            each push of a cycle.
        arrived: number of lines of A that have arrived since the start of the run.

    Attributes:
        is_oldest_ready: 1 if the lines of the oldest task have arrived.
        is_any_ready: 1 if the lines of any task have arrived.
        word: the oldest task whose lines have arrived.
    """

    def __init__(
        self, entries: int, pushes: Sequence[tuple[Signal, Signal, Signal]], arrived: Signal
    ) -> None:
        flags = [flag for flag, _task, _needed in pushes]
        words = [pyrtl.concat(needed, task) for _flag, task, needed in pushes]
        self._count: Signal = pyrtl.Register(entries.bit_length(), "merging_count")
        counts = ones_up_to(flags)
        self._count_now = alias("merging_left", (self._count + counts[-1])[: len(self._count)])
        # The entries from the oldest on: as registers, and with the pushes of this cycle.
        self._registers = [DataRegister(len(words[0]), f"merging_{i:03}") for i in range(entries)]
        self._entries: list[Signal] = list(self._registers)
        for flag, word, offset in zip(flags, words, [pyrtl.Const(0, 1), *counts], strict=False):
            selects = [flag & (self._count + offset == i) for i in range(entries)]
            pairs = zip(selects, self._entries, strict=True)
            self._entries = [pyrtl.select(selected, word, entry) for selected, entry in pairs]
        bits = len(pushes[0][1])
        is_ready = [
            (self._count_now > i) & (entry[bits:] <= arrived) for i, entry in enumerate(self._entries)
        ]
        self._first = lowest(is_ready)
        self.is_oldest_ready = is_ready[0]
        self.is_any_ready = alias("merging_goes", pyrtl.concat_list(is_ready) != 0)
        self.word = chosen(self._first, [entry[:bits] for entry in self._entries])

    def pop(self, taken: Signal) -> None:
        """Remove ``word`` if ``taken`` is 1, and move the tasks behind it up; call this once."""
        stays = all_up_to([~first for first in self._first])  # 1 for each entry before the removed one
        # Nothing stands behind the last entry, so that its register may get any word.
        next_entries = [*self._entries[1:], self._entries[-1]]
        rows = zip(self._registers, stays, self._entries, next_entries, strict=True)
        for register, stays_here, entry, next_entry in rows:
            register.next <<= pyrtl.select(taken & ~stays_here, next_entry, entry)
        self._count.next <<= (self._count_now - taken)[: len(self._count)]


class Window:
    """Requests in flight as RTL, the twin of ``fiberscope.hw.memory.window.ReorderWindow``.

    Args:
        size: largest number of requests in the window, which the caller must not exceed.
        count_bits: width of the numbers of requests in bits.
        replied, reply_slot: 1 if a reply arrives, and the slot of its request.

    Attributes:
        arrived: number of the first requests that all have a reply, including the reply of this cycle.
        arrived_before: the same without the reply of this cycle.
        sent: number of requests that were sent before this cycle.
        next_slot: slot of the next request.
    """

    def __init__(self, size: int, count_bits: int, replied: Signal, reply_slot: Signal) -> None:
        self._size = size
        oldest: Signal = pyrtl.Register(index_bits(size), "oldest_slot")
        self.next_slot: Signal = pyrtl.Register(len(oldest), "next_slot")
        self.sent: Signal = pyrtl.Register(count_bits, "sent")
        self.arrived_before: Signal = pyrtl.Register(count_bits, "arrived")
        # Bit i is 1 if the request i after the oldest one has a reply. Bit 0 stays 0: the reply of the oldest
        # request is not stored, but shifts out the requests up to the next one without a reply.
        has_reply: Signal = pyrtl.Register(size, "here")
        # Number of requests between the oldest one and the one with a reply
        index = self._around(reply_slot[: len(oldest)] + size - oldest)
        has_reply_now = alias("came", has_reply | unless(~replied, decoded(index, size)))
        is_oldest = alias("fills", replied & (reply_slot[: len(oldest)] == oldest))
        lacks_reply = [*(~flag for flag in list(has_reply)[1:]), pyrtl.Const(1, 1)]
        counts = [pyrtl.Const(i, size.bit_length()) for i in range(1, size + 1)]
        advance = chosen(lowest(lacks_reply), counts)  # requests that leave with the oldest one
        shifted = pyrtl.shift_right_logical(has_reply, advance)
        has_reply.next <<= pyrtl.select(is_oldest, shifted, has_reply_now)
        oldest.next <<= pyrtl.select(is_oldest, self._around(oldest + advance), oldest)
        advanced = (self.arrived_before + advance)[:count_bits]
        self.arrived = alias("arrived_now", pyrtl.select(is_oldest, advanced, self.arrived_before))
        self.arrived_before.next <<= self.arrived

    def send(self, sends: Signal) -> None:
        """Count a request if ``sends`` is 1, which needs a free slot; call this once."""
        self.sent.next <<= (self.sent + sends)[: len(self.sent)]
        self.next_slot.next <<= self._around(self.next_slot + sends)

    def _around(self, number: Signal) -> Signal:
        """Return a number below twice the number of slots, modulo the number of slots."""
        bits = index_bits(self._size)
        return pyrtl.select(number >= self._size, (number - self._size)[:bits], number[:bits])
