"""Small matrices of whole numbers, and a small Gamma whose processing elements can be modules."""

from pathlib import Path

import numpy as np
import scipy.io
from scipy import sparse

SMALL = (
    "pe.count=2",
    "pe.radix=4",
    "fibercache.banks=2",
    "fibercache.size=16KiB",
    "format.element=8",
    "format.value=4",
    "format.dense=none",
)


def written(folder: Path, seed: int, rows: int, density: float, *, whole: bool = True) -> str:
    """A file of a square matrix of whole numbers of both signs, or of any numbers."""
    generator = np.random.default_rng(seed)
    there = generator.random((rows, rows)) < density
    values = generator.integers(1, 9, there.shape) * generator.choice([-1, 1], there.shape)
    values = values.astype(float) if whole else values * generator.random(there.shape)
    path = folder / f"whole{seed}.mtx"
    scipy.io.mmwrite(path, sparse.coo_array(there * values))
    return str(path)
