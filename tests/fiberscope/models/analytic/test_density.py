"""Density models: closed forms worked by hand, scipy, and tensors counted element by element."""

import itertools
from collections import Counter
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

from fiberscope.base.errors import InputError
from fiberscope.models.analytic.counted_densities import Actual, Banded, CountedDensity
from fiberscope.models.analytic.density import Density
from fiberscope.models.analytic.distributions import build_density
from fiberscope.models.analytic.joint import Operand, count_nonempty_pairs, share_of_nonempty_pairs
from fiberscope.models.analytic.uniform import (
    FixedStructured,
    Uniform,
    compute_hypergeometric,
    compute_probability_none,
)

EXACT = 1e-9


@pytest.mark.parametrize(
    ("elements", "nonzeros", "tile", "expected", "empty"),
    [
        (64, 16, 4, 1.0, 0.3062438619),
        (64, 16, 8, 2.0, 0.0852541563),
        (16, 8, 4, 2.0, 1 / 26),
        (16384, 1664, 128, 13.0, 1.0518597e-6),
        (1024, 103, 16, 1.609375, 0.1809679544),
    ],
)
def test_uniform_worked_by_hand(
    elements: int, nonzeros: int, tile: int, expected: float, empty: float
) -> None:
    model = Uniform([elements], nonzeros / elements)
    assert model.nonzeros == nonzeros
    assert model.expected([tile]) == pytest.approx(expected, abs=EXACT)
    assert model.probability_empty([tile]) == pytest.approx(empty, abs=EXACT / 10)


def test_uniform_distribution_and_quantiles() -> None:
    assert compute_hypergeometric(16, 8, 4)[1][1] == pytest.approx(0.2461538462, abs=EXACT)
    model = Uniform([1024], 103 / 1024)
    assert [model.quantile([64], share) for share in (0.5, 0.9, 0.95, 0.99, 1.0)] == [6, 9, 10, 12, 64]


def test_a_quantile_that_a_share_just_reaches_is_no_larger() -> None:
    model = Uniform([2], 0.5)
    assert model.distribution([1])[1].tolist() == [0.5, 0.5]
    assert [model.quantile([1], share) for share in (0.0, 0.5, 0.51, 1.0)] == [0, 0, 1, 1]


def test_accesses_of_blocks() -> None:
    model = Uniform([1024], 0.1)
    assert model.expected_blocks([16], 4) == pytest.approx(0.8356, abs=5e-5)
    assert model.expected_blocks([64], 8) == pytest.approx(1.1837, abs=5e-5)


def test_a_product_that_is_whole_but_for_rounding() -> None:
    assert Uniform([100], 0.07).nonzeros == 7  # 0.07 * 100 is 7.000000000000001
    assert FixedStructured([100], 0.07).distribution([100])[0].tolist() == [7]


sizes = st.one_of(st.integers(1, 60), st.integers(1, 10**9))


@given(st.data(), sizes)
def test_uniform_as_scipy(data: st.DataObject, elements: int) -> None:
    nonzeros = data.draw(st.integers(0, elements))
    drawn = data.draw(st.one_of(st.integers(0, min(elements, 50)), st.integers(0, elements)))
    assert compute_probability_none(elements, nonzeros, drawn) == pytest.approx(
        _none_by_sums(elements, nonzeros, drawn), rel=1e-7, abs=1e-12
    )


def _none_by_sums(elements: int, nonzeros: int, drawn: int) -> float:
    """The chance as a product, in logarithms, of at most a million factors."""
    few, more = sorted((nonzeros, drawn))
    if few + more > elements:
        return 0.0
    if few > 10**6:
        return float(stats.hypergeom.pmf(0, elements, nonzeros, drawn))
    left = elements - np.arange(few, dtype=np.float64)
    return float(np.exp(np.sum(np.log1p(-more / left)))) if more < left.min(initial=np.inf) else 0.0


@given(st.data(), st.one_of(st.integers(1, 60), st.integers(1, 10**6)))
def test_hypergeometric_as_scipy(data: st.DataObject, elements: int) -> None:
    nonzeros, drawn = data.draw(st.integers(0, elements)), data.draw(st.integers(0, elements))
    occupancies, probabilities = compute_hypergeometric(elements, nonzeros, drawn)
    expected = stats.hypergeom.pmf(occupancies, elements, nonzeros, drawn)
    assert probabilities == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert np.dot(occupancies, probabilities) == pytest.approx(nonzeros * drawn / elements, rel=1e-9)


