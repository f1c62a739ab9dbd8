"""What the scheduler's twin is made of: counts and queues that several change in a cycle, and a window."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

import pyrtl

from fiberscope.hw.memory.misses_rtl import number_of
from fiberscope.hw.rtl.kit.trees import chosen, decoded, lowest, ones_of, ones_up_to
from fiberscope.hw.rtl.kit.twin import Signal, index_bits, named, unless

__all__ = ["Countdowns", "Queue", "Window", "Write"]

Write = tuple[Signal, Signal, Signal]  # to a memory: enable, address, word


class Countdowns:
    """Words of a memory that are counted down, several in a cycle, the same one too.

    Args:
        name: of the memory.
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
        name: of its memory; its registers' names end so.
        entries: of its memory.
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


class Window:
    """Requests in flight, as ``fiberscope.hw.memory.window`` has them.

    Args:
        size: most of them.
        count_bits: of the numbers of requests.
        replied, slot: whether a reply comes, and to which.

    ``arrived`` are those answered without a gap, that of this cycle among them; ``sent`` those sent before,
    ``slot`` the next one's.
    """

    def __init__(self, size: int, count_bits: int, replied: Signal, slot: Signal) -> None:
        self._size = size
        oldest: Signal = pyrtl.Register(index_bits(size), "oldest_slot")
        self.slot: Signal = pyrtl.Register(len(oldest), "next_slot")
        self.sent: Signal = pyrtl.Register(count_bits, "sent")
        arrived: Signal = pyrtl.Register(count_bits, "arrived")
        here: Signal = pyrtl.Register(size, "here")
        place = self._around(slot[: len(oldest)] + size - oldest)
        came = named("came", here | unless(~replied, decoded(place, size)))
        passed = number_of(lowest([*(~flag for flag in came), pyrtl.Const(1, 1)]))
        here.next <<= pyrtl.shift_right_logical(came, passed)
        oldest.next <<= self._around(oldest + passed)
        self.arrived = named("arrived_now", (arrived + passed)[:count_bits])
        arrived.next <<= self.arrived

    def send(self, sends: Signal) -> None:
        """Count one more; to be said once."""
        self.sent.next <<= (self.sent + sends)[: len(self.sent)]
        self.slot.next <<= self._around(self.slot + sends)

    def _around(self, number: Signal) -> Signal:
        """A number below twice the size, around the slots."""
        bits = index_bits(self._size)
        return pyrtl.select(number >= self._size, (number - self._size)[:bits], number[:bits])
