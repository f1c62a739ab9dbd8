"""Statistics: the worked examples to the last digit, identities, samples, and JSON that can be read again."""

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from one_line import one_line
from tiling import examples

from fiberscope.base.errors import InputError
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.options import Options
from fiberscope.models.tiles.statistics import (
    MIN_SAMPLED_TILES,
    _draw_tiles,
    collect,
    collect_all,
    from_json,
    to_document,
    to_json,
)
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.tiling import tile


def known(text, order, tensors, edge):
    kernel = Kernel.read(text, order)
    return collect_all(kernel, tensors, dict.fromkeys(kernel.order, edge))


def shown(numbers, digits=4):
    return [round(float(number), digits) for number in np.ravel(numbers)]


@pytest.fixture
def square():
    return known(examples.SQUARE, "ikj", examples.squared(), 4)


def test_the_worked_matrices_have_the_sizes_of_the_table(square):
    assert [(round(one.size_tile, 10), one.max_tile, one.tiles) for one in square.values()] == [
        (14.8, 25, 10),
        (14.2, 25, 10),
    ]
    for one in square.values():
        assert one.pr_tile_index == (1.0, 0.625)
        assert (one.p_tile, one.pr) == (0.625, 0.2125)


def test_the_worked_matrices_fill_the_places_of_the_table(square):
    a, b = square["A"], square["B"]
    assert shown(a.prob_index[0]) == [0.5, 0.7, 0.6, 0.7]
    assert shown(b.prob_index[0]) == [0.6, 0.5, 0.6, 0.5]
    assert a.beginnings[1].tolist() == [4, 3, 2, 1, 0, 5, 4, 0, 0, 0, 5, 3, 2, 0, 1, 4]
    assert b.beginnings[1].tolist() == [4, 0, 0, 2, 3, 5, 0, 0, 2, 4, 5, 1, 1, 0, 3, 4]
    assert shown(a.prob_index[0][:, None] * a.prob_index[1].reshape(4, 4)) == shown(a.occupied)


def test_the_worked_matrices_overlap_as_in_the_table(square):
    corrs = square["B"].corrs["k"]
    assert np.array_equal(corrs["pooled"], np.array([34, 9, 2, 1]) / 34)
    assert shown(np.cumsum(corrs["pooled"])) == [1, 1.2647, 1.3235, 1.3529]
    assert shown(corrs["per_tile"]) == [1, 0.1286, 0.0286, 0.0143]
    assert shown(square["A"].tile_corrs["i"]["slice"]) == [1, 0.75, 0.5, 0.25]
    assert shown(square["A"].tile_corrs["i"]["pooled"]) == [1, 0.5, 0.2, 0.1]


def test_the_worked_tensors_of_order_three_have_the_statistics_of_the_table():
    ttm = known(examples.TTM, "ijlk", examples.ttm(), 2)
    assert (round(ttm["C"].size_tile, 10), ttm["C"].pr_tile_index, ttm["C"].pr) == (14.4, (1, 1, 0.625), 0.25)
    assert (round(ttm["B"].size_tile, 3), ttm["B"].pr_tile_index, ttm["B"].pr) == (10.333, (1, 0.75), 0.5)
    assert shown(ttm["B"].corrs["l"]["pooled"]) == [1, 0.3333]
    found = known(examples.MTTKRP, "iklj", examples.mttkrp(), 2)
    assert [round(one.size_tile, 3) for one in found.values()] == [14.4, 8, 9.667]
    assert [one.p_tile for one in found.values()] == [0.625, 1, 0.75]
    assert found["B"].corrs["k"]["pooled"].tolist() == found["C"].corrs["l"]["pooled"].tolist() == [1, 0]


@st.composite
def drawn(draw):
    """A random tensor of order 2 or 3 and the shape of its tiles; sometimes all but full or empty."""
    extents = tuple(draw(st.integers(1, 40)) for _ in range(draw(st.integers(2, 3))))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    found = np.nonzero(generator.random(extents) < draw(st.sampled_from([0, 0.01, 0.2, 0.9])))
    tensor = SparseTensor.from_coordinates(extents, found, np.ones(len(found[0])))
    return tensor, tuple(draw(st.integers(1, 20)) for _ in extents)


@given(drawn())
def test_shares_of_tiles_telescope_and_shares_of_places_add_up_to_the_nonzeros(case):
    tensor, shape = case
    tiled = tile(tensor, shape)
    found = collect(tiled, "ijk"[: tensor.order], "k")
    assert math.isclose(found.p_tile, len(tiled) / math.prod(tiled.grid))
    assert math.isclose(found.pr, found.occupied.mean(), abs_tol=1e-15)
    by_chain = np.ones(())
    for shares, ranks in zip(found.prob_index, range(1, tensor.order + 1), strict=True):
        by_chain = by_chain[..., None] * shares.reshape(tiled.shape[:ranks])
    assert np.allclose(by_chain, found.occupied)


