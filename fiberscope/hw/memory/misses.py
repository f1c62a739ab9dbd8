# cython: infer_types=True
"""Miss status holding registers (MSHRs): the lines in flight and the requests that wait for each line."""

from __future__ import annotations

from array import array

NONE = -1


class MissTable:  # C: final
    """Registers for lines in flight, each with a queue of targets (the requests that wait for the line).

    Args:
        registers: number of registers, which is the maximum number of lines in flight.
        targets: maximum number of waiting requests of all registers together.

    ``lines[r]`` is the line of register r, ``NONE`` if the register is free. ``entries[r]`` is the entry of
    the tag store that the line will occupy. ``used`` is the number of occupied registers. ``operations`` and
    ``target_tags`` hold the operation and the request tag of each target.
    """

    def __init__(self, registers: int, targets: int) -> None:
        self.registers = registers
        self.used = 0
        self.lines = array("q", [NONE] * registers)  # C: public
        # By register: the entry of the tag store for the line, -1 if the line is not stored
        self.entries = array("q", [NONE] * registers)  # C: public
        # By register: the oldest and the newest target of its queue; the newest is stale in an empty queue
        self.first_target = array("q", [NONE] * registers)  # C: public
        self.last_target = array("q", [NONE] * registers)
        self.next_register = 0  # the register that ``allocate`` takes next; ``registers`` if all are occupied
        self.lowest = 1  # no register below this one is free, except next_register
        self.operations = array("q", bytes(8 * targets))  # C: public
        self.target_tags = array("q", bytes(8 * targets))  # C: public
        self.following = array("q", [*range(1, targets), NONE])  # by target: the next one of its list
        self.free_target = 0

    def is_full(self) -> bool:  # C: noexcept
        """Return whether every register is occupied."""
        return self.next_register >= self.registers

    def can_wait(self) -> bool:  # C: noexcept
        """Return whether another target can be appended."""
        return self.free_target != NONE

    def allocate(self, line: int, entry: int) -> int:  # C: noexcept
        """Occupy a register for a line that is requested from memory, and return its number.

        Call this only if the table is not ``is_full``.

        Args:
            line: number of the line.
            entry: entry of the tag store that the line will occupy; ``NONE`` if the line is not stored.
        """
        miss = self.next_register
        self.lines[miss] = line
        self.entries[miss] = entry
        self.used += 1
        # As in the RTL, the next register is chosen now, so a lower one that is released later has to wait.
        while self.lowest < self.registers and self.lines[self.lowest] >= 0:
            self.lowest += 1
        self.next_register = self.lowest
        self.lowest += 1
        return miss

    def release(self, miss: int) -> None:  # C: noexcept
        """Free an occupied register; its queue of targets must be empty."""
        self.lines[miss] = NONE
        if self.is_full():  # no register is chosen, so the freed register is the next one
            self.next_register = miss
        else:
            self.lowest = min(miss, self.lowest)
        self.used -= 1

    def wait(self, miss: int, operation: int, tag: int) -> None:  # C: noexcept
        """Append a target to the queue of a register; call this only if ``can_wait``.

        Args:
            miss: number of the register.
            operation: operation of the request (``fiberscope.hw.memory.protocol``).
            tag: tag of the request, which the reply returns.
        """
        target = self.free_target
        self.free_target = self.following[target]
        self.operations[target] = operation
        self.target_tags[target] = tag
        self.following[target] = NONE
        if self.first_target[miss] == NONE:
            self.first_target[miss] = target
        else:
            self.following[self.last_target[miss]] = target
        self.last_target[miss] = target

    def next_target(self, miss: int) -> int:  # C: noexcept
        """Remove the oldest target of a register, and return its number; ``NONE`` if there is no target.

        Its ``operations`` and ``target_tags`` stay valid until the next ``wait``.
        """
        target = self.first_target[miss]
        if target != NONE:
            self.first_target[miss] = self.following[target]
            # Free targets form a list too, which reuses ``following``; the last freed target is used first.
            self.following[target] = self.free_target
            self.free_target = target
        return target

    def tags_of(self, miss: int) -> list[tuple[int, int]]:  # C: def
        """Return the operation and the tag of each target of a register, oldest first."""
        tags, target = [], self.first_target[miss]
        while target != NONE:
            tags.append((self.operations[target], self.target_tags[target]))
            target = self.following[target]
        return tags
