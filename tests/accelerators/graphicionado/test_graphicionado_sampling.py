"""The first iterations of a vertex program in a Graphicionado, and the estimate of all."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import fiberscope
from fiberscope.accelerators.graphicionado.sampling import GraphicionadoSampler, estimate_iterations
from fiberscope.accelerators.sampling import Estimated, Sample
from fiberscope.base.errors import InputError
from fiberscope.workloads import GraphAlgorithm, load, synchronous

GRAPH = "rmat:scale=9,nonzeros=2500,seed=3"
PAGERANK = {"problem.algorithm": "pagerank", "problem.iterations": 14}
REQUEST = Sample(windows=5)


@pytest.fixture(scope="module")
def full():
    return fiberscope.simulate("graphicionado", GRAPH, settings=PAGERANK)


@pytest.fixture(scope="module")
def sampled():
    return fiberscope.simulate("graphicionado", GRAPH, settings=PAGERANK, sample=REQUEST)


@pytest.mark.parametrize(("simulated", "count"), [(5, 10), (5, 200), (12, 30)])
def test_intervals_cover_the_cycles_of_alike_iterations(simulated, count):
    generator = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        lengths = generator.normal(40_000, 400, count)
        lengths[0] -= 2000
        estimate = estimate_iterations(lengths[:simulated], count)
        covered += abs(estimate.cycles - lengths.sum()) <= estimate.half_width
    assert covered / 400 == pytest.approx(0.95, abs=0.03)


def test_iterations_of_one_length_are_extrapolated_exactly():
    estimate = estimate_iterations(np.array([900.0, 1000.0, 1000.0, 1000.0]), 10)
    assert (estimate.cycles, estimate.half_width) == (9900.0, 0.0)


def test_the_estimate_is_near_the_full_run(full, sampled):
    assert sampled.complete == "sampled"
    assert sampled.cycles == pytest.approx(full.cycles, rel=0.03)
    low, high = sampled.cycles_interval
    assert low <= full.cycles <= high
    assert sampled.sampling.windows == 5
    assert sampled.sampling.fraction == sampled.sampling.cycles_simulated / sampled.cycles


def test_the_first_iterations_are_those_of_the_full_run(full, sampled):
    ended = full.iterations[4].ended
    assert ended < sampled.sampling.cycles_simulated <= ended + 100


def test_exact_counts_equal_those_of_the_full_run(full, sampled):
    exact = set(sampled.sampling.exact)
    assert {"operations.edges", "operations.updates", "traffic.edges", "traffic.properties"} <= exact
    assert exact.isdisjoint(sampled.sampling.estimated)
    for part in ("operations", "traffic"):
        ours, theirs = getattr(sampled, part), getattr(full, part)
        assert ours.keys() == theirs.keys()
        for name in (name for name in ours if f"{part}.{name}" in exact):
            assert ours[name] == theirs[name], name
    assert sampled.traffic_minimum_bytes == full.traffic_minimum_bytes


@pytest.mark.parametrize(("count", "enough"), [(4, False), (9, False), (10, True)])
def test_no_more_than_half_of_the_iterations_are_simulated_however_wide_the_interval(count, enough):
    sampler = object.__new__(GraphicionadoSampler)
    sampler.request, sampler.task = Sample(half_width=0.01), SimpleNamespace(iterations=20)
    sampler._estimate = lambda _records: Estimated(1000.0, 500.0)
    assert sampler._is_enough(range(count)) is enough


def test_what_was_simulated_is_verified(sampled):
    assert sampled.verification.passed
    assert sampled.verification.reference == "a synchronous loop of 5 iterations"


def test_an_answer_of_other_iterations_is_wrong():
    problem = GraphAlgorithm([load(GRAPH)], {"algorithm": "pagerank", "iterations": 14})
    graph, task = problem.machine_inputs()
    answer = synchronous.run(graph, replace(task, iterations=4)).properties
    answer *= np.maximum(np.diff(graph.indptr), 1)
    assert problem.cut_to(4).check(answer).passed
    assert not problem.cut_to(5).check(answer).passed


def test_writes_of_changed_properties_alone_widen_the_interval():
    designs = {"design": "csr_like"}
    doubles, rounded, whole = (
        fiberscope.simulate("graphicionado", GRAPH, settings=PAGERANK | designs | more, sample=REQUEST)
        for more in ({}, {"value": "float32"}, {"apply.write_all": True})
    )
    assert "traffic.properties" in doubles.sampling.estimated
    assert "traffic.properties" in whole.sampling.exact
    assert rounded.sampling.half_width > doubles.sampling.half_width


@pytest.mark.parametrize(
    ("more", "sample", "note"),
    [
        ({}, True, "cycles are fewer than 300,000"),
        ({"problem.iterations": 9}, REQUEST, "5 of 9 iterations are more than half of them"),
    ],
)
def test_a_run_that_is_too_short_is_simulated_in_full_and_says_so(more, sample, note):
    report = fiberscope.simulate("graphicionado", GRAPH, settings=PAGERANK | more, sample=sample)
    assert report.complete is True
    assert report.sampling.note.startswith("simulated in full, as ")
    assert note in report.sampling.note


@pytest.mark.parametrize(
    ("settings", "sample", "message"),
    [
        ({}, True, "the iterations of BFS differ"),
        ({"problem.algorithm": "sssp"}, True, "the iterations of SSSP differ"),
        (PAGERANK, Sample(window_cycles=4000), "a window is an iteration"),
    ],
)
def test_what_cannot_be_sampled_is_refused(settings, sample, message):
    with pytest.raises((InputError, fiberscope.ConfigurationError), match=message):
        fiberscope.simulate("graphicionado", GRAPH, settings=settings, sample=sample)
