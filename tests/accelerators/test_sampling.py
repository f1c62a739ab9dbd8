"""Windows, their choice, and the interval of an estimate, on populations whose totals are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.accelerators.sampling import choose_windows, correct, cut_windows, estimate_cycles, half_width

COSTS = st.lists(st.floats(0.5, 200), min_size=1, max_size=300)


@given(COSTS, st.floats(1, 100), st.floats(1, 100))
def test_windows_are_all_rows_in_order(costs, first, cost):
    windows = cut_windows(np.array(costs), first, cost)
    rows = [row for window in windows for row in window]
    assert rows == list(range(len(costs)))
    assert all(len(window) > 0 for window in windows)


def test_windows_have_about_equal_cost_and_the_first_and_the_last_their_own():
    windows = cut_windows(np.ones(1000), 60, 40)
    assert [len(windows[0]), len(windows[-1])] == pytest.approx([60, 60], abs=2)
    assert {len(window) for window in windows[1:-1]} <= {39, 40, 41}


@given(st.integers(1, 400), st.integers(1, 40), st.integers(0, 5))
def test_a_window_of_each_stratum_is_chosen_and_a_seed_chooses_it_again(count, strata, seed):
    strata = min(count, strata)
    chosen = choose_windows(count, strata, seed)
    bounds = [i * count // strata for i in range(strata + 1)]
    assert all(low <= number < high for low, number, high in zip(bounds, chosen, bounds[1:], strict=False))
    assert chosen == choose_windows(count, strata, seed)


def population(seed, spread):
    """Cycles and two kinds of work of 400 windows, with a rate that drifts along the matrix."""
    generator = np.random.default_rng(seed)
    work = generator.uniform(0.7, 1.3, (400, 2)) * [100_000, 400_000]
    rate = np.linspace(1, 1.5, 400) * generator.normal(1, spread, 400)
    return work @ [0.03, 0.002] * rate, work


@pytest.mark.parametrize("spread", [0.02, 0.2])
def test_intervals_of_95_percent_contain_the_total_as_often_as_that(spread):
    covered = 0
    for seed in range(400):
        cycles, work = population(seed, spread)
        chosen = choose_windows(400, 20, seed)
        found = estimate_cycles(cycles[chosen], work[chosen], chosen, work)
        covered += abs(found.cycles - cycles.sum()) <= found.half_width
    assert 0.92 * 400 <= covered <= 0.99 * 400


@given(st.lists(st.floats(0.5, 2), min_size=10, max_size=40))
def test_the_variance_is_the_sum_of_squares_of_deviations_which_add_up_to_nothing(rates):
    work = np.linspace(900, 1100, len(rates))[:, None]
    chosen = [7 * number + 3 for number in range(len(rates))]
    found = estimate_cycles(np.array(rates) * work[:, 0], work, chosen, np.full((7 * len(rates), 1), 1e3))
    assert len(found.deviations) == len(rates)
    assert found.half_width == pytest.approx(half_width(found.deviations, found.degrees))
    assert sum(found.deviations) == pytest.approx(0, abs=1e-6 * found.cycles)


def test_the_estimate_of_all_windows_is_exact():
    cycles, work = population(1, 0.1)
    found = estimate_cycles(cycles, work, range(400), work)
    assert found.cycles == pytest.approx(cycles.sum())
    assert found.half_width == 0


def test_windows_without_a_kind_of_work_have_no_weight_for_it():
    cycles = np.array([100.0, 110.0, 90.0, 105.0, 95.0])
    work = np.stack([cycles * 32, np.zeros(5)], axis=1)
    found = estimate_cycles(cycles, work, [0, 1, 2, 3, 4], work)
    assert found.cycles == pytest.approx(500)


def test_work_that_windows_do_for_their_neighbours_is_no_error_of_the_count():
    generator = np.random.default_rng(2)
    counted = generator.uniform(0.8, 1.2, 30) * 1000
    left = np.concatenate([[0], generator.uniform(0, 100, 29), [0]])  # to the next window
    lag = np.diff(-left)
    correction = correct(1.1 * counted + 3 * lag, counted, lag)
    assert correction.ratio == pytest.approx(1.1)
    assert correction.residuals == pytest.approx(np.zeros(28), abs=1e-6)


def test_intervals_contain_the_total_where_the_count_of_all_windows_is_itself_an_estimate():
    covered = 0
    for seed in range(400):
        cycles, work = population(seed, 0.02)
        generator = np.random.default_rng(seed)
        counted = work * np.stack([np.ones(400), generator.normal(0.9, 0.1, 400)], axis=1)
        chosen = choose_windows(398, 20, seed)
        places = [0, *(1 + number for number in chosen), 399]
        correction = correct(work[places, 1], counted[places, 1], np.zeros(22))
        residuals = np.stack([np.zeros(20), correction.residuals], axis=1)
        totals, inner = (counted * [1, correction.ratio])[1:-1], slice(1, -1)
        estimated = estimate_cycles(cycles[places][inner], work[places][inner], chosen, totals, residuals)
        covered += abs(estimated.cycles - cycles[1:-1].sum()) <= estimated.half_width
    assert 0.91 * 400 <= covered <= 0.99 * 400
