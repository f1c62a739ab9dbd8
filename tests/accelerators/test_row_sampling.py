"""Sampled runs whose windows are rows of A: exact work, spliced windows, and the estimate."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import fiberscope
from fiberscope.accelerators import row_sampling, row_work, windows
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.row_sampling import multiplies_rows
from fiberscope.accelerators.row_work import Work, deal_rows, order_rows, share_disagreement
from fiberscope.accelerators.sampling import Sample
from fiberscope.accelerators.testing import random_operands
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.run.configure import resolve_run
from fiberscope.run.find_machine import find

OWN = str(Path(fiberscope.__file__).parent / "template" / "row_wise")
MACHINES = {
    OWN: {},
    "spec:gamma": {"pe.count": 2, "pe.radix": 8},
    "spec:gamma-reduce": {"pe.count": 2, "pe.radix": 8},
    str(Path(__file__).parents[2] / "examples" / "specifications" / "minimal.yaml"): {"PES": 2},
}
ROWS = 800
MATRIX = f"uniform:rows={ROWS},cols={ROWS},nonzeros=6400"
REQUEST = Sample(windows=6, window_cycles=300, seed=1)


def nobody(*_):
    return None


def sampler(machine, request=REQUEST, matrix=MATRIX):
    """A sampler, and the model of the whole run."""
    accelerator = find(machine)
    entries = {key: Entry(value, "settings") for key, value in MACHINES[machine].items()}
    ready = resolve_run(accelerator, entries, None, None)
    problem = ready.maker.load(matrix, None, False, nobody, {})
    inputs = (ready.configured, *problem.machine_inputs())
    return accelerator.sampler(*inputs, request, nobody), accelerator.models["event"](*inputs)


@pytest.fixture(scope="module", params=MACHINES)
def runs(request):
    """The name of a machine, its sampler, the model after the whole run, and the cycles of this run."""
    made, whole = sampler(request.param)
    cycles = whole.kernel.run().cycles
    whole.result()
    return request.param, made, whole, cycles


@given(st.integers(0, 10**6), st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_the_work_of_rows_is_that_of_the_product(seed, most):
    sizes = np.random.default_rng(seed).integers(5, 25, 4).tolist()
    a, b = random_operands(*sizes, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_work, "PRODUCTS", most)
        work = Work(a, b)
    pattern = [sparse.csr_array((np.ones(m.nnz), m.indices, m.indptr), shape=m.shape) for m in (a, b)]
    product = pattern[0] @ pattern[1]
    assert work.products.tolist() == np.asarray(product.sum(axis=1)).astype(int).tolist()
    assert work.outputs.tolist() == np.diff(product.indptr).tolist()
    assert work.nonzeros.tolist() == np.diff(a.indptr).tolist()


def test_all_windows_spliced_are_the_whole_run(runs):
    _, made, whole, cycles = runs
    measured = made.measure(range(len(made.ranges)))
    assert sorted(measured.row_numbers) == list(range(ROWS))
    assert [begin.cycles for begin, _ in measured.marks[1:]] == [end.cycles for _, end in measured.marks[:-1]]
    assert measured.marks[-1][1].cycles == cycles
    assert measured.machine.operations() == whole.operations()
    assert measured.machine.traffic() == whole.traffic()
    estimate = made.estimate(measured)
    assert estimate.half_width == pytest.approx(0, abs=1)
    assert estimate.cycles == pytest.approx(cycles, rel=1e-3)  # windows end at checks of the progress
    sampled = made._sampled(measured, estimate)
    assert sampled.operations == whole.operations()
    assert sampled.traffic == whole.traffic()
    assert sampled.traffic_minimum_bytes == whole.traffic_minimum_bytes()


def test_a_sampled_run_is_verified_and_near_the_whole_run(runs):
    machine, _, whole, cycles = runs
    report = fiberscope.simulate(machine, MATRIX, settings=MACHINES[machine], sample=REQUEST)
    low, high = report.cycles_interval
    assert (report.complete, report.sampling.windows, report.sampling.strata) == ("sampled", 8, 6)
    assert low < report.cycles < high
    assert report.cycles == pytest.approx(cycles, rel=0.15)
    assert report.sampling.fraction < 1
    assert report.verification.passed
    assert "in the rows that were simulated" in report.summary()
    assert {"operations.multiply", "operations.add"} <= set(report.sampling.exact)
    assert report.operations["multiply"] == whole.operations()["multiply"]
    assert report.operations["add"] == whole.operations()["add"]
    for name, part in whole.traffic().items():
        assert report.traffic[name].read_bytes == pytest.approx(part.read_bytes, rel=0.2)
        assert report.traffic[name].write_bytes == pytest.approx(part.write_bytes, rel=0.2)
    assert report.traffic_minimum_bytes == pytest.approx(whole.traffic_minimum_bytes(), rel=0.1)


def test_the_warm_up_of_a_window_is_half_a_window_of_rows_that_no_other_window_has():
    made, _ = sampler(OWN)
    parts = made._with_warm_ups(made.rounds.numbers[0])
    rows = [row for warm, window in parts for row in (*warm, *window)]
    assert rows == sorted(set(rows))
    assert len(parts[0][0]) == 0
    costs = [made.costs[warm.start : warm.stop].sum() / 300 for warm, _ in parts[1:]]
    assert costs == pytest.approx([0.5] * len(costs), abs=0.35)


def test_a_wrong_row_is_found():
    made, _ = sampler(OWN)
    measured = made.measure(made.rounds.numbers[0])
    row = next(row for row in measured.machine.product if row)
    row[min(row)] += 1
    assert not made.tasks.check(measured.rows, measured.machine).passed


def test_a_short_run_and_one_with_few_windows_are_simulated_in_full():
    for matrix, sample in ((MATRIX, True), ("uniform:rows=30,cols=30,nonzeros=90", REQUEST)):
        report = fiberscope.simulate(OWN, matrix, sample=sample)
        assert report.complete is True
        assert report.sampling.note.startswith("simulated in full, as ")


def build_with(operations):
    """A template whose machine counts its operations as the argument says."""
    model = find(OWN).models["event"]

    class Miscounting(model):
        def operations(self):
            return operations(super().operations())

    return Miscounting


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        (lambda counted: {"add": counted["add"]}, "needs a machine that counts multiply"),
        (lambda counted: {**counted, "multiply": 2 * counted["multiply"]}, "it did .* of .* in the windows"),
    ],
)
def test_a_machine_that_counts_otherwise_is_refused(operations, message):
    ready = resolve_run(find(OWN), {}, None, None)
    inputs = ready.maker.load(MATRIX, None, False, nobody, {}).machine_inputs()
    with pytest.raises(ConfigurationError, match=message):
        multiplies_rows(build_with(operations))(ready.configured, *inputs, REQUEST, nobody).sampled()


def test_the_rows_of_equally_fast_elements_begin_in_the_order_of_the_efforts_before_them():
    # Element 0 has rows of 4, 1 and 3, element 1 of 2 and 2. Element 0 is alone after an effort of 4.
    order, times, tail = order_rows(np.array([4.0, 2, 1, 2, 3]), 2)
    assert order.tolist() == [0, 1, 3, 2, 4]
    assert times.tolist() == [4, 2, 2, 2, 6]
    assert tail == 8


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 5))
def test_the_times_of_rows_add_up_to_the_largest_share(efforts, shares):
    efforts = np.array(efforts, float)
    order, times, tail = order_rows(efforts, shares)
    loads = [efforts[share::shares].sum() for share in range(shares)]
    assert sorted(order) == list(range(len(efforts)))
    assert times.sum() == pytest.approx(shares * max(loads))
    assert tail == pytest.approx(shares * (max(loads) - min(loads)))
    for share in range(shares):
        own = order[order % shares == share]
        assert own.tolist() == sorted(own)
    if shares == 1:
        assert (order.tolist(), times.tolist()) == (list(range(len(efforts))), efforts.tolist())


@pytest.mark.parametrize(("machine", "least"), [(OWN, 10_000), ("spec:gamma", 6000)])
def test_the_first_window_of_rows_dealt_in_turn_has_the_length_of_ten_windows(machine, least):
    made, _ = sampler(machine, Sample(windows=6, window_cycles=1000, seed=1), MATRIX.replace("800", "1600"))
    first, last = made.costs[list(made.ranges[0])].sum(), made.costs[list(made.ranges[-1])].sum()
    assert least <= first <= least + 1000 + made.costs.max()
    assert last >= 6000
    assert len(made.ranges) > 3


def test_kinds_of_work_disagree_about_the_longest_share():
    # Element 1 has the most work: 1.5, 1.2 and, in all, 1.44 times the mean.
    kinds = [np.array([10, 30]), np.array([8, 12]) // 2]
    assert share_disagreement(kinds, 2) == pytest.approx(0.24 / 1.44)
    assert share_disagreement([kinds[0], 3 * kinds[0]], 2) == pytest.approx(0)
    assert share_disagreement(kinds, 1) == 0


def test_the_disagreement_of_kinds_widens_the_interval_by_the_cycles_that_are_not_simulated():
    made, _ = sampler(OWN)
    measured = made.measure(made.rounds.numbers[0])
    wide = made.estimate(measured)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_sampling, "share_disagreement", lambda *_: 0.0)
        narrow = made.estimate(measured)
    simulated = measured.differences(lambda mark: mark.cycles).sum()
    added = share_disagreement(made.tasks.kinds, 8) * (narrow.cycles - simulated)
    assert wide.half_width**2 == pytest.approx(narrow.half_width**2 + added**2)
    assert added > 0


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_a_part_of_the_rows_goes_to_the_same_elements(seed, shares):
    a, _ = random_operands(20, 6, 6, 30, seed)
    numbers = np.sort(np.random.default_rng(seed).choice(20, 8, replace=False))
    dealt = deal_rows(a, numbers, shares).toarray()
    for share in range(shares):
        rows = a.toarray()[numbers[numbers % shares == share]]
        part = dealt[share::shares]
        assert part[: len(rows)].tolist() == rows.tolist()
        assert not part[len(rows) :].any()
    assert (deal_rows(a, np.arange(20), shares) != a).nnz == 0


def test_the_end_of_a_run_in_which_elements_have_ended_is_the_last_window():
    matrix = "chung-lu:rows=800,cols=800,nonzeros=6400,exponent=2.5"
    made, _ = sampler(OWN, matrix=matrix)
    efforts = np.stack(made.tasks.kinds).sum(axis=0)
    loads = [efforts[share::8].sum() for share in range(8)]
    begins = np.zeros(len(efforts))
    for share in range(8):
        begins[share::8] = np.cumsum(efforts[share::8]) - efforts[share::8]
    late = np.flatnonzero(begins >= min(loads))
    assert len(late) > 0
    assert set(late) <= set(made.order[list(made.ranges[-1])])
    costs = made.costs[list(made.ranges[-1])].sum() / made.costs.sum()
    assert costs >= 1 - min(loads) / max(loads)


def test_the_misses_of_a_shared_cache_are_work_of_the_windows():
    made, whole = sampler("spec:gamma")
    whole.kernel.run()
    missed = made.totals[:, -1]
    assert missed.sum() == pytest.approx(whole.traffic()["B"].read_bytes, rel=0.05)
    assert missed[0] > 2 * missed[-2]  # the cache is empty when the run begins
    assert made.estimate(made.measure(made.rounds.numbers[0])).cycles > 0


def test_windows_with_a_long_row_are_all_simulated_and_count_as_they_are(monkeypatch):
    monkeypatch.setattr(windows, "WINDOW_CYCLES", 100)
    matrix = "chung-lu:rows=3000,cols=3000,nonzeros=12000,exponent=2.5"
    made, _ = sampler(OWN, Sample(windows=6, window_cycles=200, seed=1), matrix)
    longest = [made.counts[list(window)].max() for window in made.ranges]
    limit = windows.choose_window_length(made.counts) / 2
    assert {w for w in range(1, len(longest) - 1) if longest[w] > limit} <= set(made.certain)
    assert len(made.certain) > 3
    numbers = made.rounds.numbers[0]
    assert set(made.certain) < set(numbers)
    assert len(numbers) == 2 + len(made.certain) + 6
    measured = made.measure(numbers)
    estimate = made.estimate(measured)
    assert len(estimate.deviations) == 6
    cycles = measured.differences(lambda mark: mark.cycles).sum()
    others = len(made.ranges) - 2 - len(made.certain)
    assert cycles < estimate.cycles < cycles * others / 6
    report = made._sampled(measured, estimate)
    assert len(report.rows) == report.strata == 6
