"""The sorting network: its columns by the zero-one principle, rows against sorted, its cycles."""

from itertools import pairwise, product
from operator import itemgetter

import pytest
from array_bench import arrays_of, check_block, lanes_of, ports, sizes, stall_seeds
from fibers import check_accounting_of
from hypothesis import given, settings
from hypothesis import strategies as st

from fiberscope.hw.lanes.sorting_network import SortingNetwork, depth, network
from fiberscope.hw.stream import DATA
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.testing import run_block

by_coordinate = itemgetter(0)


def chunks_sorted(lanes, arrays):
    """The arrays with each chunk of so many items sorted: the reference."""
    return [
        [
            item
            for first in range(0, len(array), lanes)
            for item in sorted(array[first : first + lanes], key=by_coordinate)
        ]
        for array in arrays
    ]


def check_sorts(make, lanes, arrays, **bench):
    return check_block(
        make,
        lanes_of("lanes", lanes, arrays),
        lanes_of("sorted", lanes, chunks_sorted(lanes, arrays)),
        **bench,
    )


def all_bits(lanes):
    """For each lane an integer of 2 ** lanes bits: together they are all vectors of zeros and ones."""
    return [sum(1 << vector for vector in range(1 << lanes) if vector >> lane & 1) for lane in range(lanes)]


def through(columns, keys):
    """Vectors of bits behind columns of compare-exchanges; the lesser bit is the AND, the greater the OR."""
    keys = list(keys)
    for column in columns:
        for low, high in column:
            keys[low], keys[high] = keys[low] & keys[high], keys[low] | keys[high]
    return keys


@pytest.mark.parametrize(("lanes", "columns"), [(2, 1), (4, 3), (8, 6), (16, 10), (64, 21)])
def test_its_columns(lanes, columns):
    assert len(network(lanes)) == depth(lanes) == columns
    for column in network(lanes):
        assert sorted(lane for pair in column for lane in pair) == list(range(lanes))


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_it_sorts_all_zeros_and_ones_and_so_all(lanes):
    behind = through(network(lanes), all_bits(lanes))
    assert [low & ~high for low, high in pairwise(behind)] == [0] * (lanes - 1)


def test_planted_a_network_without_its_last_column_does_not_sort():
    assert any(through(network(4)[:-1], keys) != sorted(keys) for keys in product((0, 1), repeat=4))


class TestRows:
    @given(data=st.data(), lanes=st.sampled_from([2, 4, 8]), size=sizes, seed=stall_seeds)
    def test_each_row_is_sorted_and_equal_keys_stay_in_order(self, data, lanes, size, seed):
        arrays = data.draw(arrays_of(lanes, st.integers(0, 5) | st.integers(0, (1 << 32) - 1)))
        check_sorts(lambda: SortingNetwork("sorter", lanes), lanes, arrays, seed=seed, **size)

    @settings(max_examples=8)
    @given(data=st.data(), lanes=st.sampled_from([64, 256]), width=st.sampled_from([1, 62]))
    def test_many_lanes_and_widths(self, data, lanes, width):
        arrays = [[(data.draw(st.integers(0, (1 << width) - 1)), n, float(n)) for n in range(lanes + 7)]]
        check_sorts(lambda: SortingNetwork("sorter", lanes, width), lanes, arrays, laws=False)

    def test_the_matrix_of_mint(self):
        ids = [(2, 0, 0.0), (0, 1, 0.0), (2, 2, 0.0), (1, 3, 0.0), (3, 4, 0.0), (0, 5, 0.0)]
        outcome = check_sorts(lambda: SortingNetwork("sorter", 4), 4, [ids])
        assert [outcome.received[port][0][1][:3] for port in ports("sorted", 4)] == [
            (DATA, 0, 1), (DATA, 1, 3), (DATA, 2, 0), (DATA, 2, 2),
        ]  # fmt: skip
        counters = outcome.statistics["sorter"].counters
        assert counters == {"chunks": 2, "numbers": 6, "compare_exchanges": 2 * 3 * 2}

    @pytest.mark.parametrize("lanes", [2, 4, 16])
    def test_a_row_is_seen_behind_its_columns_and_one_a_cycle(self, lanes):
        arrays = [[(lane, 0, 0.0) for lane in range(10 * lanes - 1)]]
        outcome = check_sorts(lambda: SortingNetwork("sorter", lanes), lanes, arrays)
        # Pushed at 0, taken at 1, seen behind as many cycles as there are columns.
        assert [cycle for cycle, _ in outcome.received["sorted[0]"]] == [
            1 + depth(lanes) + row for row in range(10)
        ]
        busy = 9 + depth(lanes)
        check_accounting_of(outcome, "sorter", busy=busy, input_stall={}, output_stall={})

    def test_planted_a_sorter_that_sorts_another_width_of_chunks(self):
        arrays = [[(lane, 0, 0.0) for lane in reversed(range(8))]]
        check_sorts(lambda: SortingNetwork("sorter", 4), 4, arrays)
        with pytest.raises(AssertionError):
            check_block(
                lambda: SortingNetwork("sorter", 4),
                lanes_of("lanes", 4, arrays),
                lanes_of("sorted", 4, chunks_sorted(8, arrays)),
            )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1,), "sorter: lanes must be a power of two from 2 to 256, not 1"),
        ((12,), "sorter: lanes must be a power of two from 2 to 256, not 12"),
        ((512,), "sorter: lanes must be from 1 to 256, not 512"),
        ((4, 63), "sorter: width must be from 1 to 62, not 63"),
    ],
)
def test_what_cannot_be_built_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SortingNetwork("sorter", *arguments)


def test_a_key_that_is_too_wide_is_refused():
    with pytest.raises(SimulationError, match=r"sorter: 4 at lanes\[1\] is no unsigned integer of 2 bits"):
        run_block(
            SortingNetwork("sorter", 2, 2),
            lanes_of("lanes", 2, [[(3, 0, 0.0), (4, 0, 0.0)]]),
            ports("sorted", 2),
        )
