"""The meter: what a tiled kernel moves, counted by walking its outer loops with the real tiles.

It is the judge of every prediction and every scheme. Words have 4 bytes: a value, a coordinate, or an entry
of a segment array each. Rules: ``docs/d2t2.md``, *The meter*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fiberscope.errors import InputError
from fiberscope.models.tiles.base import cut, pack_all
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.partials import level_counts
from fiberscope.models.tiles.walk import Fetched, Overflow, walk
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.packed import Packed
from fiberscope.workloads.tiles.tiling import Tiled

__all__ = ["Measured", "OutputRule", "Written", "measure"]

OutputRule = Literal["auto", "streamed", "stationary"]


@dataclass(frozen=True)
class Written:
    """What was written of the output: partial tiles (visits), words of 4 bytes, nonzeros."""

    visits: int
    words: int
    nonzeros: int


@dataclass(frozen=True)
class Measured:
    """What a tiled kernel moved.

    Args:
        inputs: by operand.
        output: partial tiles, each written once a visit.
        iterations: of the outer loops, in which all operands have a tile.
    """

    inputs: Mapping[str, Fetched]
    output: Written
    iterations: int

    @property
    def total(self) -> int:
        """Words of all inputs and of the output."""
        return sum(each.words for each in self.inputs.values()) + self.output.words

    def words(self) -> dict[str, int]:
        """Words by operand, of the output as ``O``, and in all."""
        inputs = {name: each.words for name, each in self.inputs.items()}
        return {**inputs, "O": self.output.words, "total": self.total}


def measure(
    kernel: Kernel,
    tensors: Mapping[str, SparseTensor],
    shape: Mapping[str, int],
    *,
    output: OutputRule = "auto",
    overflow: Overflow | None = None,
    base: Mapping[str, int] | None = None,
) -> Measured:
    """Walk the outer loops with the real tiles, and count.

    Args:
        kernel: a product, with the order of its loops.
        tensors: operands by name, their ranks as the kernel is written; every entry counts as a nonzero.
        shape: sides of a tile by index.
        output: ``streamed``: a partial result is written at each iteration; ``stationary``, which is ``auto``
            too: it stays while loops inside of its own run.
        overflow: of inputs that may exceed their buffers, what happens then; none by default.
        base: of inputs whose tiles are packed, the shape of the tiles in them; all are cut anew by default.

    Raises:
        InputError: the kernel is no single product.
    """
    if not kernel.is_product:
        raise InputError(f"{kernel}: only a product of tensors can be measured; measure its terms")
    tiled: Mapping[str, Tiled | Packed] = (
        cut(kernel, tensors, shape) if base is None else pack_all(kernel, tensors, shape, base)
    )
    operands = {name: (kernel.indices[name], tiles) for name, tiles in tiled.items()}
    fetched, iterations = walk(kernel.order, operands, overflow)
    return Measured(fetched, _written(kernel, tensors, shape, output), iterations)


def _written(
    kernel: Kernel, tensors: Mapping[str, SparseTensor], shape: Mapping[str, int], output: OutputRule
) -> Written:
    loops = None if output == "streamed" else kernel.depth(kernel.result)
    outside = [index for index in kernel.order[:loops] if index in kernel.contracted]
    operands = [(kernel.indices[name], tensors[name]) for name in kernel.inputs]
    ranks = kernel.indices[kernel.result]
    counts = level_counts(operands, ranks, outside, shape)
    visits, nonzeros = counts[0], counts[-1]
    words = 2 * sum(counts[1:]) + (len(ranks) + 1) * visits if ranks else visits  # csf_words, over all visits
    return Written(visits, words, nonzeros)
