"""The networks of adders of the prefix sums: what they compute, how deep and how large they are."""

import random
from itertools import accumulate

import pytest

from fiberscope.hw.lanes.prefix_sum import FORMS, PARALLEL, SERIAL, WORK_EFFICIENT, adders, depth, network
from fiberscope.hw.lanes.rows import MAXIMUM_LANES


def longest_wire(form, lanes):
    """In lanes that it crosses."""
    return max(target - source for level in network(form, lanes) for source, target in level)


def through(levels, row):
    """A row behind a network."""
    for level in levels:
        before = list(row)
        row = list(row)
        for source, target in level:
            row[target] = before[target] + before[source]
    return row


@pytest.mark.parametrize("form", FORMS)
def test_every_network_sums_a_row(form):
    generator = random.Random(form)
    for lanes in range(1, MAXIMUM_LANES + 1):
        row = generator.choices(range(100), k=lanes)
        assert through(network(form, lanes), row) == list(accumulate(row))


@pytest.mark.parametrize("form", FORMS)
def test_depth_and_adders_are_those_of_the_network_and_the_offset(form):
    for lanes in range(1, MAXIMUM_LANES + 1):
        levels = network(form, lanes)
        assert depth(form, lanes) == len(levels) + 1
        assert adders(form, lanes) == sum(map(len, levels)) + lanes


@pytest.mark.parametrize("log", range(2, 9))
def test_the_textbook_formulas_for_powers_of_two(log):
    lanes = 1 << log
    assert depth(SERIAL, lanes) - 1 == lanes
    assert adders(SERIAL, lanes) - lanes == lanes - 1
    assert depth(WORK_EFFICIENT, lanes) - 1 == 2 * log - 1
    assert adders(WORK_EFFICIENT, lanes) - lanes == 2 * lanes - 2 - log
    assert depth(PARALLEL, lanes) - 1 == log
    assert adders(PARALLEL, lanes) - lanes == lanes * log - lanes + 1


def test_the_trade_that_mint_reports():
    """MINT, Section VII-B: the serial chain has a longer latency, fewer adders and simpler wires."""
    for lanes in range(5, MAXIMUM_LANES + 1):
        depths = [depth(form, lanes) for form in (SERIAL, WORK_EFFICIENT, PARALLEL)]
        assert depths == sorted(depths, reverse=True)
        assert depths[0] > depths[1]
        counts = [adders(form, lanes) for form in (SERIAL, WORK_EFFICIENT, PARALLEL)]
        assert counts[0] < counts[1] < counts[2]
        assert longest_wire(SERIAL, lanes) == 1
        assert min(longest_wire(WORK_EFFICIENT, lanes), longest_wire(PARALLEL, lanes)) > 1


def test_the_32_lanes_of_mint():
    assert {form: (depth(form, 32), adders(form, 32)) for form in FORMS} == {
        SERIAL: (33, 63),
        WORK_EFFICIENT: (10, 89),
        PARALLEL: (6, 161),
    }


def test_planted_a_network_that_lacks_an_adder():
    *levels, last = network(PARALLEL, 8)
    assert through([*levels, last[1:]], [1] * 8) != list(accumulate([1] * 8))
