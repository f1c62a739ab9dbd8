"""Every counter, pointer and state of a twin passes its half: its highest bit is seen as 0 and as 1."""

import re
from functools import cache
from typing import Any

import pyrtl
from fiber_streams import STOP_TOKEN
from nested import number, stream

from fiberscope.hw.fibers.intersect_rtl import SkipAheadParameters
from fiberscope.hw.lanes.packer_rtl import PackerParameters
from fiberscope.hw.memory.touched import FIND
from fiberscope.hw.memory.touched_rtl import TouchedBitmapParameters
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.twin import DataRegister, Twin
from fiberscope.hw.streams.writers_rtl import CompressedWriterParameters, ValuesWriterParameters

# Sizes whose counters come to their half, where none of those that are drawn do.
SMALL = {
    "packer": PackerParameters(inputs=4, outputs=3),
    "values_writer": ValuesWriterParameters(entries=100, value_bits=8),
    "compressed_writer": CompressedWriterParameters(fibers=300, elements=100, coordinate_bits=9),
}
_LEAPS = [(0, 3, 0, 0.0), (0, 90, 0, 0.0), STOP_TOKEN]  # of the one side, beside 200 of the other
SWIFT = 18  # a seed of few stalls
# Parameters and inputs that bring counters to their half that no draw of tokens brings there.
DIRECTED = {
    "skip_ahead": (
        SkipAheadParameters(window=2),  # of fibers since the reset there are 2 to the 14th and more
        {
            "a": [STOP_TOKEN] * 16_400 + _LEAPS * 9,
            "b": [STOP_TOKEN] * 16_400 + [(0, 200, 0, 0.0), STOP_TOKEN] * 9,
        },
    ),
    "touched": (  # 2,048 elements of a round and more
        TouchedBitmapParameters(64, 32, writers=16, count_bits=12),
        {
            **{
                f"sets[{i}]": [*((0, place % 64, 0, 0.0) for place in range(130)), STOP_TOKEN]
                for i in range(16)
            },
            "scans": [(FIND, 0, 0, 0.0)],
        },
    ),
    "compressed_writer": (  # as many fibers as there is room for
        CompressedWriterParameters(fibers=3, elements=4, coordinate_bits=9),
        {"in_crd": stream([[number(1), number(2)], [number(0)], [number(3)]], 1)},
    ),
}
# By block, the registers whose half none comes to.
FAR = {
    "prefetch": {
        "next_line",
        "end_line",
    },  # as wide as bytes before them would need, of which a line has several
    "touched": {"given"},  # a word's last bit, behind which the word is new
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
        held, places = self._simulation.held, self._simulation.places
        shown = {(_family(name), held[places[name]] >> bit & 1) for name, bit in self._left.items()}
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
