"""Formats that enumerate all positions of a tensor: Dense, ZVC (a mask), RLC (runs of zeros)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.formats.bit_packing import Items, Words, item_type
from fiberscope.workloads.formats.format import Coordinates, Counts, Encoded, Format, Layout, Span
from fiberscope.workloads.formats.runs import pack_entries, unpack_entries
from fiberscope.workloads.tensor import MAX_POSITIONS, SparseTensor, coordinates_at

MAX_RUN_BITS = 16  # ``items`` has runs as 16-bit integers


class Flat(Format):
    """A format that numbers all positions in row-major order."""

    def check(self, shape: Sequence[int]) -> None:
        """Check that 63 bits can number all positions."""
        if math.prod(shape) > MAX_POSITIONS:
            sizes = " x ".join(map(str, shape))
            fault = f"{self.name} cannot hold {sizes}: it has more than {MAX_POSITIONS} places"
            raise WorkloadError(fault, fix="coo and csf can")


@dataclass(frozen=True)
class Dense(Flat):
    """A format that stores all values. To use another order of ranks, transpose the tensor first."""

    name = "dense"
    code = 1

    def layout(self, shape: Sequence[int], counts: Counts, bits: int) -> Layout:
        """Return one array."""
        return [Span("values", math.prod(shape), bits)]

    def items(self, tensor: SparseTensor, words: Items) -> Mapping[str, Integers | Items]:
        """Return zeros, and the values at their positions."""
        values = np.zeros(tensor.size, dtype=words.dtype)
        values[tensor.positions()] = words
        return {"values": values}

    def points(self, encoded: Encoded) -> tuple[Coordinates, Items]:
        """Return the nonzeros."""
        values = encoded["values"]
        positions = np.flatnonzero(values)  # no entry is lost: ``encode`` removes explicit zeros
        return coordinates_at(encoded.shape, positions), values[positions]


@dataclass(frozen=True)
class Zvc(Flat):
    """Zero-value compression: a bit for each position, 1 for a nonzero; the nonzeros.

    Source: M. Rhu et al., "Compressing DMA Engine", HPCA 2018, as MINT uses it.
    """

    name = "zvc"
    code = 2

    def layout(self, shape: Sequence[int], counts: Counts, bits: int) -> Layout:
        """Return the mask, and the values of its ones."""
        return [Span("mask", math.prod(shape), 1), Span("values", counts["nonzeros"], bits)]

    def items(self, tensor: SparseTensor, words: Items) -> Mapping[str, Integers | Items]:
        """Return a mask with ones for nonzeros, and the values."""
        mask = np.zeros(tensor.size, dtype=np.uint8)
        mask[tensor.positions()] = 1
        return {"mask": mask, "values": words}

    def points(self, encoded: Encoded) -> tuple[Coordinates, Items]:
        """Return the points where the mask is 1."""
        return coordinates_at(encoded.shape, np.flatnonzero(encoded["mask"])), encoded["values"]


@dataclass(frozen=True)
class Rlc(Flat):
    """Run-length coding: the number of zeros before each nonzero, and the nonzero.

    A run too long for its bits is cut into *continuations*: entries that only count zeros. MINT's paper does
    not specify them. This encoding, with four bits, selects the paper's format for ten of the eleven matrices
    of its Table III by size alone. Five bits, with a value of zero in each continuation, are the encoding of
    Eyeriss (Chen et al., ISSCC 2016).

    Args:
        run_bits: bits of a run, 1 to 16.
        continuation_has_value: whether every run has a value, which is zero in a continuation. If not, the
            greatest run is a continuation: it has no value.
    """

    run_bits: int = 4
    continuation_has_value: bool = False
    code = 3

    def __post_init__(self) -> None:
        """Check the width of a run."""
        if not 1 <= self.run_bits <= MAX_RUN_BITS:
            raise WorkloadError(f"rlc.run_bits is {self.run_bits}", fix=f"it is 1 to {MAX_RUN_BITS}")

    @property
    def name(self) -> str:
        """Return the name with the parameters that are not default: ``rlc``, ``rlc5``, ``rlc5-value``."""
        if self == Rlc():
            return "rlc"
        return f"rlc{self.run_bits}{'-value' if self.continuation_has_value else ''}"

    @property
    def greatest_run(self) -> int:
        """The greatest number that fits into the bits of a run."""
        return (1 << self.run_bits) - 1

    @property
    def step(self) -> int:
        """Return the zeros for which a continuation stands: its run, and its value if it has one."""
        return self.greatest_run + self.continuation_has_value

    @property
    def parameter(self) -> int:
        """Return the width of runs, with bit 7 set if a continuation has a value."""
        return self.run_bits | self.continuation_has_value << 7

    def count_names(self, shape: Sequence[int]) -> Sequence[str]:
        """Return the names of the counts: nonzeros, and continuations."""
        return ("nonzeros", "continuations")

    def counts(self, tensor: SparseTensor) -> dict[str, int]:
        """Return the counts. A run of zeros has a continuation for each whole step."""
        return {
            "nonzeros": tensor.nonzeros,
            "continuations": int((self._count_zeros_before(tensor) // self.step).sum()),
        }

    def expected_counts(self, shape: Sequence[int], density: float) -> dict[str, float]:
        """Return the expected counts for geometric runs: a continuation needs a whole step of zeros.

        A run of zeros has length n with probability (1 - d)^n d. With q = (1 - d)^step, it has at least k
        whole steps with probability q^k. Their expected number is q + q^2 + ... = q / (1 - q).
        """
        nonzeros, all_zero = density * math.prod(shape), (1 - density) ** self.step
        continuations = nonzeros * all_zero / (1 - all_zero) if density > 0 else 0.0
        return {"nonzeros": nonzeros, "continuations": continuations}

    def layout(self, shape: Sequence[int], counts: Counts, bits: int) -> Layout:
        """Return runs and values, which are interleaved when packed."""
        entries = counts["nonzeros"] + counts["continuations"]
        values = entries if self.continuation_has_value else counts["nonzeros"]
        return [Span("runs", entries, self.run_bits), Span("values", values, bits)]

    def items(self, tensor: SparseTensor, words: Items) -> Mapping[str, Integers | Items]:
        """Return the items; each nonzero follows its continuations."""
        zeros_before = self._count_zeros_before(tensor)
        continuations = zeros_before // self.step
        # the entry of a nonzero comes after all continuations up to it
        positions = np.arange(len(zeros_before)) + np.cumsum(continuations)
        runs = np.full(len(zeros_before) + int(continuations.sum()), self.greatest_run, dtype=np.uint16)
        runs[positions] = zeros_before - continuations * self.step
        if not self.continuation_has_value:
            return {"runs": runs, "values": words}
        values = np.zeros(len(runs), dtype=words.dtype)
        values[positions] = words
        return {"runs": runs, "values": values}

    def _count_zeros_before(self, tensor: SparseTensor) -> Integers:
        """Return the number of zeros before each nonzero."""
        return np.diff(tensor.positions(), prepend=-1) - 1

    def points(self, encoded: Encoded) -> tuple[Coordinates, Items]:
        """Return the points. An entry's position is that of the previous entry, plus its run, plus one."""
        runs, values = encoded["runs"].astype(np.int64), encoded["values"]
        steps = runs + 1  # the zeros of the run, and the value
        if self.continuation_has_value:
            is_nonzero, entry_values = values != 0, values
        else:
            # the rest of a run is below ``step``, so that no nonzero has the greatest run
            is_nonzero = runs != self.greatest_run
            steps[~is_nonzero] = self.step
            entry_values = np.zeros(len(runs), dtype=values.dtype)
            entry_values[is_nonzero] = values
        return coordinates_at(encoded.shape, (np.cumsum(steps) - 1)[is_nonzero]), entry_values[is_nonzero]

    def packed_bits(self, layout: Layout) -> list[int]:
        """Return the bits of the only array, in which entries are consecutive."""
        return [int(sum(span.bits for span in layout))]

    def pack(self, encoded: Encoded) -> list[Words]:
        """Pack each run with its value, if it has one; the run has the least significant bits."""
        # no run is -1: every run has a value
        lone_run = -1 if self.continuation_has_value else self.greatest_run
        return [pack_entries(encoded["runs"], encoded["values"], self.run_bits, encoded.bits, lone_run)]

    def unpack(self, words: Words, layout: Layout, counts: Counts) -> list[Items]:
        """Return runs, and the values of the runs that have one."""
        lone_run = -1 if self.continuation_has_value else self.greatest_run
        arrays = runs, values = tuple(np.zeros(int(span.length), dtype=np.uint64) for span in layout)
        # fills both arrays; the width of an entry depends on its run, so that entries are read in order
        unpack_entries(words, runs, values, self.run_bits, layout[1].width, lone_run)
        return [array.astype(item_type(span.width)) for array, span in zip(arrays, layout, strict=True)]
