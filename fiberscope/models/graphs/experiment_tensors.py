"""Generators of the tensors in the experiments of the SAM paper, equal to the paper's in every value.

Source: the artifact of SAM (ASPLOS 2023), github.com/weiya711/sam, scripts of the synthetic studies. Random
zeros are no entries. Vectors of runs and blocks are generated in pairs; ``operand`` selects the vector.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fiberscope.workloads.errors import WorkloadError, suggest
from fiberscope.workloads.spec import Size, Sizes, Spec, format_spec, parse_parameters, parse_sizes
from fiberscope.workloads.tensor import SparseTensor

PREFIX = "sam-"
VECTOR = 2000  # coordinates of a vector of figure 13
MAX_VALUE, MAX_RUN_VALUE = 255, 1000  # exclusive bound of random values, inclusive bound of run values
TILE = 128  # coordinates per side of a tile of figure 15
TRIES = 1000  # attempts to place a block apart from all others
Dense = npt.NDArray[np.int64]
_DECIMAL = r"(\d+\.?\d*|\.\d+)"


class _Ones(Spec):
    shape: Sizes


class _Random(Spec):
    shape: Sizes
    sparsity: Annotated[str, Field(pattern=rf"^{_DECIMAL}(/{_DECIMAL})*$")]
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0  # a limit of numpy's older generator


class _Tiles(Spec):
    side: Size
    nonzeros: Size
    operand: Literal["1", "2"]


class _Pair(Spec):
    length: Size
    nonzeros: Annotated[int, Field(ge=1, le=VECTOR)] = 400
    operand: Literal["1", "2"]


def is_published(text: str) -> bool:
    """Return whether a text begins as that of a generator of this module: with ``sam-`` or ``ones:``."""
    return text.startswith((PREFIX, "ones:"))


def generate(text: str) -> tuple[SparseTensor, str]:
    """Return the tensor of a generator, and the generator with all parameters.

    ``sam-random:shape=250x100,sparsity=0.95,seed=0`` (several sparsities, separated by ``/``, give the last
    of several successive tensors), ``sam-runs:length=5,operand=1``, ``sam-blocks:length=5,operand=2`` (the
    first or second vector of a pair), ``sam-tiles:side=1024,nonzeros=5000,operand=1``, ``ones:shape=250x10``.

    Raises:
        WorkloadError: a generator, key or value is invalid, or the nonzeros do not fit their tensor.
    """
    name = text.partition(":")[0]
    if name not in _GENERATORS:
        raise WorkloadError(f"no generator {name!r}", location=text, fix=suggest(name, _GENERATORS))
    model, build = _GENERATORS[name]
    spec = parse_parameters(text, model)
    return build(spec), format_spec(name, spec)


def ones(shape: tuple[int, ...]) -> SparseTensor:
    """Return a full tensor of ones; without dimensions, the number 1."""
    return _extract_entries(np.ones(shape, np.int64))


def _extract_entries(dense: Dense) -> SparseTensor:
    indices = np.nonzero(dense)
    columns = tuple(column.astype(np.int64) for column in indices)
    return SparseTensor(dense.shape, columns, dense[indices].astype(np.float64))


def _draw_random(spec: _Random) -> SparseTensor:
    values, zeros = np.random.RandomState(spec.seed), _as_python_draws(spec.seed)
    dense = np.zeros(parse_sizes(spec.shape), np.int64)
    # each tensor advances both generators, also those that are not returned
    for sparsity in map(float, spec.sparsity.split("/")):
        dense = values.randint(0, MAX_VALUE, size=dense.shape)
        dense = dense * (zeros.random_sample(dense.shape) >= sparsity)
    return _extract_entries(dense)


def _as_python_draws(seed: int) -> np.random.RandomState:
    """Return a vectorised generator that yields the numbers of ``random.Random``."""
    *key, position = random.Random(seed).getstate()[1]
    # both use the Mersenne Twister, and make a number of [0, 1) from the same 53 bits
    draws = np.random.RandomState()
    draws.set_state(("MT19937", np.array(key, np.uint32), position, 0, 0.0))
    return draws


@dataclass
class _Vector:
    """A vector of a pair while it is filled."""

    nonzeros: int
    draws: random.Random
    count: int = 0

    def __post_init__(self) -> None:
        self.dense = np.zeros(VECTOR, np.int64)

    def put(self, coordinate: int, *, force: bool = False) -> None:
        """Store a random value at a coordinate, unless the vector has enough values.

        Args:
            coordinate: the coordinate; it may have a value already, which counts again.
            force: store the value also if the vector has enough values.

        Raises:
            WorkloadError: the coordinate is beyond the vector.
        """
        if force or self.count < self.nonzeros:
            if coordinate >= VECTOR:
                raise _build_overflow_error()
            self.dense[coordinate] = self.draws.randint(0, MAX_RUN_VALUE)
            self.count += 1


def _build_overflow_error() -> WorkloadError:
    return WorkloadError(f"runs and blocks of so many nonzeros do not fit a vector of {VECTOR}")


def _build_runs(spec: _Pair) -> tuple[_Vector, _Vector]:
    """Return two vectors with alternating runs of ``length`` coordinates, and a shared one after each run.

    In addition, the second vector has a value of its own at coordinate 0, and the first has one at the end.
    """
    draws = random.Random(spec.seed)
    pair = first, second = _Vector(spec.nonzeros, draws), _Vector(spec.nonzeros, draws)
    second.dense[0] = draws.randint(0, MAX_RUN_VALUE)
    coordinate = 1
    while min(first.count, second.count) < spec.nonzeros:
        for vector in pair:
            for offset in range(spec.length):
                vector.put(coordinate + offset)
            coordinate += spec.length
            for shared in pair:
                shared.put(coordinate, force=True)
            coordinate += 1
    first.put(coordinate, force=True)
    return pair


def _build_blocks(spec: _Pair) -> tuple[_Vector, _Vector]:
    """Return two vectors with blocks of ``length`` coordinates, shifted by at most half a block.

    Half of an odd length is rounded up to the left, and down to the right. Blocks of a vector may
    overlap if no free place is found.
    """
    draws = random.Random(spec.seed)
    pair = first, second = _Vector(spec.nonzeros, draws), _Vector(spec.nonzeros, draws)
    while min(first.count, second.count) < spec.nonzeros:
        start = _free_start(first.dense, spec.length, draws)
        length = min(spec.length, VECTOR - first.count)
        second_start = start + draws.randint(-length // 2, length // 2)
        for offset in range(length):
            first.put(start + offset)
            second.put(second_start + offset)
    return pair


def _free_start(dense: Dense, length: int, draws: random.Random) -> int:
    """Return a start for a block, at least a block's length from all others if such a start is found."""
    # with these bounds, the shifted block of the second vector lies inside the vector as well
    start, lowest, highest = 0, length // 2 + 1, VECTOR - 5 - int(1.5 * length)
    if lowest > highest:
        raise _build_overflow_error()
    for _try in range(TRIES):
        start = draws.randint(lowest, highest)
        if not dense[max(0, start - length) : start + 2 * length].any():
            break
    return start


