"""Sampled runs of ExTensor: exact work of all pairs of tiles, spliced windows of them, and the estimate."""

import numpy as np
import pytest
from extensor_bench import TINY, configurations, operands, run_extensor, tiny
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import fiberscope
from fiberscope.accelerators.extensor.sampling import ExTensorSampler, SelectedPairsExTensor
from fiberscope.accelerators.sampling import Sample
from fiberscope.accelerators.testing import run_to_end
from fiberscope.sim.errors import SimulationError
from fiberscope.workloads.verification import Rounding

MATRIX = "uniform:rows=60,cols=60,nonzeros=400"
REQUEST = Sample(windows=6, window_cycles=200, seed=3)
MAKES = configurations("skip", "two_finger").filter(lambda make: make.llb.window == "tiles")


def nobody(*_):
    return None


def sampler(pair, make):
    """A sampler, and a whole run; example rejected if the machine cannot be built."""
    try:
        whole = run_extensor(make, *pair)
    except (SimulationError, fiberscope.ConfigurationError):
        assume(condition=False)
    return ExTensorSampler(make, *pair, REQUEST, nobody), whole


def spliced(made, pair, make, chosen):
    """A run of the chosen pairs of tiles."""
    return run_to_end(
        SelectedPairsExTensor(make, *pair, pair_work=made.work, pair_numbers=chosen, tell=nobody)
    )


@given(operands(), MAKES)
@settings(max_examples=25, deadline=None)
def test_the_work_of_all_pairs_is_that_of_the_run(pair, make):
    made, whole = sampler(pair, make)
    assert made._sum_operations() == whole.operations()
    assert made._sum_traffic() == whole.traffic()
    assert made._sum_minimum_bytes() == whole.traffic_minimum_bytes()


@pytest.mark.astray  # memory holds elements that nothing has written
@given(operands(), MAKES, st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_any_pairs_run_one_behind_another_and_are_verified(pair, make, random):
    made, _ = sampler(pair, make)
    count = len(made.work.pairs)
    assume(count > 0)
    chosen = sorted(random.sample(range(count), random.randint(1, count)))
    machine = spliced(made, pair, make, chosen)
    line = make.stream.line
    sizes = made.work.moved_bytes()[chosen, 2:].sum(axis=0)
    held, again, new = (int(-(-size // line) * line) for size in sizes)
    moved = machine.traffic()
    assert (moved["PO"].read_bytes, moved["PO"].write_bytes) == (held, again)
    assert moved["Z"].write_bytes == new
    answer = machine.result()
    assert made._check(machine, answer).passed
    answer.data += 1
    assert answer.nnz == 0 or not made._check(machine, answer).passed


@given(operands(), MAKES)
@settings(max_examples=10, deadline=None)
def test_all_pairs_spliced_are_the_whole_run(pair, make):
    made, whole = sampler(pair, make)
    machine = spliced(made, pair, make, range(len(made.work.pairs)))
    of_whole = whole.operations()
    assert machine.operations() == {**of_whole, "intersect_k2": 0}
    assert machine.traffic() == whole.traffic()
    assert (machine.result() != whole.result()).nnz == 0


def test_the_tolerance_is_that_of_the_longest_row_over_all_pairs():
    pair = csr_array(np.ones((3, 26))), csr_array(np.ones((26, 3)))
    make = tiny(value="float32")
    made, _ = sampler(pair, make)
    assert len(made.work.pairs) > 1
    machine = spliced(made, pair, make, range(len(made.work.pairs)))
    compared = made._check(machine, machine.result())
    assert compared.passed
    assert compared.tolerance == Rounding.estimate(machine.value_type, 26, 2).tolerance


@pytest.fixture(scope="module")
def full():
    return fiberscope.simulate("extensor", MATRIX, settings=TINY)


@pytest.fixture(scope="module")
def sampled():
    return fiberscope.simulate("extensor", MATRIX, settings=TINY, sample=REQUEST)


@pytest.mark.astray
def test_the_estimate_is_near_the_full_run_and_its_counts_are_equal(full, sampled):
    assert sampled.complete == "sampled"
    assert sampled.operations == full.operations
    assert sampled.traffic == full.traffic
    assert sampled.traffic_minimum_bytes == full.traffic_minimum_bytes
    assert sampled.cycles == pytest.approx(full.cycles, rel=0.1)
    assert sampled.verification.passed
    assert "in the pairs of tiles that were simulated" in sampled.summary(200)
    low, high = sampled.cycles_interval
    assert low < sampled.cycles < high
    assert sampled.sampling.exact == ("operations", "traffic")
    assert sampled.config["tile"] == full.config["tile"]


def test_a_run_that_is_too_short_is_simulated_in_full_and_says_so(full):
    told = fiberscope.simulate("extensor", MATRIX, settings=TINY, sample=True)
    assert (told.complete, told.cycles, told.cycles_interval) == (True, full.cycles, None)
    assert told.sampling.note.startswith("simulated in full, as about ")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"step": "unit"}, "needs step=product"),
        ({"intersection": "scanners"}, "needs an intersection other than scanners"),
        ({"llb.window": "rows"}, "needs llb.window=tiles"),
    ],
)
def test_what_cannot_be_sampled_is_refused(changed, message):
    with pytest.raises(fiberscope.ConfigurationError, match=message):
        fiberscope.simulate("extensor", MATRIX, settings={**TINY, **changed}, sample=True)
