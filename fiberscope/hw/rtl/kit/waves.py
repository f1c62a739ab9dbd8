"""Inner wires of a module as signals of the kernel's waveform."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from fiberscope.hw.rtl.kit.naming import TERM
from fiberscope.sim.component import Signal
from fiberscope.sim.waveform import WIDEST

_UNNAMED = re.compile(  # PyRTL's own wires and numbers, in the Verilog too; clocking
    rf"(tmp|const_)\d+|\w+{TERM}\d+$|(clk|rst)(__0)?$"
)


def is_shown(name: str) -> bool:
    """Return whether a waveform shows a wire: a wire with an explicit name."""
    return not _UNNAMED.match(name.rpartition(".")[2])


def signals(widths: Mapping[str, int], scope: str) -> Iterator[Signal]:
    """Yield the signals of wires, within this scope; wires of an instance are in an inner scope.

    Args:
        widths: bits of each wire by name, from a backend. A wire wider than a signal becomes several signals.
        scope: scope of the signals.
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
    """Yield the values of these signals, given the bits of the wires."""
    for width, number in zip(widths.values(), sample, strict=True):
        for low, bits in _parts(width):
            part = number >> low & (1 << bits) - 1
            yield part - (1 << WIDEST) if part >> (WIDEST - 1) else part


def _parts(width: int) -> list[tuple[int, int]]:
    """Return lowest bit and width of each part of a wire."""
    return [(low, min(WIDEST, width - low)) for low in range(0, width, WIDEST)]
