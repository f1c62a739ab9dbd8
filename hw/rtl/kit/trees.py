"""Logic over many wires whose depth grows with the logarithm of their number."""

from __future__ import annotations

from collections.abc import Sequence

from hw.rtl.kit.twin import Signal


def all_up_to(flags: Sequence[Signal]) -> list[Signal]:
    """For each flag whether it and all before it are set, at distances that double (Kogge and Stone)."""
    found = list(flags)
    distance = 1
    while distance < len(found):
        found = [flag & found[i - distance] if i >= distance else flag for i, flag in enumerate(found)]
        distance *= 2
    return found
