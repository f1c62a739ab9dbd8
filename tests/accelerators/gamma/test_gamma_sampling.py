"""Windows of a product that one Gamma multiplies one behind another, and the estimate of the whole."""

import re

import numpy as np
import pytest
from gamma_bench import configured, run_gamma, small_operands, stored

import fiberscope
from fiberscope.accelerators.gamma import Gamma
from fiberscope.accelerators.gamma.functional_pass import FunctionalPass
from fiberscope.accelerators.gamma.splice import join_windows, run_windows
from fiberscope.accelerators.sampling import Sample
from fiberscope.base.errors import InputError
from fiberscope.base.sharing import share_results

MATRIX = "uniform:rows=3000,cols=3000,nonzeros=24000"
SMALL = {"pe.count": 4, "memory.channels": 2, "fibercache.size": "96KiB", "fibercache.banks": 6}
REQUEST = Sample(windows=10, window_cycles=2000, seed=3)


def nobody(*_):
    return None


@pytest.mark.astray  # the cache begins with lines that it has not read
def test_all_windows_spliced_do_the_work_of_the_whole_run():
    a, b = small_operands()
    parameters = configured()
    whole = run_gamma(parameters, a, b)
    windows = [range(7), range(7, 8), range(8, 20), range(20, 30)]
    _, states = FunctionalPass(parameters, a, b).run_cache(window.start for window in windows[1:])
    rows = join_windows(stored(a), a.shape[1], windows)
    assert (rows != a).nnz == 0
    machine = Gamma(parameters, rows, b)
    marks = run_windows(machine, [len(window) for window in windows], list(states.values()), nobody)
    assert machine.operations() == whole.operations()
    assert (machine.result() != whole.result()).nnz == 0
    assert marks[-1].operations["merge"] == whole.operations()["merge"]
    assert np.all(np.diff([mark.cycles for mark in marks]) >= 0)


def test_all_windows_without_states_are_the_whole_run_to_the_cycle():
    a, b = small_operands()
    parameters = configured()
    whole = run_gamma(parameters, a, b)
    machine = Gamma(parameters, join_windows(stored(a), a.shape[1], [range(12), range(12, 30)]), b)
    last = run_windows(machine, [12, 18], [None], nobody)[-1]
    assert machine.traffic() == whole.traffic()
    assert machine.memory() == whole.memory()
    assert last.cycles == whole.kernel.run().cycles


@pytest.mark.astray  # the cache begins with lines that it has not read
def test_one_window_runs_between_its_neighbours_and_has_a_waveform_of_its_own(tmp_path):
    report = fiberscope.simulate(
        "gamma",
        "uniform:rows=1500,cols=1500,nonzeros=9000",
        settings={"pe.count": 2},
        sample=Sample(window_cycles=1000, window=7),
        waveform=tmp_path / "window.vcd",
    )
    assert report.verification.passed
    first, last = map(int, re.search(r"cycles (\d+) to (\d+) of this run", report.sampling.note).groups())
    assert report.sampling.note.startswith("window 7 of ")
    assert 0 < first < last < report.cycles
    told = report.sampling
    assert (told.windows, told.window_cycles, told.cycles_simulated) == (1, last - first, report.cycles)
    times = [int(line[1:]) for line in (tmp_path / "window.vcd").read_text().splitlines() if line[:1] == "#"]
    assert times
    assert max(times) - min(times) <= (last - first) * 1_000_000  # femtoseconds


@pytest.fixture(scope="module")
def full():
    return fiberscope.simulate("gamma", MATRIX, settings=SMALL)


@pytest.fixture(scope="module")
def sampled():
    return fiberscope.simulate("gamma", MATRIX, settings=SMALL, sample=REQUEST)


def test_the_estimate_is_near_the_full_run_and_its_counts_are_equal(full, sampled):
    assert sampled.complete == "sampled"
    assert sampled.operations == full.operations
    assert sampled.traffic["A"] == full.traffic["A"]
    assert sampled.traffic_minimum_bytes == full.traffic_minimum_bytes
    assert sampled.cycles == pytest.approx(full.cycles, rel=0.05)
    moved = [sum(part.moved_bytes for part in each.traffic.values()) for each in (full, sampled)]
    assert moved[1] == pytest.approx(moved[0], rel=0.05)
    assert sampled.verification.passed


def test_the_report_says_what_was_simulated_and_what_is_not_there(sampled):
    low, high = sampled.cycles_interval
    assert low < sampled.cycles < high
    told = sampled.sampling
    assert (told.windows, told.strata, told.seed) == (12, 10, 3)
    assert told.half_width == pytest.approx((high - low) / 2 / sampled.cycles, rel=0.01)
    assert 0 < told.fraction == told.cycles_simulated / sampled.cycles < 1
    assert "components" in told.unavailable
    assert not sampled.components
    assert sampled.product is sampled.energy is None
    assert "+- " in sampled.summary()
    assert "in the rows that were simulated" in sampled.summary()


