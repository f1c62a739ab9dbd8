"""Parts of the scheduler's twin: counts and queues with several changes in a cycle, and a window."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

import pyrtl

from fiberscope.hw.rtl.kit.trees import all_up_to, chosen, decoded, lowest, ones_of, ones_up_to
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, index_bits, named, unless

__all__ = [
    "Completion",
    "Countdowns",
    "Forwarded",
    "Queue",
    "Waiting",
    "Window",
    "Write",
]

Write = tuple[Signal, Signal, Signal]  # to a memory: enable, address, word


class Completion(NamedTuple):
    """Completion of an element in a cycle: whether there is one, of which task, its word and its length."""

    flag: Signal
    task: Signal
    word: dict[str, Signal]
    length: Signal


class Forwarded:
    """Words of a memory that are read in the cycle in which they are written.

    Args:
        name: the name of the memory.
        entries, bits: words and their width.
        writes: those of a cycle, no two of one word.
    """

    def __init__(self, name: str, entries: int, bits: int, writes: Sequence[Write]) -> None:
        self._words = pyrtl.MemBlock(
            bits, index_bits(entries), name, max_read_ports=None, max_write_ports=None, asynchronous=True
        )
        self._writes = writes
        for enable, place, word in writes:
            self._words[place] <<= pyrtl.MemBlock.EnabledWrite(word, enable)

    def __getitem__(self, place: Signal) -> Signal:
        """The word at a place, that of this cycle if one is written there."""
        hits = [enable & (written == place) for enable, written, _word in self._writes]
        now = chosen(hits, [word for _enable, _place, word in self._writes])
        return pyrtl.select(pyrtl.concat_list(hits) != 0, now, pyrtl.as_wires(self._words[place]))


class Countdowns:
    """Words of a memory that are counted down, several in a cycle, the same one too.

    Args:
        name: the name of the memory.
        entries, bits: words and their width.
        load: what fills it, in a cycle in which nothing is counted.
    """

    def __init__(self, name: str, entries: int, bits: int, load: Write) -> None:
        self._words = pyrtl.MemBlock(
            bits, index_bits(entries), name, max_read_ports=None, max_write_ports=None, asynchronous=True
        )
        self._load = load

    def down(self, asks: Sequence[tuple[Signal, Signal]]) -> list[Signal]:
        """For each of these, an enable and a place, whether it brings the word there to 0; once."""
        places = [place[: self._words.addrwidth] for _ask, place in asks]
        ended = []
        for i, (ask, _place) in enumerate(asks):
            same = [other & (places[j] == places[i]) for j, (other, _place) in enumerate(asks)]
            left = pyrtl.as_wires(self._words[places[i]])
            before = ones_of(pyrtl.concat_list(same[: i + 1]))  # this one too
            ended.append(ask & (left == before))
            last = ask & ~reduce(or_, same[i + 1 :], pyrtl.Const(0, 1))
            self._write(i, last, places[i], (left - before)[: len(left)])
        return ended

    def _write(self, i: int, enable: Signal, place: Signal, word: Signal) -> None:
        """The first one's port is that by which all is filled."""
        if i == 0:
            loads, address, loaded = self._load
            place = pyrtl.select(loads, address[: len(place)], place)
            enable, word = loads | enable, pyrtl.select(loads, loaded[: len(word)], word)
        self._words[place] <<= pyrtl.MemBlock.EnabledWrite(word, enable)


