"""The packer: order and full rows against a list, its cycles against a count of what is held."""

import pytest
from array_bench import check_block, lanes_of, ports, sizes, stall_seeds
from fibers import EMPTY_TOKEN, STOP_TOKEN, check_accounting_of
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import by_lane

from fiberscope.hw.lanes.packer import Packer
from fiberscope.hw.stream import DATA
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.testing import run_block


@st.composite
def gapped_arrays(draw, lanes):
    """Arrays as rows of tokens, with empty lanes anywhere before the stops of the last row."""
    arrays = []
    numbers = iter(range(1 << 20))
    for _ in range(draw(st.integers(0, 3))):
        gap = draw(st.sampled_from([0.0, 0.3, 0.9]))
        count = draw(st.sampled_from([0, 1, lanes - 1, lanes, 4 * lanes, 9 * lanes + 1]))
        chances = draw(st.lists(st.floats(0, 1), min_size=count, max_size=count))
        tokens = [EMPTY_TOKEN if chance < gap else item(next(numbers)) for chance in chances]
        tokens += [STOP_TOKEN] * (lanes - count % lanes)
        arrays.append([tokens[first : first + lanes] for first in range(0, len(tokens), lanes)])
    return arrays


def item(number):
    return (DATA, number, -number, number / 4)


def items_of(arrays):
    return [[token[1:] for row in rows for token in row if token[0] == DATA] for rows in arrays]


def check_packs(inputs, outputs, arrays, **bench):
    items = items_of(arrays)
    outcome = check_block(
        lambda: Packer("packer", inputs, outputs),
        by_lane("lanes", inputs, [row for rows in arrays for row in rows]),
        lanes_of("packed", outputs, items),
        **bench,
    )
    assert outcome.statistics["packer"].counters == {
        "rows": sum(map(len, arrays)),
        "words": sum(map(len, items)),
        "packed_rows": sum(len(array) // outputs + 1 for array in items),
    }
    return outcome


@given(data=st.data(), inputs=st.integers(1, 6), outputs=st.integers(1, 6), size=sizes, seed=stall_seeds)
def test_packs_any_arrays(data, inputs, outputs, size, seed):
    check_packs(inputs, outputs, data.draw(gapped_arrays(inputs)), seed=seed, **size)


@settings(max_examples=8)
@given(data=st.data(), widths=st.sampled_from([(32, 16), (16, 8), (8, 16), (256, 1), (1, 256), (256, 256)]))
def test_many_lanes(data, widths):
    check_packs(*widths, data.draw(gapped_arrays(widths[0])), laws=False)


def full(lanes, count):
    tokens = [item(number) for number in range(count)] + [STOP_TOKEN] * (lanes - count % lanes)
    return [tokens[first : first + lanes] for first in range(0, len(tokens), lanes)]


def cycles_at(outcome, port):
    return [cycle for cycle, _ in outcome.received[port]]


@pytest.mark.parametrize(
    ("inputs", "outputs", "cycles"),
    [
        (4, 4, [2, 3, 4]),  # a row goes through in the cycle in which it is seen
        (4, 2, [2, 3, 4, 5, 6]),  # one is taken every other cycle
        (2, 4, [3, 5, 6]),  # two rows make one
    ],
)
def test_cycles_of_full_rows(inputs, outputs, cycles):
    outcome = check_packs(inputs, outputs, [full(inputs, 8)])
    assert cycles_at(outcome, "packed[0]") == cycles


def test_rows_of_half_their_items_make_half_as_many():
    row = [item(1), EMPTY_TOKEN, item(2), EMPTY_TOKEN]
    outcome = check_packs(4, 4, [[row] * 5 + [[STOP_TOKEN] * 4]])
    assert cycles_at(outcome, "packed[0]") == [3, 5, 7]
    check_accounting_of(outcome, "packer", busy=6, input_stall={}, output_stall={})


def test_stops_behind_a_row_that_is_just_full_need_a_row_of_their_own():
    rows = [[item(1), item(2), STOP_TOKEN], [item(3), STOP_TOKEN, STOP_TOKEN]]
    outcome = check_packs(3, 2, [[rows[0]], [rows[1]]])
    # Both of the first array leave at 1, its stops at 2, and the second array at 3.
    assert cycles_at(outcome, "packed[0]") == [2, 3, 4]


def test_planted_a_packer_that_loses_what_it_holds():
    rows = [[item(1), EMPTY_TOKEN], [STOP_TOKEN] * 2]
    check_packs(2, 2, [rows])
    with pytest.raises(AssertionError):
        check_block(lambda: Packer("packer", 2, 2), by_lane("lanes", 2, rows), lanes_of("packed", 2, [[]]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 4), "packer: inputs must be from 1 to 256, not 0"),
        ((4, 257), "packer: outputs must be from 1 to 256, not 257"),
    ],
)
def test_what_cannot_be_built_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Packer("packer", *arguments)


def test_an_item_behind_a_stop_is_refused():
    with pytest.raises(SimulationError, match=r"packer: lanes\[1\] shows an item behind a stop of its row"):
        run_block(Packer("packer", 2, 1), by_lane("lanes", 2, [[STOP_TOKEN, item(1)]]), ports("packed", 1))
