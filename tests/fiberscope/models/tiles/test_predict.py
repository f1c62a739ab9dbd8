"""Predictions: the worked examples to the last digit printed, and rules that hold for any kernel."""

import math

import numpy as np
import pytest
from tiling import examples

from fiberscope.base.errors import InputError
from fiberscope.models.tiles.counted_model import CountedModel
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.measure import measure
from fiberscope.models.tiles.options import Options
from fiberscope.models.tiles.predict import predict
from fiberscope.models.tiles.statistics import collect_all
from fiberscope.workloads.tensor import SparseTensor


def problem(text, order, tensors, edge):
    kernel = Kernel.read(text, order)
    base = dict.fromkeys(kernel.order, edge)
    return kernel, tensors, collect_all(kernel, tensors, base), base


def square(order="ikj"):
    return problem(examples.SQUARE, order, examples.squared(), 4)


def shape_of(*sizes, order="ikj"):
    return dict(zip(order, sizes, strict=True))


@pytest.mark.parametrize(
    ("shape", "passes", "b", "output", "nonzeros", "total"),
    [
        ((2, 8, 2), (8, 8), (710, 710), 349.3, 53.40, (1207.3, 1207.3)),
        ((4, 4, 4), (4, 4), (355, 355), 269.1, 53.40, (772.1, 772.1)),
        ((8, 2, 8), (2.286, 2.667), (202.9, 236.7), 241.2, 57.13, (592.0, 625.9)),
        ((16, 1, 16), (1.6, 2.222), (142.0, 197.2), 267.8, 72.25, (557.8, 613.0)),
    ],
)
def test_the_worked_product_is_predicted_as_by_hand(shape, passes, b, output, nonzeros, total):
    kernel, _tensors, known, _base = square()
    for place, reading in enumerate(("slice", "pooled")):
        found = predict(kernel, known, shape_of(*shape), Options(tilecorrs=reading))
        assert round(found.inputs["A"], 10) == 148
        assert round(found.inputs["B"], 1) == b[place]
        assert round(found.repeats["B"], 3) == passes[place]
        assert (round(found.output, 1), round(found.output_nonzeros, 2)) == (output, nonzeros)
        assert round(found.total, 1) == total[place]


def test_the_worked_output_is_predicted_as_by_hand():
    kernel, _tensors, known, base = square()
    found = predict(kernel, known, base)
    assert (found.visits, round(found.nonzeros, 3)) == (25, 2.136)
    assert round(found.output / found.visits, 3) == 10.762
    placed = predict(kernel, known, base, Options(estimate="positional"))
    flat, overlap = found.nonzeros * 46 / 34, 46 / 34
    assert (round(placed.nonzeros * overlap, 2), round(flat, 2)) == (3.08, 2.89)


def test_loops_over_k_first_move_the_same():
    first, second = square("ikj"), square("kij")
    for sizes in ((2, 8, 2), (4, 4, 4), (16, 1, 16)):
        shape = shape_of(*sizes)
        assert predict(first[0], first[2], shape).total == predict(second[0], second[2], shape).total


def test_an_inner_product_keeps_its_output():
    kernel, _tensors, known, base = square("ijk")
    found = predict(kernel, known, base)
    both = 0.625 * 0.625
    assert math.isclose(found.inputs["A"], 14.8 * 16 * 0.625 * 4 * 0.625)
    assert math.isclose(found.inputs["B"], 14.2 * 16 * 0.625 * 4 * 0.625)
    assert math.isclose(found.visits, 16 * (1 - (1 - both) ** 4))
    assert math.isclose(predict(kernel, known, base, Options(output="streamed")).visits, 64 * both)