@given(drawn(), st.integers(0, 2))
def test_overlaps_are_those_of_slices_compared_one_by_one(case, rank):
    tensor, shape = case
    rank = min(rank, tensor.order - 1)
    tiled = tile(tensor, shape)
    names = "ijk"[: tensor.order]
    found = collect(tiled, names, names)
    assume(len(tiled))
    pooled, per_tile = np.zeros(tiled.shape[rank]), np.zeros(tiled.shape[rank])
    for number in range(len(tiled)):
        part = np.zeros(tiled.shape, bool)
        part[tuple(column[slice(*tiled.starts[number : number + 2])] for column in tiled.inner())] = True
        part = np.moveaxis(part, rank, 0)
        both = np.array([(part[: len(part) - s] & part[s:]).sum() for s in range(len(part))])
        pooled += both
        per_tile += both / both[0] / len(tiled)
    assert np.allclose(found.corrs[names[rank]]["pooled"], pooled / pooled[0])
    assert np.allclose(found.corrs[names[rank]]["per_tile"], per_tile)
    full = np.zeros(tiled.grid, bool)
    full[tiled.ids] = True
    full = np.moveaxis(full, rank, 0).reshape(tiled.grid[rank], -1)
    for reading, slices in (("pooled", full), ("slice", full.any(axis=1, keepdims=True))):
        both = np.array([(slices[: len(slices) - s] & slices[s:]).sum() for s in range(len(slices))])
        if both[0]:
            assert np.allclose(found.tile_corrs[names[rank]][reading], both / both[0])


def test_a_long_dense_column_goes_by_spectra_and_is_exact():
    edge = 300
    tensor = SparseTensor.from_coordinates((edge, 2), [np.arange(edge), np.zeros(edge, int)], np.ones(edge))
    found = collect(tile(tensor, (edge, 2)), "kj", "k")
    assert np.array_equal(found.corrs["k"]["pooled"], np.arange(edge, 0, -1) / edge)


def test_of_nothing_every_statistic_is_zero():
    empty = SparseTensor.from_coordinates((9, 9), [[], []], np.ones(0))
    found = collect(tile(empty, (4, 4)), "ik", "k")
    assert (found.size_tile, found.max_tile, found.p_tile, found.pr, found.tiles) == (0, 0, 0, 0, 0)
    assert found.corrs["k"]["pooled"].tolist() == [1, 0, 0, 0]


def scattered():
    generator = np.random.default_rng(7)
    places = np.unique(generator.integers(0, 400 * 400, 6000))
    return SparseTensor.from_coordinates((400, 400), [places // 400, places % 400], np.ones(len(places)))


def test_a_sample_repeats_by_its_seed_and_is_of_some_tiles():
    tiled = tile(scattered(), (8, 8))
    whole, once, again, other = (
        collect(tiled, "ik", "k", share, seed) for share, seed in ((1, 0), (0.1, 0), (0.1, 0), (0.1, 1))
    )
    assert to_json(once) == to_json(again)
    assert not np.array_equal(once.corrs["k"]["pooled"], other.corrs["k"]["pooled"])
    assert np.allclose(once.corrs["k"]["pooled"], whole.corrs["k"]["pooled"], atol=0.03)
    assert (whole.sample.tiles, once.sample.tiles) == (len(tiled), math.ceil(len(tiled) / 10))
    assert len(tiled) * 37 % 100
    assert collect(tiled, "ik", "k", 0.37).sample.tiles == math.ceil(0.37 * len(tiled))
    assert once.size_tile == whole.size_tile
    assert collect(tiled, "ik", "k", 1e-6).sample.tiles == MIN_SAMPLED_TILES


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 9))
def test_a_sample_has_as_many_tiles_each_once_and_in_order(tiles, number, seed):
    drawn = _draw_tiles(tiles, min(number, tiles), seed).tolist()
    assert drawn == sorted(set(drawn) & set(range(tiles)))
    assert len(drawn) == min(number, tiles)


def test_sizes_are_those_of_ranks_as_written_whatever_the_loops():
    tensors = examples.squared()
    for order in ("ikj", "kij", "ijk"):
        found = known(examples.SQUARE, order, tensors, 4)
        assert [round(one.size_tile, 10) for one in found.values()] == [14.8, 14.2]
    fullest = known(examples.SQUARE, "kij", tensors, 4)["A"].fullest
    assert fullest == {"k": 0, "i": 0}


def test_statistics_are_read_again_as_they_were(square):
    for one in square.values():
        again = from_json(to_json(one), "a.json")
        assert to_document(again) == to_document(one)
        assert np.array_equal(again.occupied, one.occupied)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document.update(version=9), "a.json: statistics of version 9; version 1 is read"),
        (lambda document: document.pop("corrs"), "a.json: corrs: field required; collect anew"),
    ],
)
def test_statistics_of_another_form_are_refused(square, change, message):
    document = json.loads(to_json(square["A"]))
    change(document)
    with one_line(InputError, message):
        from_json(json.dumps(document), "a.json")


def test_what_is_no_json_is_refused():
    with pytest.raises(InputError, match=r"a\.json:1: .*; statistics are kept as JSON"):
        from_json("{", "a.json")


def test_the_metric_of_the_options_is_that_of_the_sizes():
    kernel = Kernel.read(examples.SQUARE, "ikj")
    base = dict.fromkeys("ikj", 4)
    found = collect_all(kernel, examples.squared(), base, Options(metric="nnz"))
    assert (found["A"].size_tile, found["A"].max_tile) == (3.4, 7)
