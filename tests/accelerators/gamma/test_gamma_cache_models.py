"""The caches without sets that the FiberCache is compared with, on requests worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.accelerators.gamma.layout import B_BASE, PARTIAL_BASE
from fiberscope.hw.memory.protocol import CONSUME, FETCH, READ, WRITE
from published import fibercache as models

LINE = 64


def _requests(uses, *, partials=True):
    made, lines = np.array(uses).T
    base = np.where((made == WRITE) | (made == CONSUME), PARTIAL_BASE, B_BASE)
    return models.Requests(made, base + LINE * lines, LINE, partials=partials)


def _fetches(lines):
    return [(FETCH, line) for line in lines]


def test_three_lines_in_turn_never_find_themselves_in_a_cache_of_two():
    turns = _requests(_fetches([1, 2, 3, 1, 2, 3]))
    assert models.count_lru_misses(turns, 2) == 6
    assert models.count_opt_misses(turns, 2) == 4  # 3 goes in for 2 and 1 stays; then 3 stays, or 2


@pytest.mark.parametrize(("partials", "read"), [(True, 5), (False, 2)])
def test_a_partial_fiber_takes_room_until_it_is_consumed(partials, read):
    uses = [*_fetches([1, 2]), (WRITE, 7), *_fetches([1, 2]), (CONSUME, 7), *_fetches([1, 2])]
    assert models.count_lru_misses(_requests(uses, partials=partials), 2) == read


def test_a_read_of_what_was_fetched_is_no_use_of_its_own():
    assert len(_requests([(FETCH, 1), (READ, 1), (FETCH, 1), (READ, 1)]).lines) == 2


@given(st.lists(st.integers(0, 9), min_size=1, max_size=200), st.integers(1, 12))
def test_no_cache_reads_less_than_the_one_that_knows_what_comes(lines, capacity):
    fetches = _requests(_fetches(lines))
    once = len(set(lines))
    assert once <= models.count_opt_misses(fetches, capacity) <= models.count_lru_misses(fetches, capacity)
    assert models.count_lru_misses(fetches, 10) == once
