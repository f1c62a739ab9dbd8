"""Logic over many wires with a depth logarithmic in their number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add, or_

import pyrtl
from pyrtl.rtllib.adders import fast_group_adder

from fiberscope.hw.lanes.prefix_sum import PARALLEL, network
from fiberscope.hw.rtl.kit.twin import Signal, alias


def all_up_to(flags: Sequence[Signal]) -> list[Signal]:
    """Return, for each flag, the AND of all flags up to it, at doubling distances (Kogge and Stone)."""
    found = list(flags)
    distance = 1
    while distance < len(found):  # found[i] is the AND of the last ``distance`` flags up to flag i
        found = [flag & found[i - distance] if i >= distance else flag for i, flag in enumerate(found)]
        distance *= 2
    return found


def any_of(name: str, flags: Sequence[Signal]) -> Signal:
    """Return whether any flag is set, with four flags for each wire.

    Args:
        name: prefix of the names of the wires.
        flags: the flags, at least one.
    """
    terms, level = list(flags), 0
    while len(terms) > 1:
        level += 1
        quarters = range(0, len(terms), 4)
        # Named wires, so that the Verilog keeps the levels of the tree.
        terms = [alias(f"{name}_{level}_{i // 4:02}", reduce(or_, terms[i : i + 4])) for i in quarters]
    return terms[0]


def lowest(flags: Sequence[Signal]) -> list[Signal]:
    """Return the flags with only the first set flag: the grant of a fixed-priority arbiter."""
    before = [pyrtl.Const(1, 1), *all_up_to([~flag for flag in flags[:-1]])]
    return [flag & free for flag, free in zip(flags, before, strict=True)]


def follows(value: Signal, other: Signal) -> Signal:
    """Return whether a number of two bits or more is another number plus one, with wrap-around.

    No adder is needed. An increment changes bit 0, and bit i + 1 if bit i has a carry: if bit i was 1 and
    became 0. The carry of the highest bit is dropped, which gives the wrap-around.
    """
    return (value ^ other) == pyrtl.concat((other & ~value)[:-1], pyrtl.Const(1, 1))


def decoded(number: Signal, count: int) -> Signal:
    """Return a one-hot word of ``count`` flags with the flag ``number`` set; zero if out of range.

    The number needs the bits of ``count - 1``: a narrower number gives only ``2**len(number)`` flags.
    """
    flags = [pyrtl.Const(1, 1)]
    for bit in reversed(list(number)):  # from the highest bit: each flag splits into the flags of 0 and of 1
        flags = [half for flag in flags for half in (flag & ~bit, flag & bit)]
    return pyrtl.concat_list(flags[:count])


def chosen(flags: Sequence[Signal], wires: Sequence[Signal]) -> Signal:
    """Return the wire whose flag is set, zeros if none is. At most one flag may be set."""
    gated = [pyrtl.select(flag, wire, 0) for flag, wire in zip(flags, wires, strict=True)]
    while len(gated) > 1:
        gated = [reduce(or_, gated[i : i + 2]) for i in range(0, len(gated), 2)]
    return gated[0]


def count_of(flags: Sequence[Signal]) -> Signal:
    """Count the set flags, which must precede all clear flags, by the position of the last set flag."""
    width = len(flags).bit_length()
    ends = [flag & ~behind for flag, behind in zip(flags, [*flags[1:], pyrtl.Const(0, 1)], strict=True)]
    return chosen(ends, [pyrtl.Const(i, width) for i in range(1, len(flags) + 1)])


def ones_of(word: Signal) -> Signal:
    """Count the ones of a word by a tree of adders, each one bit wider than its operands."""
    if len(word) == 1:
        return word
    half = len(word) // 2
    return ones_of(word[:half]) + ones_of(word[half:])


def ones_up_to(flags: Sequence[Signal]) -> list[Signal]:
    """Return, for each flag, the number of set flags up to it, by a parallel prefix sum."""
    counts = [flag.zero_extended(len(flags).bit_length()) for flag in flags]
    for level in network(PARALLEL, len(flags)):
        # A count is at most ``len(flags)``, so the dropped carry is 0.
        added = {target: (counts[target] + counts[source])[: len(counts[0])] for source, target in level}
        counts = [added.get(place, count) for place, count in enumerate(counts)]
    return counts


def total(wires: Sequence[Signal]) -> Signal:
    """Return the sum of wires, by carry-save adders (Wallace)."""
    return fast_group_adder(wires, final_adder=add) if len(wires) > 1 else wires[0]


def remainder(number: Signal, divisor: int) -> Signal:
    """Return a number modulo a constant: add the remainders of all bits, then subtract multiples.

    Args:
        number: an unsigned number.
        divisor: a constant, at least 1.
    """
    # For divisor = odd * 2**shift, the lowest bits pass unchanged, and only the bits above are reduced.
    shift = (divisor & -divisor).bit_length() - 1
    odd = divisor >> shift
    if odd == 1 or len(number) <= shift:
        return number[:shift] if shift else pyrtl.Const(0, 1)
    leaves = [pow(2, bit, odd) for bit in range(len(number) - shift)]  # remainder of each bit's weight
    rest = total([_times(bit, left) for bit, left in zip(number[shift:], leaves, strict=True)])
    # The sum is at most sum(leaves): subtract odd * 2**times where it fits, from the highest power down.
    for times in reversed(range((sum(leaves) // odd).bit_length())):
        multiple = odd << times
        rest = pyrtl.select(rest >= multiple, (rest - multiple)[: len(rest)], rest)
    rest = rest[: (odd - 1).bit_length()]
    return pyrtl.concat(rest, number[:shift]) if shift else rest


def _times(bit: Signal, factor: int) -> Signal:
    """Return a constant if the bit is set, else 0."""
    return pyrtl.concat_list(
        [bit if factor >> place & 1 else bit & 0 for place in range(factor.bit_length())]
    )