def test_the_worked_tensors_of_order_three_are_predicted_as_by_hand():
    kernel, _tensors, known, base = problem(examples.TTM, "ijlk", examples.ttm(), 2)
    found = predict(kernel, known, base)
    assert {name: round(words, 10) for name, words in found.inputs.items()} == {"C": 72, "B": 77.5}
    assert (round(found.visits, 10), round(found.nonzeros, 10)) == (7.5, 1.5)
    kernel, _tensors, known, base = problem(examples.MTTKRP, "iklj", examples.mttkrp(), 2)
    found = predict(kernel, known, base)
    assert {name: round(words, 10) for name, words in found.inputs.items()} == {"A": 72, "B": 60, "C": 72.5}
    assert (round(found.visits, 10), round(found.nonzeros, 5)) == (7.5, 0.52083)
    assert round(predict(kernel, known, base, Options(loads="common")).inputs["A"], 10) == 67.5


def test_a_tile_is_loaded_where_the_others_share_a_coordinate_of_an_index_not_bound_yet():
    drawn = np.random.default_rng(3).random
    tensors = {
        name: SparseTensor.from_array(drawn(shape) * (drawn(shape) < density), name)
        for name, shape, density in (("A", (6, 6, 6), 0.1), ("B", (6, 12), 0.2), ("C", (6, 12), 0.15))
    }
    kernel, _tensors, known, base = problem(examples.MTTKRP, "iklj", tensors, 2)
    shares = [known[name].pr_tile_index[known[name].indices.index("j")] for name in "BC"]
    assert max(shares) < 1
    common = 1 - (1 - shares[0] * shares[1]) ** (12 / 2)
    once, needed = predict(kernel, known, base), predict(kernel, known, base, Options(loads="common"))
    assert needed.inputs["A"] == pytest.approx(common * once.inputs["A"])


def test_sums_load_what_is_there_and_products_what_the_others_have_too():
    text = "D[i,j] = (A[i] + B[i]) * C[i,j]"
    vector = examples.of_points([(0,), (5,)], (8,))
    tensors = {"A": vector, "B": vector, "C": examples.of_points([(0, 0), (1, 1), (6, 3)], (8, 4))}
    kernel, _tensors, known, base = problem(text, "ij", tensors, 2)
    a, c = known["A"], known["C"]
    found = predict(kernel, known, base)
    assert math.isclose(found.inputs["A"], a.size_tile * 4 * a.p_tile * c.pr_tile_index[0])
    assert math.isclose(found.inputs["C"], c.size_tile * 8 * c.p_tile * 2 * a.p_tile)
    exact = predict(kernel, known, base, Options(union="exact"))
    assert math.isclose(exact.inputs["C"], c.size_tile * 8 * c.p_tile * (1 - (1 - a.p_tile) ** 2))
    assert math.isclose(exact.visits, 8 * c.p_tile * (1 - (1 - a.p_tile) ** 2))
    placed = predict(kernel, known, base, Options(estimate="positional"))
    shares = np.minimum(1, a.occupied + a.occupied)[:, None] * c.occupied
    assert math.isclose(placed.nonzeros, shares.sum())


def test_a_sampled_dense_product_is_filtered_by_its_mask():
    text = "D[i,j] = S[i,j] * A[i,k] * B[k,j]"
    tensors = {"S": examples.matrix(), **examples.squared()}
    kernel, _tensors, known, base = problem(text, "ijk", tensors, 4)
    found = predict(kernel, known, base)
    assert math.isclose(found.inputs["S"], 14.8 * 16 * 0.625 * 1 * 1)
    assert math.isclose(found.inputs["A"], 14.8 * 16 * 0.625 * 4 * 0.625**2)
    assert math.isclose(found.visits, 16 * (1 - (1 - 0.625**3) ** 4))


def test_partial_results_that_are_read_again_count_twice():
    kernel, _tensors, known, base = square()
    once, twice = predict(kernel, known, base), predict(kernel, known, base, Options(merge="read"))
    assert twice.output == 2 * once.output
    assert twice.inputs == once.inputs


def test_overlaps_without_the_bias_of_edges_are_larger():
    striped = SparseTensor.from_coordinates((8, 8), np.nonzero(np.arange(64).reshape(8, 8) % 2), np.ones(32))
    kernel, _tensors, known, base = problem(examples.SQUARE, "ikj", {"A": striped, "B": striped}, 4)
    biased, right = predict(kernel, known, base), predict(kernel, known, base, Options(corrs="unbiased"))
    assert math.isclose(biased.nonzeros, 64 / 4 / 2.5)
    assert math.isclose(right.nonzeros, 64 / 4 / 4)
    wide = shape_of(8, 2, 8)
    assert predict(kernel, known, wide).repeats["B"] == 2 / 1.5
    assert predict(kernel, known, wide, Options(tilecorrs="unbiased")).repeats["B"] == 1


