"""Windows, their choice, and the interval of an estimate, on populations whose totals are known."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope import accelerators
from fiberscope.accelerators.machine import MemoryUse, Traffic
from fiberscope.accelerators.marked_run import Counts, MarkedRun, run_to_end
from fiberscope.accelerators.sampling import (
    MIN_CYCLES,
    Estimated,
    Rounds,
    Sample,
    correct,
    estimate_cycles,
    estimate_run,
    half_width,
    moved_bytes,
    scale_memory,
)
from fiberscope.accelerators.windows import choose_windows, cut_windows, find_windows_with_long_tasks
from fiberscope.base.errors import InputError
from fiberscope.run.sampled import check_machine


class _Worked:
    """A machine that does a piece of work a cycle, and then needs some cycles to end."""

    def __init__(self, work, tail):
        self.work, self.tail, self.done = work, tail, 0
        self.kernel = self
        self.operations = self.traffic = dict
        self.memory = lambda: None

    def run(self, cycle_limit=None, progress=None):
        end = self.work + self.tail
        cycles = end if cycle_limit is None else min(cycle_limit, end)
        self.done = min(cycles, self.work)
        complete = cycles == end and cycle_limit != end
        return SimpleNamespace(complete=complete, cycles=cycles, reason="" if complete else "cycle limit")


@given(
    st.integers(0, 100),
    st.integers(0, 40),
    st.lists(st.integers(0, 130), min_size=1, max_size=5),
    st.floats(0.01, 100),
)
def test_marks_never_lie_after_the_end_of_the_run(work, tail, marks, rate):
    """Also where no work is left between two marks: the run may have ended before the later mark."""
    machine = _Worked(work, tail)
    run = MarkedRun(machine, lambda: machine.done, rate)
    cycles = [run.run_until(min(mark, work)).cycles for mark in sorted(marks)]
    cycles.append(run_to_end(machine).cycles)
    assert cycles == sorted(cycles)
    assert cycles[-1] == work + tail


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
    for last in (20, 100):
        windows = cut_windows(np.ones(1000), 60, 40, last)
        assert [len(windows[0]), len(windows[-1])] == pytest.approx([60, last], abs=2)


def test_a_long_task_is_in_flight_in_the_windows_that_it_may_last():
    ranges = [range(4 * i, 4 * i + 4) for i in range(8)]
    lengths = np.ones(32, np.int64)
    lengths[[0, 9, 22]] = [50, 90, 60]  # in windows 0, 2 and 5
    # A window has 40 cycles. The tasks begin in cycles 0, 90 and 220.
    costs = np.full(32, 10.0)
    assert find_windows_with_long_tasks(ranges, costs, lengths, 40) == [1, 2, 3, 4, 5, 6]
    assert find_windows_with_long_tasks(ranges, costs, lengths, 55) == [2, 3, 4, 5, 6]
    assert find_windows_with_long_tasks(ranges, costs, lengths, 90) == []


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


@pytest.mark.parametrize("kinds", [2, 5, 8])
def test_weights_that_are_fitted_to_many_kinds_of_work_widen_the_interval(kinds):
    covered = 0
    for seed in range(400):
        generator = np.random.default_rng(seed)
        work = generator.uniform(0.7, 1.3, (200, 1)) * generator.uniform(0.8, 1.2, (200, kinds)) * 1e5
        cycles = 0.03 * work.mean(axis=1) * generator.normal(1, 0.05, 200)
        chosen = choose_windows(200, 20, seed)
        found = estimate_cycles(cycles[chosen], work[chosen], chosen, work)
        covered += abs(found.cycles - cycles.sum()) <= found.half_width
    assert 0.925 * 400 <= covered <= 0.99 * 400


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
    assert 0.91 * 400 <= covered <= 0.995 * 400


def test_the_interval_of_alike_windows_is_that_of_a_simple_random_sample():
    cycles = np.array([9.0, 10.0, 11.0, 10.0, 10.0])
    estimated = estimate_cycles(cycles, np.ones((5, 1)), [1, 3, 5, 7, 9], np.ones((10, 1)))
    deviation = 10 * (cycles.var(ddof=1) / 5 * (1 - 5 / 10)) ** 0.5
    assert estimated.cycles == pytest.approx(100)
    assert estimated.half_width == pytest.approx(half_width([deviation], 4))


def test_the_interval_of_groups_is_that_of_a_sample_of_each():
    chosen = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]
    cycles = np.array([9.0, 10.0, 11.0, 10.0, 10.0, 24.0, 20.0, 16.0, 20.0, 20.0])
    estimated = estimate_cycles(cycles, np.ones((10, 1)), chosen, np.ones((21, 1)))
    sizes, deviations = (11, 10), []  # windows that each group stands for
    for size, group in zip(sizes, np.split(cycles, 2), strict=True):
        deviations.append(size * (group.var(ddof=1) / 5 * (1 - 5 / size)) ** 0.5)
    assert estimated.cycles == pytest.approx(11 * 10 + 10 * 20)
    assert estimated.half_width == pytest.approx(half_width(deviations, 8))


@pytest.mark.parametrize(("residuals", "degrees"), [(None, 8), (np.zeros((10, 1)), 6)])
def test_a_group_stands_for_the_windows_up_to_the_middle_between_groups(residuals, degrees):
    chosen = [2, 4, 6, 8, 10, 30, 32, 34, 36, 38]
    cycles = np.repeat([1.0, 2.0], 5)
    estimated = estimate_cycles(cycles, np.ones((10, 1)), chosen, np.ones((41, 1)), residuals)
    assert estimated.cycles == pytest.approx(21 * 1 + 20 * 2)
    assert estimated.degrees == degrees


@pytest.mark.parametrize(
    ("excess", "power", "counts"),
    [
        (1.0, 0.5, [20]),
        (1.4, 0.5, [20, 40]),
        (1.9, 0.5, [20, 80]),
        (3.9, 0.5, [20, 320]),
        (100, 0.5, [20, 320]),
        (1.4, 0, [20, 40, 80, 160, 320]),  # the width stays as it is
    ],
)
def test_a_round_has_the_windows_that_the_width_of_the_last_one_asks_for(excess, power, counts):
    measured = []

    def estimate(numbers):
        measured.append(len(numbers) - 2)
        return Estimated(1e6, 1e4 * excess * (20 / measured[-1]) ** power)

    rounds = Rounds(Sample(half_width=0.01), 1000, 4000, 1e6)
    last, estimated = rounds.run(tuple, estimate)
    assert measured == counts
    assert (len(last) - 2, estimated) == (counts[-1], estimate(last))


@pytest.mark.parametrize(("windows", "counts"), [(82, [20, 40]), (81, [20]), (42, [20]), (41, [])])
def test_at_most_half_of_the_windows_between_the_first_and_the_last_are_chosen(windows, counts):
    rounds = Rounds(Sample(), windows, 4000, MIN_CYCLES)
    assert [len(numbers) - 2 for numbers in rounds.numbers] == counts
    assert all((numbers[0], numbers[-1]) == (0, windows - 1) for numbers in rounds.numbers)
    assert all(numbers == sorted(set(numbers)) for numbers in rounds.numbers)
    assert bool(rounds.full_run_reason()) == (not counts)


def test_a_run_is_too_short_by_its_cycles_unless_the_windows_are_given():
    short = MIN_CYCLES - 1
    assert "are fewer than" in Rounds(Sample(), 100, 4000, short).full_run_reason()
    assert Rounds(Sample(windows=5), 100, 4000, short).full_run_reason() == ""
    assert Rounds(Sample(window_cycles=100), 100, 100, short).full_run_reason() == ""


def test_the_first_and_the_last_window_of_a_run_count_as_they_are():
    totals = np.array([[7.0], [10.0], [10.0], [10.0], [10.0], [3.0]])
    windows = [0, 1, 3, 5]  # the rate between the ends is two cycles a unit of work
    estimate = estimate_run(np.array([100.0, 20, 20, 50]), totals[windows], windows, totals)
    assert estimate.cycles == pytest.approx(100 + 2 * 40 + 50)
    assert estimate.half_width == pytest.approx(0)


def test_the_use_of_a_memory_grows_with_the_bytes_that_are_moved():
    part = {"A": Traffic(60, 0), "Z": Traffic(10, 30)}
    end = Counts(9, {}, part, MemoryUse(8, 4, 2, 10**9, {"refreshes": 3}))
    begin = Counts(3, {}, {"A": Traffic(40, 10)}, MemoryUse(2, 1, 2, 10**9))
    whole = {"B": Traffic(200, 50)}
    assert moved_bytes(part) == 100
    assert scale_memory(whole, end) == MemoryUse(20, 10, 5, 10**9)
    assert scale_memory(whole, end, begin) == MemoryUse(30, 15, 0, 10**9)
    assert scale_memory(whole, begin, begin) == MemoryUse(0, 0, 0, 10**9)
    assert scale_memory(whole, Counts(9, {}, part, None)) is None


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        ("outerspace", "outerspace cannot be sampled, as the cycles of its loads fall over the whole "),
        ("weight_stationary", "weight_stationary cannot be sampled; machines that can be: "),
    ],
)
def test_a_machine_that_cannot_be_sampled_is_refused_with_the_reason(machine, message):
    with pytest.raises(InputError, match=message):
        check_machine(accelerators.find(machine))
