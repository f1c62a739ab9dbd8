"""Marks on a clock's timing wheel; compiled, they stand in the ``.pxd`` and are put in place of their calls.

A method of another module would be an indirect call, two or three times a token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim.clock import Clock

SLOTS = 256  # cycles that the wheel covers; a power of two
BITS = 32  # components, or slots, in one word; a word stays a small positive integer in both modes


def wake(clock: Clock, index: int, cycle: int) -> None:
    """Have the component with this index tick at ``cycle``, as ``Clock.wake``."""
    if cycle - clock.cycle < SLOTS:
        mark(clock, index, cycle)
    else:
        clock.wake_far(index, cycle)


def mark(clock: Clock, index: int, cycle: int) -> None:
    """Note a wake that is near enough for the wheel."""
    slot = cycle & (SLOTS - 1)
    clock.wheel[slot * clock.words + (index >> 5)] |= 1 << (index & 31)
    clock.occupied[slot >> 5] |= 1 << (slot & 31)


def lowest_bit(bits: int) -> int:
    """Position of the lowest set bit of a non-zero word; an instruction when compiled."""
    return (bits & -bits).bit_length() - 1


def pop(clock: Clock) -> int:
    """Index of the next component that wakes in the current cycle, as ``Clock.pop``."""
    while clock._word < clock._last_word:
        bits = clock.wheel[clock._word]
        if bits:
            clock.wheel[clock._word] = bits & (bits - 1)
            return (clock._word - clock._first_word) * BITS + lowest_bit(bits)
        clock._word += 1
    return -1
