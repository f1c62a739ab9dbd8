"""Random and adversarial sparse tensors."""

import math

import numpy as np

from fiberscope.workloads.formats import convert_to_numbers
from fiberscope.workloads.tensor import SparseTensor, coordinates_at


def at_positions(shape, positions, bits=32, seed=0):
    """A tensor with nonzeros of ``bits`` at these places, any words that mean finite numbers."""
    rng = np.random.default_rng(seed)
    words = rng.integers(1, 2**bits, len(positions), dtype=np.uint64)
    values = convert_to_numbers(words.astype(f"<u{bits // 8}"), bits)
    values = np.where(np.isfinite(values) & (values != 0), values, 1.0)
    return SparseTensor(tuple(shape), coordinates_at(shape, np.sort(np.asarray(positions, np.int64))), values)


def uniform(shape, nonzeros, bits=32, seed=0):
    """So many nonzeros anywhere."""
    places = math.prod(shape)
    rng = np.random.default_rng(seed)
    return at_positions(shape, rng.choice(places, min(nonzeros, places), replace=False), bits, seed)


def runs_of(lengths, shape):
    """A nonzero behind each of these runs of zeros, in a tensor that is filled up by zeros."""
    return at_positions(shape, np.cumsum(np.add(lengths, 1)) - 1)


ADVERSARIAL = {
    "empty": at_positions((5, 7), []),
    "one place": at_positions((1, 1), [0]),
    "one empty place": at_positions((1, 1), []),
    "the last place": at_positions((9, 30), [269]),
    "the first place": at_positions((9, 30), [0]),
    "full": at_positions((6, 5), range(30)),
    "a row": at_positions((1, 100), [3, 50, 99]),
    "a column": at_positions((100, 1), [3, 50, 99]),
    "a run of 14": runs_of([14], (1, 40)),
    "a run of 15": runs_of([15], (1, 40)),
    "a run of 16": runs_of([16], (1, 40)),
    "a run of 29": runs_of([29], (1, 40)),
    "a run of 30": runs_of([30], (1, 40)),
    "a run of 31": runs_of([31, 0], (1, 40)),
    "a run of 32": runs_of([32], (1, 40)),
    "runs": runs_of([14, 15, 16, 30, 0, 45, 1], (16, 9)),
    "rows of one": at_positions((64, 64), [65 * row for row in range(64)]),
    "a hub": at_positions((40, 40), [*range(0, 1600, 40), *range(1, 40)]),
    "powers of two": at_positions((8, 16), range(63)),
    "a vector": at_positions((40,), [0, 17, 39]),
    "a cube": at_positions((2, 3, 4), [1, 8, 11, 18]),
    "an empty cube": at_positions((2, 3, 4), []),
    "order 5": uniform((3, 1, 4, 2, 5), 20),
}
