"""Large trees taken apart at the root are what they were when they are put together."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.tree_blocks import blocks, join_blocks, swizzle_blocks


@st.composite
def trees(draw):
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    points = int(np.prod(sizes))
    chosen = np.array(sorted(draw(st.sets(st.integers(0, points - 1)))), np.int64)
    columns = np.unravel_index(chosen, sizes)
    return FiberTree.from_coo({f"R{n}": size for n, size in enumerate(sizes)}, columns, chosen + 1.0)


def same(one, other):
    arrays = [
        (*one.segments, *one.coordinates, one.values),
        (*other.segments, *other.coordinates, other.values),
    ]
    return one.ranks == other.ranks and all(map(np.array_equal, *arrays))


@given(trees(), st.integers(1, 40))
def test_blocks_are_small_and_make_the_tree_again(tree, most):
    parts = list(blocks(tree, most))
    assert same(join_blocks(parts, tree.nonzeros), tree)
    assert all(part.nonzeros <= most or len(part.coordinates[0]) == 1 for part in parts)


@given(trees(), st.integers(1, 10), st.randoms())
def test_a_swizzle_by_blocks_is_a_swizzle(tree, most, random):
    names = list(tree.names)
    random.shuffle(names)
    assert same(swizzle_blocks(tree, names, most), tree.swizzle(names))