def test_many_tiles_at_once() -> None:
    model = Uniform([64, 64], 0.3)
    rows, columns = np.array([[1], [8], [64]]), np.array([1, 2, 32, 64])
    for question in (model.probability_empty, model.expected, model.maximum, model.minimum):
        answers = question([rows, columns])
        for place, extents in np.ndenumerate(answers):
            tile = [int(rows[place[0], 0]), int(columns[place[1]])]
            assert extents == question(tile)


def test_structured_tiles() -> None:
    model = FixedStructured([64], 0.25)
    assert model.probability_empty([4]) == 0
    assert model.probability_empty([2]) == 0.5
    assert model.distribution([6])[1].tolist() == [0.5, 0.5]
    assert model.inside([8], 2).probability_empty([2]) == 0.5
    assert model.maximum_nonempty([16], [2]) == 4


def test_a_column_of_a_leader() -> None:
    # Of 4 x 4 with 4 nonzeros a scalar is empty in 12 of 16 places, a column in C(12, 4) of C(16, 4).
    model = Uniform([4, 4], 0.25)
    assert model.probability_empty([1, 1]) == 0.75
    assert model.probability_empty([4, 1]) == pytest.approx(495 / 1820, abs=EXACT)
    assert Uniform([16, 16], 46 / 256).probability_empty([4, 1]) == pytest.approx(
        comb(210, 4) / comb(256, 4), abs=EXACT
    )


@pytest.mark.parametrize(
    ("tile", "tiles"),
    [
        ((4, 4), {0: 6, 1: 6, 10: 4}),
        ((2, 2), {0: 42, 1: 14, 4: 8}),
        ((1, 4), {0: 42, 1: 6, 2: 8, 3: 8}),
        ((4, 1), {0: 42, 1: 6, 2: 8, 3: 8}),
        ((1, 16), {2: 2, 3: 14}),
    ],
)
def test_a_band_worked_by_hand(tile: tuple[int, int], tiles: dict[int, int]) -> None:
    histogram = Banded([16, 16], 1).histogram(tile)
    assert dict(zip(histogram.occupancies.tolist(), histogram.tiles.tolist(), strict=True)) == tiles


@given(st.data())
def test_a_band_as_counted(data: st.DataObject) -> None:
    tile = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    parent = tuple(extent * data.draw(st.integers(1, 3)) for extent in tile)
    side = int(np.lcm(*parent)) * data.draw(st.integers(1, 3))
    width = data.draw(st.integers(0, side + 1))
    band = Banded([side, side], width)
    rows, columns = np.indices((side, side)).reshape(2, -1)
    there = np.abs(rows - columns) <= width
    same = Actual([side, side], np.stack([rows[there], columns[there]], axis=1))
    assert band.nonzeros == same.nonzeros
    _check_same(band, same, parent, tile)


def _check_same(
    one: CountedDensity, other: CountedDensity, parent: tuple[int, ...], tile: tuple[int, ...]
) -> None:
    for first, second in zip(one.distribution(tile), other.distribution(tile), strict=True):
        assert first.tolist() == second.tolist()
    assert one.maximum_nonempty(parent, tile) == other.maximum_nonempty(parent, tile)
    occupancies = one.distribution(parent)[0]
    assert np.array_equal(
        one.inside(parent, occupancies).probability_empty(tile),
        other.inside(parent, occupancies).probability_empty(tile),
    )


tensors = st.integers(1, 3).flatmap(
    lambda ranks: st.tuples(
        st.tuples(*[st.integers(1, 9)] * ranks),
        st.tuples(*[st.integers(1, 10)] * ranks),
        st.tuples(*[st.integers(1, 10)] * ranks),
        st.floats(0, 1),
        st.integers(0, 2**32 - 1),
    )
)


@given(tensors)
def test_actual_data_by_a_walk_over_all_tiles(
    drawn: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], float, int],
) -> None:
    shape, parent, tile, share, seed = drawn
    dense = np.random.default_rng(seed).random(shape) < share
    model = Actual(shape, np.argwhere(dense))
    walked = [int(dense[piece].sum()) for piece in _grid(shape, tile)]
    occupancies, probabilities = model.distribution(tile)
    assert Counter(walked) == {
        occupancy: round(probability * len(walked))
        for occupancy, probability in zip(occupancies.tolist(), probabilities.tolist(), strict=True)
    }
    assert model.expected(tile) == pytest.approx(np.mean(walked))
    assert model.probability_empty(tile) == pytest.approx(walked.count(0) / len(walked))
    assert model.maximum(tile) == max(walked)
    assert model.minimum(tile) == min(walked)
    _check_inside(model, dense, parent, tile)


