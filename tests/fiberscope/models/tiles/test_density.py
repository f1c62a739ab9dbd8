"""Tiles and the analytical model's density of actual data count the same occupancies."""

import math

import numpy as np
import pytest

from fiberscope.models.analytic.counted_densities import Actual
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.tiling import tile


@pytest.mark.parametrize("seed", range(6))
def test_tiles_have_the_occupancies_of_the_density_of_actual_data(seed):
    generator = np.random.default_rng(seed)
    extents = tuple(int(extent) for extent in generator.integers(2, 40, generator.integers(1, 4)))
    found = np.nonzero(generator.random(extents) < 0.1)
    tensor = SparseTensor.from_coordinates(extents, found, np.ones(len(found[0])))
    shape = [int(generator.integers(1, extent + 1)) for extent in extents]
    density = Actual(extents, np.stack(tensor.coordinates, axis=1))
    occupancies, shares = density.distribution(shape)
    tiled = tile(tensor, shape)
    ours, counts = tiled.occupancies()
    assert ours.tolist() == occupancies.tolist()
    assert np.allclose(counts / math.prod(tiled.grid), shares)
    assert density.maximum(shape) == tiled.nonzeros.max(initial=0)
    assert 1 - density.probability_empty(shape) == pytest.approx(len(tiled) / math.prod(tiled.grid))