class Queue:
    """Words in the order in which they come, several in a cycle; no more in all than there are entries.

    Args:
        name: the name of its memory; its registers' names end so.
        entries: the entries of its memory.
        pushes: an enable and a word each; those of a cycle come in this order.

    ``waits`` says whether there is one, of those that come in this cycle too, and ``word`` is the oldest.
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
        empty = named(f"empty_{name}", self._head == tail)
        self.waits = named(f"waits_{name}", ~empty | (counts[-1] != 0))
        oldest = memory[self._head[: memory.addrwidth]]
        self.word = pyrtl.select(empty, chosen(lowest(flags), words), oldest)

    def pop(self, taken: Signal) -> None:
        """Take the oldest; to be said once."""
        self._head.next <<= (self._head + taken)[: len(self._head)]


class Waiting:
    """Tasks in the order in which they come, several in a cycle; the oldest that has its lines may leave.

    Args:
        entries: as many as may wait.
        pushes: an enable, a task and the lines that it needs each; those of a cycle come in this order.
        arrived: the lines that are there.

    ``oldest_goes`` says whether the oldest has its lines, ``any_goes`` whether one has, and ``word`` is that.
    """

    def __init__(
        self, entries: int, pushes: Sequence[tuple[Signal, Signal, Signal]], arrived: Signal
    ) -> None:
        flags = [flag for flag, _task, _needed in pushes]
        words = [pyrtl.concat(needed, task) for _flag, task, needed in pushes]
        self._count: Signal = pyrtl.Register(entries.bit_length(), "merging_count")
        counts = ones_up_to(flags)
        self._left = named("merging_left", (self._count + counts[-1])[: len(self._count)])
        self._held = [DataRegister(len(words[0]), f"merging_{i:03}") for i in range(entries)]
        self._seen: list[Signal] = list(self._held)
        for flag, word, before in zip(flags, words, [pyrtl.Const(0, 1), *counts], strict=False):
            at = [flag & (self._count + before == i) for i in range(entries)]
            self._seen = [pyrtl.select(here, word, entry) for here, entry in zip(at, self._seen, strict=True)]
        bits = len(pushes[0][1])
        goes = [(self._left > i) & (entry[bits:] <= arrived) for i, entry in enumerate(self._seen)]
        self._first = lowest(goes)
        self.oldest_goes, self.any_goes = goes[0], named("merging_goes", pyrtl.concat_list(goes) != 0)
        self.word = chosen(self._first, [entry[:bits] for entry in self._seen])

    def pop(self, taken: Signal) -> None:
        """Take that one, and those behind it move up; to be said once."""
        before = all_up_to([~first for first in self._first])
        following = [*self._seen[1:], self._seen[-1]]
        for held, stays, entry, other in zip(self._held, before, self._seen, following, strict=True):
            held.next <<= pyrtl.select(taken & ~stays, other, entry)
        self._count.next <<= (self._left - taken)[: len(self._count)]


class Window:
    """Requests in flight, as ``fiberscope.hw.memory.window`` has them.

    Args:
        size: most of them.
        count_bits: bits of the numbers of requests.
        replied, slot: whether a reply comes, and to which.

    ``arrived`` are those answered without a gap, that of this cycle among them, ``before`` without it;
    ``sent`` those sent before, ``slot`` the next one's.
    """

    def __init__(self, size: int, count_bits: int, replied: Signal, slot: Signal) -> None:
        self._size = size
        oldest: Signal = pyrtl.Register(index_bits(size), "oldest_slot")
        self.slot: Signal = pyrtl.Register(len(oldest), "next_slot")
        self.sent: Signal = pyrtl.Register(count_bits, "sent")
        self.before: Signal = pyrtl.Register(count_bits, "arrived")
        here: Signal = pyrtl.Register(size, "here")
        place = self._around(slot[: len(oldest)] + size - oldest)
        came = named("came", here | unless(~replied, decoded(place, size)))
        fills = named("fills", replied & (slot[: len(oldest)] == oldest))
        gaps = [*(~flag for flag in list(here)[1:]), pyrtl.Const(1, 1)]
        run = chosen(lowest(gaps), [pyrtl.Const(i, size.bit_length()) for i in range(1, size + 1)])
        here.next <<= pyrtl.select(fills, pyrtl.shift_right_logical(here, run), came)
        oldest.next <<= pyrtl.select(fills, self._around(oldest + run), oldest)
        self.arrived = named(
            "arrived_now", pyrtl.select(fills, (self.before + run)[:count_bits], self.before)
        )
        self.before.next <<= self.arrived

    def send(self, sends: Signal) -> None:
        """Count one more; to be said once."""
        self.sent.next <<= (self.sent + sends)[: len(self.sent)]
        self.slot.next <<= self._around(self.slot + sends)

    def _around(self, number: Signal) -> Signal:
        """A number below twice the size, around the slots."""
        bits = index_bits(self._size)
        return pyrtl.select(number >= self._size, (number - self._size)[:bits], number[:bits])
