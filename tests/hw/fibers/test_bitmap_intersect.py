"""The bitmap intersector: any bitmaps against sets of coordinates, a short run by cycles, what it refuses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiberscope.hw.fibers.bitmap_intersect import WIDTHS, BitmapIntersector
from fiberscope.hw.stream import DATA, EMPTY, STOP
from fiberscope.sim import SimulationError
from fiberscope.sim.testing import check_laws, run_block

STOP_TOKEN = (STOP, 0, 0, 0.0)


@st.composite
def bitmaps(draw):
    """Width, and pairs of bitmaps as lists of words."""
    width = draw(st.sampled_from(WIDTHS[:4]))
    words = st.integers(0, (1 << width) - 1)
    lengths = st.integers(0, 4).flatmap(lambda n: st.tuples(*[st.lists(words, min_size=n, max_size=n)] * 2))
    return width, draw(st.lists(lengths, max_size=4))


def tokens(fibers):
    return [
        token for words in fibers for token in (*((DATA, word, 0, 0.0) for word in words), (STOP, 0, 0, 0.0))
    ]


def outputs(width):
    return [f"matches_{side}[{lane}]" for side in "ab" for lane in range(width)]


def nonzeros(words, width):
    return [i * width + bit for i, word in enumerate(words) for bit in range(width) if word >> bit & 1]


@settings(max_examples=40, deadline=None)
@given(bitmaps(), st.none() | st.integers(0, 1000))
def test_it_is_the_intersection_of_sets_with_positions(given, seed):
    width, pairs = given
    inputs = {side: tokens(pair[i] for pair in pairs) for i, side in enumerate("ab")}
    outcome = run_block(BitmapIntersector("block", width), inputs, outputs(width), seed=seed)
    for i, side in enumerate("ab"):
        expected = []
        for pair in pairs:
            own, other = nonzeros(pair[i], width), nonzeros(pair[1 - i], width)
            expected.append([(c, own.index(c)) for c in own if c in other])
        assert found(outcome, side, width) == expected
    assert outcome.statistics["block"].counters["matches"] == sum(map(len, expected))


def found(outcome, side, width):
    """The matches of each fiber, at whose end there is a row of stops."""
    fibers, fiber = [], []
    for row in zip(*(outcome.tokens(f"matches_{side}[{lane}]") for lane in range(width)), strict=True):
        kinds = {token[0] for token in row}
        if STOP in kinds:
            assert kinds == {STOP}
            fibers.append(fiber)
            fiber = []
        fiber += [token[1:3] for token in row if token[0] == DATA]
    return fibers


def test_a_row_leaves_in_the_cycle_in_which_both_words_show():
    inputs = {"a": tokens([[0b1101, 0b10]]), "b": tokens([[0b0111, 0b11]])}
    outcome = run_block(BitmapIntersector("block", 4), inputs, outputs(4))
    rows = [outcome.received[f"matches_b[{lane}]"] for lane in range(4)]
    assert [cycle for cycle, _token in rows[0]] == [2, 3, 4]  # a push in 0 is seen in 1
    assert [[token[:3] for _cycle, token in lane] for lane in rows] == [
        [(DATA, 0, 0), (EMPTY, 0, 0), (STOP, 0, 0)],
        [(EMPTY, 0, 0), (DATA, 5, 4), (STOP, 0, 0)],
        [(DATA, 2, 2), (EMPTY, 0, 0), (STOP, 0, 0)],
        [(EMPTY, 0, 0), (EMPTY, 0, 0), (STOP, 0, 0)],
    ]


@settings(max_examples=40, deadline=None)
@given(bitmaps())
def test_neither_order_nor_sleep_changes_anything(given):
    width, pairs = given
    inputs = {side: tokens(pair[i] for pair in pairs) for i, side in enumerate("ab")}
    check_laws(lambda: BitmapIntersector("block", width), inputs, outputs(width))


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="block: width must be one of 2, 4, 8, 16, 32, not 3"):
        BitmapIntersector("block", 3)
    with pytest.raises(SimulationError, match="block: one fiber ends at coordinate 4, the other goes on"):
        run_block(BitmapIntersector("block", 4), {"a": tokens([[1, 2]]), "b": tokens([[1]])}, outputs(4))
    with pytest.raises(SimulationError, match="block: 16 is no word of 4 bits"):
        run_block(BitmapIntersector("block", 4), {"a": tokens([[16]]), "b": tokens([[1]])}, outputs(4))
    with pytest.raises(SimulationError, match="block: connect 4 matches_b, one a lane, not 3"):
        run_block(BitmapIntersector("block", 4), {"a": [], "b": []}, outputs(4)[:-1])
