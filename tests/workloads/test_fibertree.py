"""Fiber trees: any chain of transformations keeps the tensor, and each does what it says, on small cases."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.workloads.fibertree import FiberTree


@st.composite
def tensors(draw):
    """A shape by rank and the nonzeros by point."""
    names = "IJKL"[: draw(st.integers(1, 4))]
    shape = {name: draw(st.integers(1, 9)) for name in names}
    point = st.tuples(*(st.integers(0, size - 1) for size in shape.values()))
    return shape, draw(st.dictionaries(point, st.integers(-3, 3), max_size=30))


def tree_of(shape, points):
    columns = np.array(list(points), dtype=np.int64).reshape(len(points), len(shape)).T
    return FiberTree.from_coo(shape, list(columns), np.array(list(points.values()), dtype=float))


def points_of(tree, shape):
    """The nonzeros by point, ranks in the order of ``shape``."""
    columns, values = tree.to_coo()
    assert set(columns) == set(shape)
    points = zip(*(columns[name].tolist() for name in shape), strict=True)
    return dict(zip(points, values.tolist(), strict=True))


def check_form(tree):
    """Every fiber below the root has elements, in increasing order and within the shape."""
    count = 1
    for rank, segments, coordinates in zip(tree.ranks, tree.segments, tree.coordinates, strict=True):
        assert len(segments) == count + 1
        assert (segments[0], segments[-1]) == (0, len(coordinates))
        for start, end in itertools.pairwise(segments):
            fiber = coordinates[start:end]
            assert count == 1 or len(fiber)
            assert np.all(np.diff(fiber) > 0)
            assert np.all((fiber >= 0) & (fiber < rank.shape))
        count = len(coordinates)
    assert count == tree.nonzeros


def transformed(draw, tree, step):
    """The tree after one more transformation, drawn at random; new ranks have the step's number."""
    names = list(tree.names)
    kind = draw(st.sampled_from(["swizzle", "shape", "occupancy", "leader", "flatten"]))
    name, size = draw(st.sampled_from(names)), draw(st.integers(1, 5))
    upper, lower = f"{name}u{step}", f"{name}l{step}"
    if kind == "swizzle":
        return tree.swizzle(draw(st.permutations(names)))
    if kind == "shape":
        return tree.partition_by_shape(name, size, upper, lower)
    if kind == "occupancy":
        return tree.partition_by_occupancy(name, size, upper, lower)
    if kind == "leader":
        return tree.partition_by_leader(name, tree.boundaries(name, size), upper, lower)
    if len(names) == 1:
        return tree
    level = draw(st.integers(0, len(names) - 2))
    return tree.flatten(names[level], names[level + 1], f"flat{step}")


@given(st.data(), tensors())
def test_any_chain_of_transformations_keeps_the_tensor(data, tensor):
    shape, points = tensor
    tree = tree_of(shape, points)
    for step in range(data.draw(st.integers(0, 5))):
        tree = transformed(data.draw, tree, step)
        check_form(tree)
        assert points_of(tree, shape) == points


def test_planted_a_lost_nonzero_is_found():
    shape, points = {"I": 3, "J": 3}, {(0, 1): 1.0, (2, 2): 2.0}
    tree = tree_of(shape, {(0, 1): 1.0})
    assert points_of(tree, shape) != points


@given(tensors(), st.randoms())
def test_the_order_of_the_nonzeros_does_not_matter(tensor, random):
    shape, points = tensor
    shuffled = list(points.items())
    random.shuffle(shuffled)
    first, second = tree_of(shape, points), tree_of(shape, dict(shuffled))
    assert [array.tolist() for array in first.coordinates] == [array.tolist() for array in second.coordinates]
    assert first.values.tolist() == second.values.tolist()


def nested(tree, level=0, fiber=0):
    """A tree as dictionaries of dictionaries."""
    start, end = tree.segments[level][fiber], tree.segments[level][fiber + 1]
    last = level == len(tree.ranks) - 1
    return {
        int(tree.coordinates[level][place]): float(tree.values[place])
        if last
        else nested(tree, level + 1, place)
        for place in range(start, end)
    }


ROW = {(0,): 1.0, (3,): 2.0, (4,): 3.0, (9,): 4.0, (11,): 5.0}


def test_partition_by_shape_cuts_at_multiples_and_leaves_out_empty_ranges():
    tree = tree_of({"K": 12}, ROW).partition_by_shape("K", 4, "K1", "K0")
    assert nested(tree) == {0: {0: 1.0, 3: 2.0}, 4: {4: 3.0}, 8: {9: 4.0, 11: 5.0}}
    assert tree.names == ("K1", "K0")


def test_partition_by_occupancy_cuts_equal_pieces():
    tree = tree_of({"K": 12}, ROW).partition_by_occupancy("K", 2, "K1", "K0")
    assert nested(tree) == {0: {0: 1.0, 3: 2.0}, 4: {4: 3.0, 9: 4.0}, 11: {11: 5.0}}


def test_a_follower_is_cut_where_its_leader_is():
    leader = tree_of({"K": 12}, {(2,): 1.0, (5,): 1.0, (8,): 1.0, (9,): 1.0}).boundaries("K", 2)
    tree = tree_of({"K": 12}, ROW).partition_by_leader("K", leader, "K1", "K0")
    # What lies before the leader's first coordinate goes with its first piece.
    assert nested(tree) == {2: {0: 1.0, 3: 2.0, 4: 3.0}, 8: {9: 4.0, 11: 5.0}}


