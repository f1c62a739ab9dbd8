"""Lines of row pointers that a prefetcher has in flight, as RTL."""

from __future__ import annotations

import pyrtl

from fiberscope.hw.rtl.kit.trees import all_up_to, chosen, count_of, decoded
from fiberscope.hw.rtl.kit.twin import Signal, named, resized, unless

__all__ = ["PointerWindow"]


class PointerWindow:
    """Lines of row pointers in flight, in the slots of ``ReorderWindow``, as counted within a task.

    A flag for each of them, the oldest first, says that it is here. The oldest never is at the beginning of a
    cycle. So lines pass only if it comes, and which then do follows from registers.

    Args:
        size: lines in flight, a power of two.
        sent_bits: bits of the number of lines that a task asks for.
        comes, slot: whether a line comes, and in which slot it was asked for.
        ends: whether the task ends, and lines are counted anew.
    """

    def __init__(self, size: int, sent_bits: int, comes: Signal, slot: Signal, ends: Signal) -> None:
        self.next_slot: Signal = pyrtl.Register(len(slot), "next_slot")
        oldest: Signal = pyrtl.Register(len(slot), "oldest_slot")
        self.sent: Signal = pyrtl.Register(sent_bits, "sent")
        self.arrived: Signal = pyrtl.Register(sent_bits, "arrived")
        self.ends = ends
        here: Signal = pyrtl.Register(size, "here")
        self.passed = [pyrtl.Const(1, 1), *all_up_to(list(here[1:]))]
        count = count_of(self.passed)
        self.passes = named("passes", comes & (slot == oldest))
        mine = decoded((slot - oldest)[: len(slot)], size)
        left = pyrtl.shift_right_logical(here, count)
        here.next <<= pyrtl.select(self.passes, left, here | unless(~comes, mine))
        oldest.next <<= pyrtl.select(self.passes, (oldest + count)[: len(oldest)], oldest)
        arrived = pyrtl.select(self.passes, (self.arrived + count)[: len(self.arrived)], self.arrived)
        self.arrived.next <<= unless(ends, arrived)
        is_full = (self.sent - self.arrived)[: len(self.sent)] == size
        self.room = named("room", self.passes | ~is_full)

    def has_arrived(self, needed: Signal) -> Signal:
        """Return whether so many lines have arrived, with the one that comes."""
        more = needed.zero_extended(len(needed) + 1) + ~self.arrived.zero_extended(len(needed) + 1)
        lacking = more[: len(needed) + 1]  # lines besides the oldest; below 0 if all have arrived
        at = decoded(resized(lacking, len(self.next_slot)), len(self.passed))
        return lacking[-1] | (self.passes & chosen(list(at), self.passed))

    def send(self, sends: Signal) -> None:
        """The next slot is taken, or not."""
        slot, sent = ((number + 1)[: len(number)] for number in (self.next_slot, self.sent))
        self.next_slot.next <<= pyrtl.select(sends, slot, self.next_slot)
        self.sent.next <<= unless(self.ends, pyrtl.select(sends, sent, self.sent))
