"""Packed tiles: what their base tiles have, and the words of a tree over these."""

import numpy as np
import pytest

from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.packed import pack
from fiberscope.workloads.tiles.tiling import tile


def test_a_packed_tile_has_its_base_tiles_and_a_tree_over_them():
    """Tiles (0,0), (0,1) and (1,1) of one nonzero each, 7 words; over them 3 coordinates and 2 rows."""
    tensor = SparseTensor.from_coordinates((8, 8), [[0, 0, 2], [0, 2, 3]], np.ones(3))
    found = pack(tile(tensor, (2, 2)), (2, 2))
    tree = 3 + 2 * 2 + 3
    assert (found.words.tolist(), found.nonzeros.tolist()) == ([3 * 7 + tree], [3])
    assert [column.tolist() for column in found.ids] == [[0], [0]]


def test_a_tile_alone_stays_as_it_is():
    base = tile(SparseTensor.from_coordinates((8, 8), [[0, 0, 2], [0, 2, 3]], np.ones(3)), (2, 2))
    assert pack(base, (1, 1)).words.tolist() == base.words.tolist() == [7, 7, 7]


@pytest.mark.parametrize("seed", range(8))
def test_packed_tiles_are_the_sums_of_what_lies_in_them(seed):
    generator = np.random.default_rng(seed)
    extents = tuple(generator.integers(1, 30, generator.integers(1, 4)))
    found = np.nonzero(generator.random(extents) < 0.2)
    tensor = SparseTensor.from_coordinates(tuple(map(int, extents)), found, np.ones(len(found[0])))
    shape, factors = generator.integers(1, 5, (2, len(extents)))
    base = tile(tensor, shape.tolist())
    packed = pack(base, factors.tolist())
    whole: dict = {}
    for number, place in enumerate(zip(*base.ids, strict=True)):
        outer = tuple(
            int(at // min(size, tiles)) for at, size, tiles in zip(place, factors, base.grid, strict=True)
        )
        whole.setdefault(outer, []).append((number, tuple(map(int, place))))
    assert list(zip(*(column.tolist() for column in packed.ids), strict=True)) == sorted(whole)
    for at, outer in enumerate(sorted(whole)):
        members = whole[outer]
        fibers = sum(len({place[:rank] for _number, place in members}) for rank in range(1, len(extents)))
        tree = len(members) + 2 * fibers + len(extents) + 1 if factors.max() > 1 else 0
        assert packed.words[at] == sum(base.words[number] for number, _place in members) + tree
        assert packed.nonzeros[at] == sum(base.nonzeros[number] for number, _place in members)
