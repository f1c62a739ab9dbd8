# cython: infer_types=True
"""Miss status holding registers: which lines are in flight, and who waits for each."""

from __future__ import annotations

from array import array

NONE = -1


class MissTable:  # C: final
    """Registers for lines in flight, each with a queue of targets (the requests that wait for the line).

    Args:
        registers: lines in flight at once.
        targets: requests that wait, over all registers.
    """

    def __init__(self, registers: int, targets: int) -> None:
        self.registers = registers
        self.used = 0
        self.lines = array("q", [NONE] * registers)  # C: public
        # Where in the tags the line will go; -1: nowhere
        self.places = array("q", [NONE] * registers)  # C: public
        self.first = array("q", [NONE] * registers)  # C: public
        self.last = array("q", [NONE] * registers)
        self.next_register = 0  # put by, when another is taken: the lowest that is free
        self.lowest = 1  # none below is free but that
        self.operations = array("q", bytes(8 * targets))  # C: public
        self.target_tags = array("q", bytes(8 * targets))  # C: public
        self.following = array("q", [*range(1, targets), NONE])  # the target behind, or the next free one
        self.free_target = 0

    def full(self) -> bool:  # C: noexcept
        """Return whether every register is taken."""
        return self.next_register >= self.registers

    def can_wait(self) -> bool:  # C: noexcept
        """Return whether there is room for one more target."""
        return self.free_target != NONE

    def open(self, line: int, place: int) -> int:  # C: noexcept
        """Take the register that was put by for a line that is asked of memory; only when not full."""
        miss = self.next_register
        self.lines[miss] = line
        self.places[miss] = place
        self.used += 1
        while self.lowest < self.registers and self.lines[self.lowest] >= 0:
            self.lowest += 1
        self.next_register = self.lowest
        self.lowest += 1
        return miss

    def close(self, miss: int) -> None:  # C: noexcept
        """Give the register back; its targets must have been taken."""
        self.lines[miss] = NONE
        if self.full():
            self.next_register = miss
        else:
            self.lowest = min(miss, self.lowest)
        self.used -= 1

    def wait(self, miss: int, operation: int, tag: int) -> None:  # C: noexcept
        """Append a target; only when ``can_wait``."""
        target = self.free_target
        self.free_target = self.following[target]
        self.operations[target] = operation
        self.target_tags[target] = tag
        self.following[target] = NONE
        if self.first[miss] == NONE:
            self.first[miss] = target
        else:
            self.following[self.last[miss]] = target
        self.last[miss] = target

    def next_target(self, miss: int) -> int:  # C: noexcept
        """Take the oldest target; its operation and tag stay readable until the next ``wait``; -1 if none."""
        target = self.first[miss]
        if target != NONE:
            self.first[miss] = self.following[target]
            self.following[target] = self.free_target
            self.free_target = target
        return target

    def tags_of(self, miss: int) -> list[tuple[int, int]]:  # C: def
        """Operation and tag of each target of a miss, oldest first."""
        tags, target = [], self.first[miss]
        while target != NONE:
            tags.append((self.operations[target], self.target_tags[target]))
            target = self.following[target]
        return tags