def _build_vector(spec: _Pair, make: Callable[[_Pair], tuple[_Vector, _Vector]]) -> SparseTensor:
    return _extract_entries(make(spec)[int(spec.operand) - 1].dense)


def _build_tiles(spec: _Tiles) -> SparseTensor:
    """Return a square matrix of ones in tiles; for operand 2, shifted by a column and transposed.

    The dimensions are row of tiles, column of tiles, row in the tile, and column in the tile.
    """
    if spec.nonzeros > spec.side**2:
        raise WorkloadError(f"{spec.nonzeros:,} nonzeros do not fit a square of side {spec.side:,}")
    positions = np.random.default_rng(spec.seed).choice(spec.side**2, spec.nonzeros, replace=False)
    rows, columns = np.divmod(np.sort(positions), spec.side)
    if spec.operand == "2":
        rows, columns = (columns + 1) % spec.side, rows
    tiles, offsets = zip(*(np.divmod(axis, TILE) for axis in (rows, columns)), strict=True)
    count = -(-spec.side // TILE)
    return SparseTensor((count, count, TILE, TILE), (*tiles, *offsets), np.ones(spec.nonzeros))


_GENERATORS: dict[str, tuple[type[Any], Callable[[Any], SparseTensor]]] = {
    "ones": (_Ones, lambda spec: ones(parse_sizes(spec.shape))),
    f"{PREFIX}random": (_Random, _draw_random),
    f"{PREFIX}runs": (_Pair, partial(_build_vector, make=_build_runs)),
    f"{PREFIX}tiles": (_Tiles, _build_tiles),
    f"{PREFIX}blocks": (_Pair, partial(_build_vector, make=_build_blocks)),
}
