"""Where rows of a matrix lie: each by itself, in its stripe, behind those before it there."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.accelerators.layout import Layout, Role, RowPlaces

STRIPE = 1 << 20


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 16), st.integers(1, 8), st.integers(0, 10**6))
def test_rows_lie_one_behind_the_other_in_their_stripes(lengths, element, stripes, seed):
    places = RowPlaces(4096, np.array(lengths, np.int64), element, stripes, STRIPE)
    ends = [4096 + i * STRIPE for i in range(stripes)]
    for row, length in enumerate(lengths):
        assert places.addresses[row] == ends[row % stripes]
        ends[row % stripes] += length * element
    chosen = np.flatnonzero(np.random.default_rng(seed).integers(0, 2, len(lengths)))
    layouts = places.layouts(chosen)
    assert [one.start + one.size for one in layouts] == ends
    touched = {byte for one in layouts for first, end in one.used for byte in range(first, end)}
    assert len(touched) <= sum(one.used_bytes for one in layouts) == sum(lengths[r] for r in chosen) * element


def test_what_is_used_is_told_in_bytes():
    assert Layout(0, 100, Role.OPERAND, [(0, 10), (20, 30)]).used_bytes == 20
    assert Layout(0, 100, Role.WORK).used_bytes == 0
