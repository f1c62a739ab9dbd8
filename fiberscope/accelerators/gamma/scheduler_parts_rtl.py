"""Parts of the scheduler as RTL: memories, counters and queues that change several times in a cycle."""

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
        writes: writes in a cycle, each to another word.
    """

    def __init__(self, name: str, entries: int, bits: int, writes: Sequence[Write]) -> None:
        self._words = pyrtl.MemBlock(
            bits, index_bits(entries), name, max_read_ports=None, max_write_ports=None, asynchronous=True
        )
        self._writes = writes
        for enable, place, word in writes:
            self._words[place] <<= pyrtl.MemBlock.EnabledWrite(word, enable)

    def __getitem__(self, place: Signal) -> Signal:
        """Return the word at an address, including a write of this cycle."""
        hits = [enable & (written == place) for enable, written, _word in self._writes]
        now = chosen(hits, [word for _enable, _place, word in self._writes])
        return pyrtl.select(pyrtl.concat_list(hits) != 0, now, pyrtl.as_wires(self._words[place]))


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

    def down(self, asks: Sequence[tuple[Signal, Signal]]) -> list[Signal]:
        """Count down, and return for each request whether its counter reaches 0 by it; call this once.

        Args:
            asks: enable and address of each request.
        """
        places = [place[: self._words.addrwidth] for _ask, place in asks]
        ended = []
        for i, (ask, _place) in enumerate(asks):
            same = [other & (places[j] == places[i]) for j, (other, _place) in enumerate(asks)]
            left = pyrtl.as_wires(self._words[places[i]])
            before = ones_of(pyrtl.concat_list(same[: i + 1]))  # requests of this counter up to this one
            ended.append(ask & (left == before))
            last = ask & ~reduce(or_, same[i + 1 :], pyrtl.Const(0, 1))
            self._write(i, last, places[i], (left - before)[: len(left)])
        return ended

    def _write(self, i: int, enable: Signal, place: Signal, word: Signal) -> None:
        """Write a counter; the port of the first request also writes the loads."""
        if i == 0:
            loads, address, loaded = self._load
            place = pyrtl.select(loads, address[: len(place)], place)
            enable, word = loads | enable, pyrtl.select(loads, loaded[: len(word)], word)
        self._words[place] <<= pyrtl.MemBlock.EnabledWrite(word, enable)


class Queue:
    """A first-in-first-out queue that takes several words in a cycle and never overflows.

    Args:
        name: name of the memory, and end of the names of the registers.
        entries: number of words in the memory, at least the number of words that may wait.
        pushes: enable and word of each push of a cycle, in the order of the queue.

    Attributes:
        waits: 1 if a word waits, including the pushes of this cycle.
        word: the oldest word.
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
        for flag, word, before in zip(flags, words, [pyrtl.Const(0, 1), *counts], strict=False):
            place = (tail + before)[: memory.addrwidth]
            memory[place] <<= pyrtl.MemBlock.EnabledWrite(word, flag)
        empty = alias(f"empty_{name}", self._head == tail)
        self.waits = alias(f"waits_{name}", ~empty | (counts[-1] != 0))
        oldest = memory[self._head[: memory.addrwidth]]
        self.word = pyrtl.select(empty, chosen(lowest(flags), words), oldest)

    def pop(self, taken: Signal) -> None:
        """Remove the oldest word if ``taken`` is 1; call this once."""
        self._head.next <<= (self._head + taken)[: len(self._head)]


