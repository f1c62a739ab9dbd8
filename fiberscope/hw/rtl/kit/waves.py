"""The wires within a module as signals of the kernel's waveform."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from fiberscope.hw.rtl.kit.naming import TERM
from fiberscope.sim.component import Signal
from fiberscope.sim.waveform import WIDEST

__all__ = ["is_shown", "signals", "values"]

_UNNAMED = re.compile(  # PyRTL's own wires and numbers, in the Verilog too; clocking
    rf"(tmp|const_)\d+|\w+{TERM}\d+$|(clk|rst)(__0)?$"
)


def is_shown(name: str) -> bool:
    """Return whether a wire is shown: one that somebody has named."""
    return not _UNNAMED.match(name.rpartition(".")[2])


def signals(widths: Mapping[str, int], scope: str) -> Iterator[Signal]:
    """Their signals, within this scope of the component's, those of an instance within one of its own.

    Args:
        widths: bits of each wire by name, as a backend says them; a wider one than a signal is several.
        scope: where they stand.
    """
    for path, width in widths.items():
        instance, _, name = path.rpartition(".")
        within = f"{scope}.{instance}" if instance else scope
        if width <= WIDEST:
            yield Signal(name, width, within=within)
            continue
        for low, bits in _parts(width):
            yield Signal(f"{name}_{low + bits - 1}_{low}", bits, within=within)


def values(widths: Mapping[str, int], sample: Sequence[int]) -> Iterator[int]:
    """The values of these signals, given the bits of the wires."""
    for width, number in zip(widths.values(), sample, strict=True):
        for low, bits in _parts(width):
            part = number >> low & (1 << bits) - 1
            yield part - (1 << WIDEST) if part >> (WIDEST - 1) else part


def _parts(width: int) -> list[tuple[int, int]]:
    """Lowest bit and width of each part of a wire."""
    return [(low, min(WIDEST, width - low)) for low in range(0, width, WIDEST)]
