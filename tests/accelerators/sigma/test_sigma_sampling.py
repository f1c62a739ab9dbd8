"""Sampled runs of SIGMA: exact work of all passes, spliced windows of them, and the estimate."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sigma_bench import TINY, built, configured, makes, operands, ran

import fiberscope
from fiberscope.accelerators.sampling import Sample
from fiberscope.accelerators.sigma.sampling import OPERATIONS, SigmaSampler
from fiberscope.accelerators.testing import run_to_end
from fiberscope.sim.errors import SimulationError
from fiberscope.workloads.gemm import slice_operand
from fiberscope.workloads.verification import Rounding

MATRIX = "uniform:rows=40,cols=40,nonzeros=300"
SMALL = TINY | {"sram.data": 20000, "memory.model": "simple"}
REQUEST = Sample(windows=6, window_cycles=200, seed=3)


def nobody(*_):
    return None


def sampler(pair, make):
    """A sampler, and the numbers of the passes of a run; None of a machine that cannot be."""
    try:
        built(pair, make)
    except (SimulationError, fiberscope.ConfigurationError):
        return None
    made = SigmaSampler(
        configured(make), slice_operand(pair[0], 1), slice_operand(pair[1], 0), REQUEST, nobody
    )
    return made, len(made.work.scan)


@given(operands(), makes())
@settings(max_examples=20, deadline=None)
def test_the_work_of_all_passes_is_that_of_the_run(pair, make):
    ready = sampler(pair, make)
    assume(ready is not None)
    made, _ = ready
    machine = ran(pair, make)
    totals = dict(zip(OPERATIONS, made.work.operations.sum(axis=0).tolist(), strict=True))
    assert totals == machine.operations()
    assert made._traffic() == machine.traffic()


@given(operands(), makes())
@settings(max_examples=12, deadline=None)
def test_all_passes_spliced_are_the_whole_run(pair, make):
    ready = sampler(pair, make)
    assume(ready is not None)
    whole, spliced = ran(pair, make), ran(pair, make, chosen=range(ready[1]))
    assert spliced.kernel.length(spliced.kernel.clocks[0]) == whole.kernel.length(whole.kernel.clocks[0])
    assert spliced.operations() == whole.operations()
    assert np.array_equal(spliced.result(), whole.result())


@pytest.mark.astray  # passes that are left out write nothing
@given(operands(), makes(), st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_any_passes_run_one_behind_another_and_are_verified(pair, make, random):
    ready = sampler(pair, make)
    assume(ready is not None and ready[1] > 0)
    made, count = ready
    chosen = sorted({*random.sample(range(count), random.randint(0, count)), count - 1})
    machine = run_to_end(built(pair, make, chosen=chosen))
    passes = np.array(chosen)
    assert made._check(passes, machine.product).passed
    assert not made._check(passes, machine.product + 1).passed


def test_an_interval_is_a_thousandth_wide_to_either_side_at_least():
    made = object.__new__(SigmaSampler)
    made.ranges, made.edges = [range(at, at + 2) for at in range(0, 8, 2)], 10.0 * np.arange(9)
    measured = SimpleNamespace(cycles=np.full(4, 20.0), predicted=np.full(4, 20.0), windows=[0, 1, 2, 3])
    estimate = made._estimate(measured)
    assert (estimate.cycles, estimate.half_width) == pytest.approx((80.0, 0.08))


def test_the_tolerance_is_that_of_the_longest_row_over_all_slices():
    a, b = sparse.csr_array(np.ones((3, 40))), sparse.csr_array(np.ones((40, 2)))
    make = SMALL | {"value.type": "float32"}
    made, count = sampler((a, b), make)
    machine = ran((a, b), make)
    compared = made._check(np.arange(count), machine.product)
    assert compared.passed
    assert compared.tolerance == Rounding.estimate(machine.value_type, 40, 2).tolerance


@pytest.fixture(scope="module")
def full():
    return fiberscope.simulate("sigma", MATRIX, settings=SMALL)


@pytest.fixture(scope="module")
def sampled():
    return fiberscope.simulate("sigma", MATRIX, settings=SMALL, sample=REQUEST)


def test_the_estimate_is_near_the_full_run_and_its_counts_are_equal(full, sampled):
    assert sampled.complete == "sampled"
    assert sampled.operations == full.operations
    assert sampled.traffic == full.traffic
    assert sampled.traffic_minimum_bytes == full.traffic_minimum_bytes
    assert sampled.cycles == pytest.approx(full.cycles, rel=0.05)
    assert sampled.verification.passed
    assert "in the passes that were simulated" in sampled.summary()


def test_the_report_says_what_was_simulated(sampled):
    low, high = sampled.cycles_interval
    assert low < sampled.cycles < high
    assert high - low >= 0.0019 * sampled.cycles
    assert (sampled.sampling.windows, sampled.sampling.strata, sampled.sampling.seed) == (8, 6, 3)
    assert sampled.sampling.fraction == sampled.sampling.cycles_simulated / sampled.cycles < 0.9
    assert sampled.sampling.exact == ("operations", "traffic")


def test_a_run_that_is_too_short_is_simulated_in_full_and_says_so(full):
    told = fiberscope.simulate("sigma", MATRIX, settings=SMALL, sample=True)
    assert (told.complete, told.cycles, told.cycles_interval) == (True, full.cycles, None)
    assert told.sampling.note.startswith("simulated in full, as about ")