class WaitingTasks:
    """Tasks that wait for their lines; the oldest task whose lines have arrived leaves first.

    Args:
        entries: capacity in tasks.
        pushes: enable, task, and number of lines of A that must have arrived since the start of the run, of
            each push of a cycle.
        arrived: number of lines of A that have arrived since the start of the run.

    Attributes:
        oldest_goes: 1 if the lines of the oldest task have arrived.
        any_goes: 1 if the lines of any task have arrived.
        word: the oldest task whose lines have arrived.
    """

    def __init__(
        self, entries: int, pushes: Sequence[tuple[Signal, Signal, Signal]], arrived: Signal
    ) -> None:
        flags = [flag for flag, _task, _needed in pushes]
        words = [pyrtl.concat(needed, task) for _flag, task, needed in pushes]
        self._count: Signal = pyrtl.Register(entries.bit_length(), "merging_count")
        counts = ones_up_to(flags)
        self._left = alias("merging_left", (self._count + counts[-1])[: len(self._count)])
        self._held = [DataRegister(len(words[0]), f"merging_{i:03}") for i in range(entries)]
        self._seen: list[Signal] = list(self._held)
        for flag, word, before in zip(flags, words, [pyrtl.Const(0, 1), *counts], strict=False):
            at = [flag & (self._count + before == i) for i in range(entries)]
            self._seen = [pyrtl.select(here, word, entry) for here, entry in zip(at, self._seen, strict=True)]
        bits = len(pushes[0][1])
        goes = [(self._left > i) & (entry[bits:] <= arrived) for i, entry in enumerate(self._seen)]
        self._first = lowest(goes)
        self.oldest_goes, self.any_goes = goes[0], alias("merging_goes", pyrtl.concat_list(goes) != 0)
        self.word = chosen(self._first, [entry[:bits] for entry in self._seen])

    def pop(self, taken: Signal) -> None:
        """Remove ``word`` if ``taken`` is 1, and move the tasks behind it up; call this once."""
        before = all_up_to([~first for first in self._first])
        following = [*self._seen[1:], self._seen[-1]]
        for held, stays, entry, other in zip(self._held, before, self._seen, following, strict=True):
            held.next <<= pyrtl.select(taken & ~stays, other, entry)
        self._count.next <<= (self._left - taken)[: len(self._count)]


class Window:
    """Requests in flight as RTL, the twin of ``fiberscope.hw.memory.window``.

    Args:
        size: greatest number of requests in flight.
        count_bits: width of the numbers of requests in bits.
        replied, slot: 1 if a reply arrives, and the slot of its request.

    Attributes:
        arrived: number of the first requests that all have a reply, including the reply of this cycle.
        before: the same without the reply of this cycle.
        sent: number of requests that were sent before this cycle.
        slot: slot of the next request.
    """

    def __init__(self, size: int, count_bits: int, replied: Signal, slot: Signal) -> None:
        self._size = size
        oldest: Signal = pyrtl.Register(index_bits(size), "oldest_slot")
        self.slot: Signal = pyrtl.Register(len(oldest), "next_slot")
        self.sent: Signal = pyrtl.Register(count_bits, "sent")
        self.before: Signal = pyrtl.Register(count_bits, "arrived")
        here: Signal = pyrtl.Register(size, "here")
        place = self._around(slot[: len(oldest)] + size - oldest)
        came = alias("came", here | unless(~replied, decoded(place, size)))
        fills = alias("fills", replied & (slot[: len(oldest)] == oldest))
        gaps = [*(~flag for flag in list(here)[1:]), pyrtl.Const(1, 1)]
        run = chosen(lowest(gaps), [pyrtl.Const(i, size.bit_length()) for i in range(1, size + 1)])
        here.next <<= pyrtl.select(fills, pyrtl.shift_right_logical(here, run), came)
        oldest.next <<= pyrtl.select(fills, self._around(oldest + run), oldest)
        self.arrived = alias(
            "arrived_now", pyrtl.select(fills, (self.before + run)[:count_bits], self.before)
        )
        self.before.next <<= self.arrived

    def send(self, sends: Signal) -> None:
        """Count a request if ``sends`` is 1; call this once."""
        self.sent.next <<= (self.sent + sends)[: len(self.sent)]
        self.slot.next <<= self._around(self.slot + sends)

    def _around(self, number: Signal) -> Signal:
        """Return a number below twice the number of slots, modulo the number of slots."""
        bits = index_bits(self._size)
        return pyrtl.select(number >= self._size, (number - self._size)[:bits], number[:bits])
