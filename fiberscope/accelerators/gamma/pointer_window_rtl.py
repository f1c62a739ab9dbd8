"""Window of a prefetcher's row-pointer requests in flight, as RTL."""

from __future__ import annotations

import pyrtl

from fiberscope.hw.rtl.kit.trees import all_up_to, chosen, count_of, decoded
from fiberscope.hw.rtl.kit.twin import Signal, alias, resized, unless


class PointerWindow:
    """A window of lines of row pointers in flight, in the slots of ``ReorderWindow``, counted for each task.

    One flag for each line in flight, oldest first, marks lines that have arrived. At the beginning of a
    cycle, the oldest line has not arrived. Lines therefore leave the window only in a cycle in which the
    oldest line arrives, and registers alone determine how many leave.

    Args:
        size: largest number of lines in flight, a power of two.
        sent_bits: width of the number of lines that a task requests.
        comes, slot: whether a line arrives, and the slot of its request.
        ends: whether the task ends, which resets the counts.
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
        self.passes = alias("passes", comes & (slot == oldest))
        mine = decoded((slot - oldest)[: len(slot)], size)
        left = pyrtl.shift_right_logical(here, count)
        here.next <<= pyrtl.select(self.passes, left, here | unless(~comes, mine))
        oldest.next <<= pyrtl.select(self.passes, (oldest + count)[: len(oldest)], oldest)
        arrived = pyrtl.select(self.passes, (self.arrived + count)[: len(self.arrived)], self.arrived)
        self.arrived.next <<= unless(ends, arrived)
        is_full = (self.sent - self.arrived)[: len(self.sent)] == size
        self.room = alias("room", self.passes | ~is_full)

    def has_arrived(self, needed: Signal) -> Signal:
        """Return whether ``needed`` lines have arrived, including the line that arrives in this cycle."""
        before = alias("not_arrived", ~self.arrived.zero_extended(len(needed) + 1))  # -1 - arrived
        more = needed.zero_extended(len(needed) + 1) + before
        lacking = more[: len(needed) + 1]  # lines besides the oldest; below 0 if all have arrived
        at = decoded(resized(lacking, len(self.next_slot)), len(self.passed))
        return lacking[-1] | (self.passes & chosen(list(at), self.passed))

    def send(self, sends: Signal) -> None:
        """Use the next slot for a request if ``sends`` is 1; call this once."""
        slot, sent = ((number + 1)[: len(number)] for number in (self.next_slot, self.sent))
        self.next_slot.next <<= pyrtl.select(sends, slot, self.next_slot)
        self.sent.next <<= unless(self.ends, pyrtl.select(sends, sent, self.sent))
