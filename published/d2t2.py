"""Improvement of traffic by D2T2 for kernels with a tensor of three dimensions, on stand-ins for FROSTT's.

The published tensors do not ship. A stand-in has the published extents and nonzeros, at uniform random
positions. The random matrices of the kernels have the published shapes and densities.

Source: R. Sharma et al., "A Probabilistic Perspective on Tiling Sparse Tensor Algebra", MICRO 2025, Tables 2
and 4, Section 6.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.measure import measure
from fiberscope.models.tiles.plan import plan
from fiberscope.workloads.tensor import SparseTensor
from published.figures import Figure
from published.tiles import CAPACITY

TENSORS = {"Uber": (183, 1140, 1717, 1_117_629)}  # extents, nonzeros
DENSITY = 0.01  # of the random matrices
IMPROVEMENT = "improvement of traffic over conservative tiles"
STAND_IN = "stand-in, uniform"
PUBLISHED: Mapping[tuple[str, str], float] = {("Uber", "TTM"): 1.22, ("Uber", "MTTKRP"): 1.05}
KERNELS = {
    "TTM": ("X[i,j,k] = C[i,j,l] * B[k,l]", "ijlk"),
    "MTTKRP": ("D[i,j] = A[i,k,l] * B[j,k] * C[j,l]", "iklj"),
}


def d2t2(tell: Callable[[str], None]) -> list[Figure]:
    """Return the improvement for each tensor and kernel."""
    figures = []
    for (tensor, kernel), published in PUBLISHED.items():
        tell(f"D2T2: {kernel} of {tensor}")
        run = f"Table 4, {kernel}, {tensor}"
        figures.append(Figure("d2t2", IMPROVEMENT, run, published, improve(tensor, kernel), STAND_IN))
    return figures


def improve(tensor: str, kernel: str) -> float:
    """Return the words that conservative tiles move, over those of D2T2's tiles."""
    *extents, nonzeros = TENSORS[tensor]
    draws = np.random.default_rng(0)
    stand_in = random_tensor(tuple(extents), nonzeros, draws)
    first, second, third = extents
    shapes = {
        "TTM": {"B": (max(first, second), third)},
        "MTTKRP": {"B": (first, second), "C": (first, third)},
    }
    operands = {
        name: random_tensor(shape, round(prod(shape) * DENSITY), draws)
        for name, shape in shapes[kernel].items()
    }
    parsed = Kernel.read(*KERNELS[kernel])
    tensors = {parsed.inputs[0]: stand_in, **operands}
    schemes = plan(parsed, tensors, CAPACITY).schemes
    words = [measure(parsed, tensors, schemes[name].shape).total for name in ("conservative", "d2t2")]
    return words[0] / words[1]


def random_tensor(shape: tuple[int, ...], nonzeros: int, draws: np.random.Generator) -> SparseTensor:
    """Return a tensor of ones at distinct, uniformly random positions.

    Args:
        shape: its extents.
        nonzeros: number of ones.
        draws: the source of randomness.
    """
    places = np.empty(0, np.int64)
    while len(places) < nonzeros:
        places = np.unique(np.append(places, draws.integers(prod(shape), size=nonzeros)))
    chosen = draws.choice(places, nonzeros, replace=False)
    return SparseTensor.from_coordinates(shape, np.unravel_index(chosen, shape), np.ones(nonzeros))