@pytest.mark.parametrize(("a", "b"), [((), ((0, 0),)), (((0, 0),), ()), ((), ())])
def test_nothing_moves_where_an_operand_is_empty(a, b):
    tensors = {"A": examples.of_points(a, (9, 9)), "B": examples.of_points(b, (9, 9))}
    for order in ("ikj", "ijk", "kij"):
        kernel, _tensors, known, base = problem(examples.SQUARE, order, tensors, 4)
        assert predict(kernel, known, base).total == 0
        assert CountedModel(kernel, tensors, known, Options()).predict(base).total == 0


@pytest.mark.parametrize(
    ("shape", "total", "fullest"),
    [
        ((2, 8, 2), 1728.1, 21),
        ((4, 4, 4), 877.7, 25),
        ((8, 2, 8), 676.7, 23),
        ((16, 1, 16), 638.4, 27),
        ((16, 2, 16), 530.1, 37),
        ((16, 2, 8), 578.4, 37),
        ((8, 4, 8), 669.0, 29),
        ((7, 7, 7), 798.4, 43),
        ((16, 4, 16), 481.7, 45),
    ],
)
def test_what_is_counted_comes_to_the_numbers_by_hand(shape, total, fullest):
    kernel, tensors, known, _base = square()
    counted = CountedModel(kernel, tensors, known, Options())
    assert round(counted.predict(shape_of(*shape)).total, 1) == total
    assert counted.find_fullest_size(shape_of(*shape)) == fullest


@pytest.mark.parametrize("order", ["ikj", "kij", "ijk", "jik", "jki", "kji"])
def test_counted_inputs_are_those_of_the_meter_in_every_order(order):
    generator = np.random.default_rng(3)
    for _case in range(12):
        rows, middle, columns = generator.integers(1, 30, 3)
        tensors = {"A": _random(generator, (rows, middle)), "B": _random(generator, (middle, columns))}
        kernel, _tensors, known, _base = problem(examples.SQUARE, order, tensors, 4)
        shape = {
            index: int(generator.integers(1, extent + 1))
            for index, extent in zip("ikj", (rows, middle, columns), strict=True)
        }
        found = CountedModel(kernel, tensors, known, Options()).predict(shape)
        measured = measure(kernel, tensors, shape)
        assert found.inputs == {name: moved.words for name, moved in measured.inputs.items()}


def _random(generator, extents):
    found = np.nonzero(generator.random(extents) < generator.choice([0.02, 0.2, 0.8]))
    return SparseTensor.from_coordinates(tuple(map(int, extents)), found, np.ones(len(found[0])))


def test_only_products_of_two_matrices_are_counted():
    kernel, tensors, known, _base = problem(examples.TTM, "ijlk", examples.ttm(), 2)
    with pytest.raises(InputError, match=r"model counted is for a product of two matrices, .*; take joint"):
        CountedModel(kernel, tensors, known, Options())


@pytest.mark.parametrize("density", [1.0, 0.9, 0.02])
def test_the_density_position_by_position_of_uniform_tensors_is_the_flat_one(density: float) -> None:
    """Both estimates are at most 1: full tensors have a full product, not one over the number of products."""
    drawn = np.random.default_rng(5).random
    tensors = {name: SparseTensor.from_array((drawn((64, 64)) < density) * 1.0, name) for name in "AB"}
    kernel, _tensors, known, base = problem("C[i,j] = A[i,k] * B[k,j]", "ikj", tensors, 16)
    flat, placed = (
        predict(kernel, known, base, Options(estimate=estimate)).nonzeros
        for estimate in ("flat", "positional")
    )
    assert placed == pytest.approx(flat, rel=0.1)
    if density == 1:
        assert placed == flat == 16 * 16