def _check_inside(model: Actual, dense: np.ndarray, parent: tuple[int, ...], tile: tuple[int, ...]) -> None:
    inner: dict[int, list[int]] = {}
    most = 0
    for piece in _grid(dense.shape, parent):
        block = dense[piece]
        counts = [int(block[part].sum()) for part in _grid(block.shape, tile)]
        inner.setdefault(int(block.sum()), []).extend(counts)
        most = max(most, sum(count > 0 for count in counts))
    assert model.maximum_nonempty(parent, tile) == most
    inner.pop(0, None)
    if inner:
        known = model.inside(parent, np.array(list(inner), np.int64))
        assert known.expected(tile) == pytest.approx([np.mean(counts) for counts in inner.values()])
        assert known.probability_empty(tile) == pytest.approx(
            [counts.count(0) / len(counts) for counts in inner.values()]
        )
    for occupancy, counts in inner.items():
        found, shares = model.inside(parent, occupancy).distribution(tile)
        assert dict(zip(found.tolist(), shares.tolist(), strict=True)) == pytest.approx(
            {count: counts.count(count) / len(counts) for count in set(counts)}
        )


def _grid(shape: tuple[int, ...], tile: tuple[int, ...]) -> list[tuple[slice, ...]]:
    cuts = [
        [slice(at, at + extent) for at in range(0, size, extent)]
        for size, extent in zip(shape, tile, strict=True)
    ]
    return list(itertools.product(*cuts))


def test_a_tensor_without_nonzeros() -> None:
    model = Actual([4, 6], np.empty((0, 2)))
    assert model.probability_empty([2, 2]) == 1
    assert model.inside([2, 6], 0).probability_empty([1, 1]) == 1
    assert model.distribution([4, 6])[0].tolist() == [0]


def test_a_large_tensor() -> None:
    model = Actual([2**26, 2**26], [[0, 0], [2**26 - 1, 6], [2**26 - 1, 7]])
    occupancies, shares = model.distribution([1, 2])
    assert occupancies.tolist() == [0, 1, 2]
    assert shares[1:].tolist() == [2.0**-51, 2.0**-51]
    with pytest.raises(ValueError, match="at most 9007199254740992 elements"):
        Actual([2**27, 2**27], [[0, 0]])


def test_what_is_no_tensor() -> None:
    with pytest.raises(ValueError, match="outside of the tensor's 4 x 4"):
        Actual([4, 4], [[0, 4]])
    with pytest.raises(ValueError, match="appears twice"):
        Actual([4, 4], [[0, 3], [0, 3]])
    with pytest.raises(ValueError, match="square matrix, not 4 x 5"):
        Banded([4, 5], 1)
    with pytest.raises(ValueError, match="must divide it and each other"):
        Banded([4, 4], 1).probability_empty([3, 1])
    with pytest.raises(ValueError, match="from 0 to 1"):
        Uniform([4], 0.5).quantile([2], 1.5)


def test_joint_statistics_worked_by_hand() -> None:
    inputs = np.array([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 0, 1]])
    weights = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1]])
    one = Operand(Actual([3, 4], np.argwhere(inputs)), "MK", [1, 1])
    other = Operand(Actual([4, 3], np.argwhere(weights)), "KN", [1, 1])
    assert count_nonempty_pairs(one, other) == (11, 36)
    vector = Operand(Actual([8], [[0], [3], [7]]), "K", [1])
    assert share_of_nonempty_pairs(vector, vector) == 3 / 8


@given(st.integers(0, 2**32 - 1), st.tuples(*[st.integers(1, 4)] * 3))
def test_joint_statistics_by_a_walk(seed: int, tile: tuple[int, int, int]) -> None:
    random = np.random.default_rng(seed)
    rows, shared, columns = random.integers(1, 9, 3)
    a, b = random.random((rows, shared)) < 0.3, random.random((shared, columns)) < 0.3
    one = Operand(Actual(a.shape, np.argwhere(a)), "MK", tile[:2])
    other = Operand(Actual(b.shape, np.argwhere(b)), "KN", tile[1:])
    pairs = [
        a[left].any() and b[right].any()
        for left in _grid(a.shape, tile[:2])
        for right in _grid(b.shape, tile[1:])
        if left[1] == right[0]
    ]
    assert count_nonempty_pairs(one, other) == (sum(pairs), len(pairs))


