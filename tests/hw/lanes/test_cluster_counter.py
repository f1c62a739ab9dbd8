"""The cluster counter against groupby, row by row."""

from itertools import groupby

import pytest
from array_bench import arrays_of, check_block, lanes_of, ports, sizes, stall_seeds
from fibers import check_accounting_of
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.lanes.cluster_counter import ClusterCounter
from fiberscope.sim.testing import run_block


def ranked(lanes, arrays):
    """The arrays with the rank of each key in its cluster as reference, chunk by chunk: the reference."""
    return [
        [
            (key, rank, value)
            for first in range(0, len(array), lanes)
            for key, cluster in groupby(array[first : first + lanes], key=lambda item: item[0])
            for rank, (_, _, value) in enumerate(cluster)
        ]
        for array in arrays
    ]


def check_ranks(lanes, arrays, **bench):
    expected = lanes_of("clusters", lanes, ranked(lanes, arrays))
    outcome = check_block(
        lambda: ClusterCounter("counter", lanes), lanes_of("sorted", lanes, arrays), expected, **bench
    )
    clusters = sum(rank == 0 for array in ranked(lanes, arrays) for _, rank, _ in array)
    assert outcome.statistics["counter"].counters == {"numbers": sum(map(len, arrays)), "clusters": clusters}
    return outcome


@given(data=st.data(), lanes=st.sampled_from([1, 2, 3, 8]), size=sizes, seed=stall_seeds)
def test_ranks_of_any_rows(data, lanes, size, seed):
    arrays = data.draw(arrays_of(lanes, st.integers(0, 3)))
    check_ranks(lanes, arrays, seed=seed, **size)


def test_many_lanes_of_one_key():
    check_ranks(256, [[(7, n, float(n)) for n in range(600)], []], laws=False)


def test_the_matrix_of_mint():
    """A cluster of a row has nothing to do with one of the row before."""
    outcome = check_ranks(4, [[(key, 9, 0.0) for key in (0, 1, 2, 2, 2, 3)]])
    ranks = [outcome.received[port][0][1][2] for port in ports("clusters", 4)]
    assert ranks == [0, 0, 0, 1]
    assert outcome.received["clusters[0]"][1] == (3, (0, 2, 0, 0.0))


def test_a_row_leaves_in_the_cycle_in_which_it_is_seen():
    outcome = check_ranks(2, [[(1, 0, 0.0)] * 9])
    assert [cycle for cycle, _ in outcome.received["clusters[1]"]] == [2, 3, 4, 5, 6]
    check_accounting_of(outcome, "counter", busy=5, input_stall={}, output_stall={})


def test_it_waits_for_space_and_for_lanes():
    outcome = run_block(
        ClusterCounter("counter", 2),
        lanes_of("sorted", 2, [[(1, 0, 0.0)] * 99]),
        ports("clusters", 2),
        seed=3,
    )
    statistics = outcome.statistics["counter"]
    assert statistics.input_stall
    assert statistics.output_stall


@pytest.mark.parametrize("lanes", [0, 257])
def test_what_cannot_be_built_is_refused(lanes):
    with pytest.raises(ValueError, match=f"counter: lanes must be from 1 to 256, not {lanes}"):
        ClusterCounter("counter", lanes)
