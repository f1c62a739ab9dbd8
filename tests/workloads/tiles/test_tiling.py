"""Tiles: they hold what the tensor has, their words are those of a real tree, sizes come out as published."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.metrics import METRICS, count_csf_words, find_metric
from fiberscope.workloads.tiles.tiling import tile


@st.composite
def cut_tensors(draw):
    """A tensor of one to four ranks, the shape of its tiles, and an order."""
    ranks = draw(st.integers(1, 4))
    extents = tuple(draw(st.integers(1, 9)) for _ in range(ranks))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kept = generator.random(extents) < draw(st.sampled_from([0.0, 0.05, 0.3, 1.0]))
    coordinates = np.nonzero(kept)
    values = generator.integers(1, 100, len(coordinates[0])).astype(float)
    tensor = SparseTensor.from_coordinates(extents, coordinates, values)
    shape = tuple(draw(st.integers(1, 11)) for _ in range(ranks))
    return tensor, shape, tuple(draw(st.permutations(range(ranks))))


def plain_tiles(tensor, shape, order):
    """By tile, in the order stored, its entries as (coordinates inside, value), in order."""
    found: dict = {}
    for point, value in zip(zip(*tensor.coordinates, strict=True), tensor.values, strict=True):
        outer = tuple(int(point[rank] // min(shape[rank], tensor.shape[rank])) for rank in order)
        inner = tuple(int(point[rank] % min(shape[rank], tensor.shape[rank])) for rank in order)
        found.setdefault(outer, []).append((inner, float(value)))
    return {outer: sorted(found[outer]) for outer in sorted(found)}


@given(cut_tensors())
def test_tiles_hold_what_the_tensor_has_in_the_order_of_a_tree(case):
    tensor, shape, order = case
    tiled = tile(tensor, shape, order)
    plain = plain_tiles(tensor, shape, order)
    assert list(zip(*(column.tolist() for column in tiled.ids), strict=True)) == list(plain)
    assert tiled.nonzeros.tolist() == [len(entries) for entries in plain.values()]
    inside = [point for entries in plain.values() for point, _value in entries]
    assert list(zip(*(column.tolist() for column in tiled.inner()), strict=True)) == inside
    assert tiled.outer().tolist() == [at for at, one in enumerate(plain.values()) for _entry in one]


@given(cut_tensors())
def test_the_words_of_a_tile_are_the_lengths_of_its_trees_arrays(case):
    tensor, shape, order = case
    tiled = tile(tensor, shape, order)
    plain = list(plain_tiles(tensor, shape, order).values())
    for number, words in enumerate(tiled.words.tolist()):
        points, values = zip(*plain[number], strict=True)
        ranks = {f"rank{rank}": size for rank, size in enumerate(tiled.shape)}
        tree = FiberTree.from_coo(ranks, np.array(points).T, np.array(values))
        assert words == len(tree.values) + sum(map(len, (*tree.coordinates, *tree.segments)))
        assert [fibers[number] for fibers in tiled.fibers] == [len(level) for level in tree.coordinates[:-1]]


@given(cut_tensors())
def test_occupancies_count_every_tile_of_the_grid(case):
    tensor, shape, order = case
    tiled = tile(tensor, shape, order)
    found, counts = tiled.occupancies()
    assert counts.sum() == math.prod(tiled.grid)
    assert (found * counts).sum() == tensor.nonzeros
    assert (counts > 0).all()


def dense(*extents):
    return SparseTensor.from_coordinates(extents, np.nonzero(np.ones(extents)), np.ones(math.prod(extents)))


@pytest.mark.parametrize(
    ("extents", "words"),
    [((4, 4), 43), ((128, 128), 33_027), ((16,) * 3, 8_740), ((25,) * 3, 32_554), ((26,) * 3, 36_560)],
)
def test_dense_tiles_have_the_words_of_the_table(extents, words):
    assert tile(dense(*extents), extents).words.tolist() == [words]


def test_a_diagonal_and_one_nonzero_have_the_words_of_the_table():
    diagonal = sparse.csr_array(sparse.eye_array(128, format="csr"))
    assert tile(diagonal, (128, 128)).words.tolist() == [515]
    assert tile(diagonal, (1, 1)).words.tolist() == [7] * 128


def test_each_metric_measures_one_nonzero():
    one = tile(dense(1, 1), (1, 1))
    sizes = {
        name: (one.fetched_sizes(metric)[0], one.buffered_sizes(metric)[0])
        for name, metric in METRICS.items()
    }
    expected = {"words": (7, 7), "bytes_drt": (32, 32), "nnz": (1, 1), "opal": (7, 6), "values_only": (7, 1)}
    assert sizes == expected


def test_a_scalar_is_one_word():
    assert count_csf_words(1, 0, 0) == 1


def test_a_grid_far_too_large_to_count_costs_what_its_few_tiles_do():
    extents = (2**20, 2**20, 2**20)
    tensor = SparseTensor.from_coordinates(extents, [[0, 5], [2**20 - 1, 7], [3, 9]], np.ones(2))
    tiled = tile(tensor, (16, 16, 16))
    assert len(tiled) == 2
    assert tiled.grid == (65_536,) * 3


@pytest.mark.parametrize(
    ("shape", "order", "message"),
    [
        ((4,), None, "a tile of 4 of 2 ranks; an extent of at least 1 for each"),
        ((4, 0), None, "a tile of 4 x 0 of 2 ranks; an extent of at least 1 for each"),
        ((4, 4), (0, 0), "the order 0, 0 of 2 ranks; each of them once, from 0"),
    ],
)
def test_what_does_not_fit_the_tensor_is_refused(shape, order, message):
    with pytest.raises(WorkloadError) as caught:
        tile(dense(3, 3), shape, order)
    assert str(caught.value) == message


def test_more_places_than_numbers_are_refused():
    huge = SparseTensor.from_coordinates((2**22,) * 3, [[0], [0], [0]], np.ones(1))
    with pytest.raises(WorkloadError, match="more places than 63 bits number"):
        tile(huge, (100, 100, 100))


def test_an_unknown_metric_is_refused_with_the_nearest():
    with pytest.raises(WorkloadError, match="no size of a tile is called 'word'; did you mean words"):
        find_metric("word")


def test_orders_of_storage_change_rows_but_not_tiles():
    tensor = SparseTensor.from_coordinates((4, 4), [[0, 1, 2], [0, 0, 0]], np.ones(3))
    assert tile(tensor, (4, 4), (0, 1)).fibers[0].tolist() == [3]
    assert tile(tensor, (4, 4), (1, 0)).fibers[0].tolist() == [1]