def test_ranks_that_do_not_agree() -> None:
    one, other = (Operand(Actual([size], [[0]]), "K", [2]) for size in (4, 6))
    with pytest.raises(ValueError, match="rank K has 4 coordinates in tiles of 2 in one tensor, and 6"):
        count_nonempty_pairs(one, other)


def _written(folder: Path) -> dict[str, str]:
    mask = np.array([[1, 0, 0], [0, 1, 1]])
    np.save(folder / "mask.npy", mask)
    (folder / "mask.txt").write_text("100\n011\n")
    sparse.save_npz(folder / "mask.npz", sparse.csr_array(mask.astype(float)))
    (folder / "mask.tns").write_text("1 1 1.0\n2 2 1.0\n2 3 1.0\n1 3 0.0\n")
    (folder / "long.tns").write_text("1 1 5 1.0\n")
    (folder / "short.txt").write_text("10001")
    (folder / "empty.npy").touch()
    np.savez(folder / "archive", mask=mask)
    (folder / "archive.npz").rename(folder / "archive.npy")
    return {}


@pytest.mark.parametrize("shape", [(7,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("kind", ["?", "u1", "i8", "f4"])
def test_an_array_of_any_rank_and_type_is_actual_data(
    tmp_path: Path, shape: tuple[int, ...], kind: str
) -> None:
    array = (np.arange(np.prod(shape)) % 3).reshape(shape).astype(kind)
    np.save(tmp_path / "array.npy", array)
    model = build_density({"distribution": "actual", "data": "array.npy"}, shape, folder=tmp_path)
    assert model.distribution(shape)[0].tolist() == [np.count_nonzero(array)]


@pytest.mark.parametrize("name", ["mask.npy", "mask.txt", "mask.npz", "mask.tns"])
def test_actual_data_out_of_files(tmp_path: Path, name: str) -> None:
    _written(tmp_path)
    model = build_density({"distribution": "actual", "data": name}, (2, 3), folder=tmp_path)
    assert model.distribution([1, 3])[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("specification", "kind"),
    [
        (0.5, FixedStructured),
        ({"distribution": "fixed-structured", "density": 0.5}, FixedStructured),
        ({"density": 0.5}, Uniform),
        ({"distribution": "banded", "band_width": 2}, Banded),
    ],
)
def test_named_distributions(specification: object, kind: type[Density]) -> None:
    assert type(build_density(specification, (4, 4))) is kind  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("specification", "fault"),
    [
        ({"distribution": "hypergeomtric", "density": 0.5}, "distribution 'hypergeomtric'; did you mean hyp"),
        ({"distribution": "uniform", "density": 0.5, "band_width": 2}, "uniform has no 'band_width'; leave"),
        ({"distribution": "banded", "density": 0.5}, "needs 'band_width'"),
        ({"distribution": "banded", "band_width": "x"}, "whole number, not 'x'"),
        (1.5, "from 0 to 1, not 1.5"),
        ({"density": "much"}, "from 0 to 1, not 'much'"),
        ({"distribution": "actual", "data": "nothing.npy"}, "nothing.npy"),
        ({"distribution": "actual", "data": "short.txt"}, "holds 5 elements"),
        ({"distribution": "actual", "data": "mask.npy"}, "is 2 x 3, and the tensor is 4 x 4"),
        ({"distribution": "actual", "data": "empty.npy"}, "empty.npy.*No data left"),
        ({"distribution": "actual", "data": "archive.npy"}, "archive.npy"),
        ({"distribution": "actual", "data": "no-such-matrix"}, "no-such-matrix"),
        ({"distribution": "actual", "data": "long.tns"}, "is 1 x 1 x 5, and the tensor is 4 x 4"),
    ],
)
def test_bad_specifications(tmp_path: Path, specification: object, fault: str) -> None:
    _written(tmp_path)
    with pytest.raises(InputError, match=fault) as refused:
        build_density(specification, (4, 4), where="problem.yaml:3: A", folder=tmp_path)  # type: ignore[arg-type]
    assert str(refused.value).startswith("problem.yaml:3: A: ")
    assert "\n" not in str(refused.value)
