"""The comparator bank against a comparison of each item with the one before it."""

import pytest
from array_bench import arrays_of, check_block, lanes_of, ports, sizes, stall_seeds
from fibers import EMPTY_TOKEN, check_accounting_of
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.lanes.comparator_bank import CHANGED, NONZERO, TESTS, ComparatorBank
from fiberscope.hw.stream import DATA, EMPTY
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.testing import run_block

NOTHING = "empty"  # in place of an item


def with_gaps(tokens):
    return {
        port: [EMPTY_TOKEN if token[1] == NOTHING else token for token in stream]
        for port, stream in tokens.items()
    }


def held_by(test, array):
    """Whether the test holds, by item: the reference."""
    held, before = [], None
    for item in array:
        if item[0] != NOTHING:
            held.append(item[2] != 0 if test == NONZERO else item[0] != before)
            before = item[0]
        else:
            held.append(False)
    return held


def expected_of(test, lanes, arrays):
    flags = [
        [
            (item[0] if item[0] == NOTHING else int(held), *item[1:])
            for item, held in zip(array, held_by(test, array), strict=True)
        ]
        for array in arrays
    ]
    kept = [
        [item if held else (NOTHING, 0, 0.0) for item, held in zip(array, held_by(test, array), strict=True)]
        for array in arrays
    ]
    return with_gaps(lanes_of("flags", lanes, flags) | lanes_of("kept", lanes, kept))


def check_bank(test, lanes, arrays, *, left_out="", **bench):
    expected = expected_of(test, lanes, arrays)
    outcome = check_block(
        lambda: ComparatorBank("bank", lanes, test),
        with_gaps(lanes_of("lanes", lanes, arrays)),
        {port: tokens for port, tokens in expected.items() if not port.startswith(left_out or "-")},
        **bench,
    )
    held = [held for array in arrays for held in held_by(test, array)]
    compares = sum(item[0] != NOTHING for array in arrays for item in array)
    assert outcome.statistics["bank"].counters == {"compares": compares, "held": sum(held)}
    return outcome


@given(
    data=st.data(),
    test=st.sampled_from(TESTS),
    lanes=st.integers(1, 5),
    left_out=st.sampled_from(["", "flags", "kept"]),
    size=sizes,
    seed=stall_seeds,
)
def test_any_arrays(data, test, lanes, left_out, size, seed):
    items = st.integers(0, 2) | st.just(NOTHING)
    arrays = data.draw(arrays_of(lanes, items, values=st.sampled_from([0.0, 0.0, 1.0, 2.0**31])))
    check_bank(test, lanes, arrays, left_out=left_out, seed=seed, **size)


def test_a_change_is_seen_across_rows_and_not_across_arrays():
    rows = [(0, 0, 0.0), (1, 0, 0.0), (1, 0, 0.0), (1, 0, 0.0), (2, 0, 0.0)]
    outcome = check_bank(CHANGED, 2, [rows, [(2, 0, 0.0)]])
    flags = [[token[1] for token in outcome.tokens(port) if token[0] == DATA] for port in ports("flags", 2)]
    assert flags == [[1, 0, 1, 1], [1, 0]]


def test_many_lanes():
    array = [(n // 3, n, float(n % 2)) for n in range(999)]
    for test in TESTS:
        check_bank(test, 256, [array], laws=False)


def test_a_row_leaves_in_the_cycle_in_which_it_is_seen():
    outcome = check_bank(NONZERO, 2, [[(1, 0, 0.0)] * 9])
    assert [cycle for cycle, _ in outcome.received["flags[1]"]] == [2, 3, 4, 5, 6]
    assert outcome.tokens("kept[0]")[0][0] == EMPTY
    check_accounting_of(outcome, "bank", busy=5, input_stall={}, output_stall={})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, NONZERO), "bank: lanes must be from 1 to 256, not 0"),
        ((4, "zero"), "bank: test must be one of nonzero, changed, not zero"),
    ],
)
def test_what_cannot_be_built_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ComparatorBank("bank", *arguments)


def test_lanes_that_are_not_connected_are_refused():
    with pytest.raises(SimulationError, match="bank: connect 2 kept, one a lane, not 1"):
        run_block(ComparatorBank("bank", 2, NONZERO), lanes_of("lanes", 2, []), ["kept[0]"])