def test_a_follower_below_another_rank_is_cut_fiber_by_fiber():
    leader = tree_of({"M": 3, "K": 9}, {(0, 1): 1.0, (0, 4): 1.0, (2, 7): 1.0}).boundaries("K", 1)
    tree = tree_of({"M": 3, "K": 9}, {(0, 5): 1.0, (1, 3): 2.0, (1, 8): 3.0, (2, 2): 4.0})
    cut = tree.partition_by_leader("K", leader, "K1", "K0")
    assert nested(cut) == {0: {4: {5: 1.0}}, 1: {0: {3: 2.0, 8: 3.0}}, 2: {7: {2: 4.0}}}


def test_followers_of_a_leader_without_elements_meet_in_one_piece():
    leader = tree_of({"K": 9}, {}).boundaries("K", 2)
    trees = [tree_of({"K": 9}, {(first,): 1.0, (7,): 2.0}) for first in (0, 5)]
    cuts = [tree.partition_by_leader("K", leader, "K1", "K0") for tree in trees]
    assert [nested(cut) for cut in cuts] == [{0: {0: 1.0, 7: 2.0}}, {0: {5: 1.0, 7: 2.0}}]


def test_fibers_beyond_one_key_are_cut_where_their_leader_is():
    """Eight fibers of coordinates below 2^61: a number for fiber and coordinate would need 64 bits."""
    shape, far = {"M": 8, "K": 1 << 61}, (1 << 61) - 9
    leader = tree_of(shape, {(m, k): 1.0 for m in range(8) for k in (m, far + m)}).boundaries("K", 1)
    tree = tree_of(shape, {(m, k): 1.0 for m in range(8) for k in (0, far - 1, far + m, far + 8)})
    cut = tree.partition_by_leader("K", leader, "K1", "K0")
    far_pieces = {m: {far + m: 1.0, far + 8: 1.0} for m in range(8)}
    assert nested(cut) == {m: {m: {0: 1.0, far - 1: 1.0}, far + m: far_pieces[m]} for m in range(8)}


@given(tensors(), st.integers(1, 4))
def test_a_leader_that_follows_itself_is_cut_by_occupancy(tensor, size):
    tree = tree_of(*tensor)
    name = tree.names[-1]
    led = tree.partition_by_leader(name, tree.boundaries(name, size), "upper", "lower")
    assert nested(led) == nested(tree.partition_by_occupancy(name, size, "upper", "lower"))


def test_flatten_makes_one_coordinate_of_two():
    tree = tree_of({"I": 2, "J": 5}, {(0, 4): 1.0, (1, 0): 2.0, (1, 3): 3.0}).flatten("I", "J", "IJ")
    assert nested(tree) == {4: 1.0, 5: 2.0, 8: 3.0}


def test_swizzle_transposes():
    tree = tree_of({"I": 2, "J": 5}, {(0, 4): 1.0, (1, 0): 2.0, (1, 4): 3.0}).swizzle(["J", "I"])
    assert nested(tree) == {0: {1: 2.0}, 4: {0: 1.0, 1: 3.0}}


def test_points_beyond_one_key_are_sorted():
    """Shapes whose product has more than 63 bits."""
    shape = dict.fromkeys("IJK", 1 << 40)
    points = {(5, 0, 1 << 39): 1.0, (5, 0, 3): 2.0, ((1 << 40) - 1, 7, 0): 3.0}
    tree = tree_of(shape, points)
    check_form(tree)
    assert points_of(tree.swizzle("KJI"), shape) == points


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: tree.swizzle(["I"]), "swizzle needs each of I, J once, not I"),
        (lambda tree: tree.partition_by_shape("K", 2, "a", "b"), "the tree has no rank K; "),
        (
            lambda tree: tree.partition_by_shape("I", 0, "a", "b"),
            "a partition's size should be at least 1, not 0",
        ),
        (lambda tree: tree.partition_by_shape("I", 2, "J", "b"), "2 ranks would be named J"),
        (lambda tree: tree.flatten("J", "I", "IJ"), "flatten needs I right below J; the ranks are I, J"),
        (
            lambda tree: tree.partition_by_leader("I", tree.boundaries("J", 2), "a", "b"),
            "I is below no rank, the leader's J below I: swizzle the ranks above alike first",
        ),
    ],
)
def test_a_mistake_costs_one_line(change, message):
    tree = tree_of({"I": 3, "J": 3}, {(0, 1): 1.0})
    with pytest.raises(ValueError, match=f"^{message}"):
        change(tree)


@pytest.mark.parametrize(
    ("columns", "values", "message"),
    [
        ([[0, 0], [1, 1]], [1.0, 2.0], "1 points are given more than once"),
        ([[0], [3]], [1.0], "J has the coordinate 3; its shape is 3"),
        ([[0], [1.5]], [1.0], "J has coordinates of type float64; they should be integers"),
        ([[-1], [0]], [1.0], "I has the coordinate -1; its shape is 3"),
        ([[0]], [1.0], "there are 2 ranks, but coordinates of 1"),
        ([[0, 1], [0]], [1.0, 2.0], r"J has \(1,\) coordinates for \(2,\) values"),
    ],
)
def test_a_tensor_that_is_none_is_refused(columns, values, message):
    with pytest.raises(ValueError, match=message):
        FiberTree.from_coo({"I": 3, "J": 3}, columns, values)
