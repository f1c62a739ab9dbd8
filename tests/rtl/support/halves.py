"""Every counter, pointer and state of a twin passes its half: its highest bit is seen as 0 and as 1."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pyrtl

from fiberscope.hw.lanes.packer_rtl import PackerParameters
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.twin import DataRegister, Twin
from fiberscope.hw.streams.writers_rtl import CompressedWriterParameters, ValuesWriterParameters

# Sizes whose counters come to their half, where none of those that are drawn do.
SMALL = {
    "packer": PackerParameters(inputs=4, outputs=3),
    "values_writer": ValuesWriterParameters(entries=100, value_bits=8),
    "compressed_writer": CompressedWriterParameters(fibers=300, elements=100, coordinate_bits=9),
}
# By block, the registers whose half no run of seconds comes to, or none at all.
FAR = {
    "skip_ahead": {"fiber_number"},  # fibers since the reset, modulo 2 to the 15th
    "prefetch": {"next_line", "end_line"},  # numbers of lines, of 51 bits or more
    "touched": {
        "count",
        "given",
    },  # 2,048 elements of a round or more; a word's last bit, behind which it is new
    "compressed_writer": {"fibers"},  # 256 of them or more
    "intersector": {"done"},  # with the highest coordinate both fibers have ended
}


def family(name):
    """The name of a register without the number of its lane or stage."""
    return re.sub(r"\d+", "#", name)


class Halves:
    """What the counters of a block's twins have shown: halves, by family."""

    def __init__(self) -> None:
        self._wanted: set[tuple[str, int]] = set()
        self._seen: set[tuple[str, int]] = set()

    def backend(self, twin: Twin, seed: int) -> PyrtlBackend:
        """What runs a twin, and notes what its counters show."""
        highest = {register.name: len(register) - 1 for register in _counters(twin)}
        self._wanted |= {(_family(name), half) for name in highest for half in (0, 1)}
        return _Noting(twin, seed, highest, self._seen)

    def unpassed(self) -> set[str]:
        """The families that have not shown both halves."""
        return {name for name, _half in self._wanted - self._seen}


class _Noting(PyrtlBackend):
    def __init__(self, twin: Twin, seed: int, highest: dict[str, int], seen: set[tuple[str, int]]) -> None:
        super().__init__(twin, seed)
        self._left = highest  # the counters of families that have not shown both halves
        self._seen = seen

    def cycle(self) -> None:
        super().cycle()
        wires = self._simulation.context
        shown = {(_family(name), wires[name] >> bit & 1) for name, bit in self._left.items()}
        if not shown <= self._seen:
            self._seen |= shown
            self._left = {
                name: bit
                for name, bit in self._left.items()
                if not {(_family(name), 0), (_family(name), 1)} <= self._seen
            }


def _counters(twin: Twin) -> list[Any]:
    """The registers of several bits that a reset sets, as it does not those of data."""
    registers = twin.block.wirevector_subset(pyrtl.Register)
    return [one for one in registers if len(one) > 1 and not isinstance(one, DataRegister)]


@cache
def _family(name: str) -> str:
    """The name of a register without the number of its lane or stage."""
    return re.sub(r"\d+", "#", name)