def test_the_report_is_read_as_it_was_written(sampled, tmp_path):
    sampled.write(tmp_path / "sampled.json")
    assert fiberscope.Report.read(tmp_path / "sampled.json") == sampled


def test_a_whole_run_has_no_keys_of_a_sampled_one(full):
    assert not {"sampling", "cycles_interval"} & full.model_dump().keys()


@pytest.mark.astray
def test_a_seed_gives_the_same_again_and_another_seed_other_windows(sampled):
    again = fiberscope.simulate("gamma", MATRIX, settings=SMALL, sample=REQUEST)
    circumstances = {"host", "source", "environment"}
    assert again.model_dump(exclude=circumstances) == sampled.model_dump(exclude=circumstances)
    other = fiberscope.simulate(
        "gamma", MATRIX, settings=SMALL, sample=Sample(windows=10, window_cycles=2000, seed=4)
    )
    assert other.cycles != sampled.cycles


def test_a_run_that_is_too_short_is_simulated_in_full_and_says_so(full):
    told = fiberscope.simulate("gamma", MATRIX, settings=SMALL, sample=True)
    assert (told.complete, told.cycles, told.cycles_interval) == (True, full.cycles, None)
    assert told.sampling.note.startswith("simulated in full, as about ")
    assert told.sampling.note in told.summary(200)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample": "0"}, "sample 0: it should be a width from 0.1% to 50%, as in 1%"),
        ({"sample": Sample(window=0)}, "sample.window=0: it should be a whole number from 1 on"),
        ({"sample": Sample(window=True)}, "sample.window=True: it should be a whole number from 1 on"),
        ({"sample": Sample(seed=False)}, "sample.seed=False: it should be a whole number from 0 on"),
        ({"sample": Sample(window=9000)}, "gamma: sample.window=9000: this run has"),
        ({"sample": True, "waveform": "a.vcd"}, "or give one window, as in --window 7"),
        ({"sample": Sample(windows=2)}, "sample.windows=2: it should be a whole number from 5 on"),
        ({"sample": True, "histograms": True}, "histograms needs a whole run"),
        ({"sample": True, "cycle_limit": 10}, "a cycle limit needs a whole run"),
        ({"sample": True, "settings": {"tiling": "selective"}}, "needs tiling=none"),
        ({"sample": True, "settings": {"scheduler.output": "cache"}}, "needs scheduler.output=memory"),
        ({"sample": True, "settings": {"memory.format.A": "csc"}}, "a format of memory needs a whole run"),
    ],
)
def test_what_cannot_be_sampled_is_refused(options, message):
    with pytest.raises((InputError, fiberscope.ConfigurationError), match=message):
        fiberscope.simulate("gamma", MATRIX, **options)


DESIGNS = (
    {},
    {"memory.channels": 4},
    {"pe.count": 2},
    {"pe.radix": 4},
    {"fibercache.size": "48KiB"},
    {"memory.channels": 4, "pe.radix": 4},
    {},
)


@pytest.mark.astray
def test_designs_that_share_functional_passes_have_the_same_reports():
    circumstances = {"host", "source", "environment"}
    matrix = "chung-lu:rows=1500,cols=1500,nonzeros=9000"

    def run(design):
        request = Sample(windows=5, window_cycles=300)
        report = fiberscope.simulate("gamma", matrix, settings={**SMALL, **design}, sample=request)
        return report.model_dump(exclude=circumstances)

    alone = [run(design) for design in DESIGNS]
    with share_results(64 << 20) as results:
        together = [run(design) for design in DESIGNS]
    assert together == alone
    operands, counts, caches = 6, 5, 1
    assert results.hits == operands + counts + caches


def test_a_functional_pass_is_not_shared_with_another_matrix_or_radix():
    a, b = small_operands()
    with share_results(64 << 20) as results:
        first = FunctionalPass(configured(), a, b)
        FunctionalPass(configured(**{"pe.radix": 2}), a, b)
        FunctionalPass(configured(), a[::-1], b)
        assert results.hits == 0
        again = FunctionalPass(configured(), a.copy(), b * 2)
        assert results.hits == 1
    assert np.array_equal(again.merged, first.merged)
    runs = [each.run_cache()[0] for each in (first, again)]
    assert runs[0].cache.traffic_lines() == runs[1].cache.traffic_lines() > 0
