"""Footprints of fiber trees, against sums by hand."""

import numpy as np
import pytest

from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.fibertree_format import RankFormat, count_fiber_bits, count_subtree_bits, footprint


@pytest.fixture
def tree():
    """Three rows of shape 4 x 10 with 3, 0 and 1 elements."""
    return FiberTree.from_coo({"M": 4, "K": 10}, [[0, 0, 0, 2], [1, 4, 9, 7]], [1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("chosen", "bits"),
    [
        (RankFormat("C", coordinate=32, payload=64), [3 * 96, 96]),
        (RankFormat("C", coordinate=32, payload=64, header=16), [3 * 96 + 16, 96 + 16]),
        (RankFormat("U", coordinate=32, payload=64), [640, 640]),
        (RankFormat("B", payload=64, header=8), [8 + 10 + 3 * 64, 8 + 10 + 64]),
        (RankFormat("C", coordinate=4, payload=8, word=8), [3 * 16, 16]),
        (RankFormat("C", coordinate=4, payload=8, word=8, layout="arrays"), [16 + 24, 8 + 8]),
        (RankFormat("B", payload=4, word=8), [16 + 16, 16 + 8]),
        (RankFormat("U", payload=3, word=8), [32, 32]),
    ],
)
def test_bits_of_each_fiber(tree, chosen, bits):
    assert count_fiber_bits(tree, "K", chosen).tolist() == bits


def test_footprint_adds_up_ranks(tree):
    formats = {"M": RankFormat("U", payload=32), "K": RankFormat("C", coordinate=32, payload=64)}
    assert footprint(tree, formats) == {"M": 4 * 32, "K": 4 * 96}
    assert footprint(tree, {"K": formats["K"]}) == {"K": 4 * 96}


def test_bits_below_each_element(tree):
    formats = {"M": RankFormat("U", payload=32), "K": RankFormat("C", coordinate=32, payload=64)}
    assert count_subtree_bits(tree, "M", formats).tolist() == [3 * 96, 96]
    assert count_subtree_bits(tree, "K", formats).tolist() == [0, 0, 0, 0]
    tiles = tree.partition_by_shape("K", 5, "K1", "K0")
    inner = {"K1": RankFormat("C", coordinate=8, payload=8), "K0": RankFormat("C", coordinate=32, payload=64)}
    assert count_subtree_bits(tiles, "M", inner).tolist() == [2 * 16 + 3 * 96, 16 + 96]


def test_the_whole_is_the_sum_of_the_fibers():
    generator = np.random.default_rng(3)
    flat = generator.choice(40 * 50, 300, replace=False)
    tree = FiberTree.from_coo({"M": 40, "K": 50}, [flat // 50, flat % 50], np.ones(300))
    formats = {"M": RankFormat("C", 16, 16), "K": RankFormat("C", 32, 64)}
    below = count_subtree_bits(tree, "M", formats).sum() + count_fiber_bits(tree, "M", formats["M"]).sum()
    assert below == sum(footprint(tree, formats).values()) == len(set(flat // 50)) * 32 + 300 * 96


@pytest.mark.parametrize("wrong", [{"coordinate": -1}, {"payload": -1}, {"header": -1}, {"word": 0}])
def test_impossible_sizes_are_refused(wrong):
    with pytest.raises(ValueError, match=r"should be at least [01] bits, not"):
        RankFormat("C", **wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "X"}, "kind should be U or C or B, not X"),
        ({"kind": "C", "layout": "struct"}, "layout should be structs or arrays, not struct"),
    ],
)
def test_unknown_formats_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        RankFormat(**wrong)


@pytest.mark.parametrize(("kind", "shape"), [("U", 1 << 58), ("B", 1 << 63)])
def test_more_bits_than_a_number_can_tell_are_refused(kind, shape):
    with pytest.raises(ValueError, match=f"^1 fibers of shape {shape} in format {kind} have more than "):
        RankFormat(kind, payload=64).bits(np.ones(1, dtype=np.int64), shape)


def test_a_format_for_no_rank_is_refused(tree):
    for measure in (footprint, lambda tree, formats: count_subtree_bits(tree, "M", formats)):
        with pytest.raises(ValueError, match="the tree has no rank J"):
            measure(tree, {"J": RankFormat("C")})
