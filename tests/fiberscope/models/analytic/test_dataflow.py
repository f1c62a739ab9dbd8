"""The dense step against a walk of the loop nest, point by point."""

import numpy as np
import pytest
from walked_nest import WalkedNest

from fiberscope.models.analytic.dataflow import compute_dataflow
from fiberscope.models.analytic.mapping import Mappings
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem, Rank, Tensor

DRAWS = 150


def rank(*terms):
    return Rank(tuple(terms))


def plain(*dimensions):
    return tuple(rank((1, d)) for d in dimensions)


SHAPES = {
    "matmul": (
        ("M", "N", "K"),
        (Tensor("A", plain(0, 2)), Tensor("B", plain(1, 2)), Tensor("Z", plain(0, 1), True)),
    ),
    "convolution": (
        ("C", "P", "R", "K"),
        (
            Tensor("I", (rank((1, 0)), rank((2, 1), (1, 2)))),
            Tensor("W", plain(3, 0, 2)),
            Tensor("O", plain(3, 1), True),
        ),
    ),
    "three operands": (
        ("I", "J", "K"),
        (
            Tensor("A", plain(0, 2)),
            Tensor("B", plain(2, 1)),
            Tensor("D", plain(0, 1)),
            Tensor("Z", plain(0), True),
        ),
    ),
}


def drawn(seed):
    """A problem, and a mapping of it on three levels."""
    rng = np.random.default_rng(seed)
    names, tensors = list(SHAPES.values())[seed % len(SHAPES)]
    levels, count = 3, len(names)
    temporal = np.ones((1, levels, count), np.int64)
    spatial = np.ones((1, levels, count), np.int64)
    points = 1
    for _factor in range(rng.integers(1, 8)):
        factor = int(rng.choice([2, 2, 3]))
        if points * factor > 160:
            break
        points *= factor
        where = temporal if rng.random() < 0.7 else spatial
        where[0, rng.integers(levels), rng.integers(count)] *= factor
    order = np.argsort(rng.random((1, levels, count)), axis=2)
    keep = rng.random((levels, len(tensors))) < 0.75
    keep[0] = True
    bounds = tuple(int(one) for one in (temporal * spatial).prod(axis=(0, 1)))
    return Problem("drawn", names, bounds, tensors, ()), Mappings(temporal, spatial, order, keep)


def test_traffic_is_that_of_the_walked_nest():
    walked(range(DRAWS))


@pytest.mark.slow
def test_traffic_is_that_of_the_walked_nest_in_many_draws():
    walked(range(DRAWS, 1000))


def test_of_windows_that_slide_what_is_new_is_that_of_the_walked_nest():
    walked(range(1, DRAWS, len(SHAPES)), "new")


@pytest.mark.slow
def test_of_windows_that_slide_what_is_new_is_that_of_the_walked_nest_in_many_draws():
    walked(range(DRAWS + 1, 1000, len(SHAPES)), "new")


def walked(seeds, windows="whole"):
    for seed in seeds:
        problem, mappings = drawn(seed)
        traffic = compute_dataflow(problem, mappings, Options(first_fill="charge", windows=windows))
        walk = WalkedNest(problem, mappings, new=windows == "new")
        assert traffic.computes[0] == len(walk.points)
        for (level, tensor), dense in traffic.dense.items():
            check(seed, problem, traffic, walk, level, tensor, dense)


def check(seed, problem, traffic, walk, level, tensor, dense):
    child = traffic.child(level, tensor)
    inner = 3 if child is None else child
    served = walk.served(level, inner, tensor)
    brought = 0 if traffic.parent(level, tensor) is None else walk.fills(level, tensor)
    where = (seed, level, problem.tensors[tensor].name)
    assert dense.fills[0] == brought, where
    if problem.tensors[tensor].output:
        distinct = walk.distinct(level, tensor)
        assert (dense.updates[0], dense.reads[0]) == (served, served - distinct), where
    else:
        assert (dense.reads[0], dense.updates[0]) == (served, 0), where


def test_a_batch_is_what_its_mappings_are_one_by_one():
    rng = np.random.default_rng(7)
    names, tensors = SHAPES["matmul"]
    problem = Problem("matmul", names, (8, 8, 8), tensors, ())
    parts = rng.integers(0, 6, (40, 3, 3))  # of each factor of 2: the level, and time or space
    temporal, spatial = np.ones((40, 3, 3), np.int64), np.ones((40, 3, 3), np.int64)
    for mapping, dimension, factor in np.ndindex(40, 3, 3):
        place = parts[mapping, dimension, factor]
        (temporal if place < 3 else spatial)[mapping, place % 3, dimension] *= 2
    order = np.argsort(rng.random((40, 3, 3)), axis=2)
    keep = np.array([[True] * 3, [True, False, True], [False, True, True]])
    together = compute_dataflow(problem, Mappings(temporal, spatial, order, keep), Options())
    for one in range(40):
        part = slice(one, one + 1)
        alone = compute_dataflow(
            problem, Mappings(temporal[part], spatial[part], order[part], keep), Options()
        )
        for place, dense in together.dense.items():
            for name, counts in vars(dense).items():
                assert counts[one] == vars(alone.dense[place])[name][0], (one, place, name)


@pytest.mark.parametrize(("bounds", "extent"), [((1, 4, 3, 1), 9), ((1, 1, 3, 1), 3), ((1, 5, 1, 1), 9)])
def test_a_window_that_slides_by_two(bounds, extent):
    names, tensors = SHAPES["convolution"]
    problem = Problem("convolution", names, bounds, tensors, ())
    assert problem.shape(0) == (1, extent)
