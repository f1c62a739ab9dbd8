"""Benes networks: the worked examples, all permutations and multicasts of small ones, vectors stalled."""

import random
import re
from itertools import islice, permutations, product

import pytest
from fibers import EMPTY_TOKEN, check_accounting_of
from hypothesis import given
from hypothesis import strategies as st
from rows import by_lane

from fiberscope.hw.networks.benes import (
    DOUBLE,
    FORMS,
    MINIMAL,
    BenesNetwork,
    count_columns,
    count_setting_bits,
    count_setting_rows,
    diagonal_distance,
    pack_selects,
    route_permutation,
    trace_sources,
)
from fiberscope.hw.networks.benes_router import MulticastRouter
from fiberscope.sim import SimulationError
from fiberscope.sim.testing import check_laws, run_block

sizes = st.fixed_dictionaries({"capacity": st.integers(1, 5), "latency": st.integers(1, 4)})
stall_seeds = st.none() | st.integers(0, 1000)


class TestRouting:
    def test_the_worked_permutation(self):
        found = route_permutation([3, 7, 4, 0, 2, 6, 1, 5])
        stages = ["".join(str(row >> stage & 1) for row in found) for stage in range(5)]
        assert stages == ["1100", "1111", "0110", "0000", "0010"]

    def test_the_worked_multicast(self):
        router = MulticastRouter(8)
        found = router.route([0, 1, 4, 0, 1, 4, 6, 4])
        assert f"{pack_selects(found, 8):022x}" == "f810608100c00821000020"
        assert (router.restarts, router.steps) == (0, 8)

    def test_the_sizes_of_the_page(self):
        assert (
            count_columns(MINIMAL, 8),
            count_setting_rows(MINIMAL, 8),
            count_setting_bits(MINIMAL, 8),
        ) == (5, 4, 5)
        assert [diagonal_distance(column, 8) for column in range(1, 7)] == [1, 2, 4, 4, 2, 1]
        assert (8 * count_setting_bits(DOUBLE, 8), 128 * count_setting_bits(DOUBLE, 128)) == (88, 3456)

    @pytest.mark.parametrize("lanes", [2, 4, 8])
    def test_every_permutation_of_few_lanes(self, lanes):
        for sources in permutations(range(lanes)):
            assert trace_sources(MINIMAL, route_permutation(sources)) == list(sources)

    @pytest.mark.parametrize("lanes", [16, 64, 256])
    def test_random_permutations(self, lanes):
        generator = random.Random(lanes)
        for _ in range(10):
            sources = generator.sample(range(lanes), lanes)
            assert trace_sources(MINIMAL, route_permutation(sources)) == sources

    @pytest.mark.parametrize("lanes", [2, 4])
    def test_every_multicast_of_few_lanes(self, lanes):
        router = MulticastRouter(lanes)
        for sources in product(range(lanes), repeat=lanes):
            assert trace_sources(DOUBLE, router.route(sources)) == list(sources)

    @pytest.mark.parametrize(("lanes", "patterns"), [(8, 2000), (16, 500), (64, 20), (128, 20)])
    def test_random_multicasts(self, lanes, patterns):
        generator = random.Random(lanes)
        router = MulticastRouter(lanes)
        for _ in range(patterns):
            sources = generator.choices(range(lanes), k=lanes)
            assert trace_sources(DOUBLE, router.route(sources)) == sources
        assert router.restarts <= 2 * patterns

    @pytest.mark.parametrize("density", [0.05, 0.2])
    def test_patterns_of_a_sparse_matrix_by_rows(self, density):
        generator = random.Random(3)
        router = MulticastRouter(128, step_cap=500)
        for _ in range(20):
            sources = []
            while len(sources) < 128:
                sources += [k for k in range(128) if generator.random() < density]
            assert trace_sources(DOUBLE, router.route(sources[:128])) == sources[:128]

    def test_patterns_of_a_band_are_found_soon(self):
        """Rows that begin one behind the other share most of their sources: the hardest met so far."""
        generator = random.Random(5)
        router = MulticastRouter(128)
        for _ in range(10):
            sources = []
            for row in range(45, 128):
                sources += sorted(generator.sample(range(row, min(row + 17, 128)), k=min(5, 128 - row)))
            assert trace_sources(DOUBLE, router.route(sources[:128])) == sources[:128]
        assert router.steps < 10 * 200_000

    @pytest.mark.slow
    def test_every_multicast_of_8_lanes(self):
        """All 16,777,216 can be routed; that the settings do it, one in a hundred."""
        router = MulticastRouter(8)
        for sources in product(range(8), repeat=8):
            router.route(sources)
        for sources in islice(product(range(8), repeat=8), 0, None, 97):
            assert trace_sources(DOUBLE, router.route(sources)) == list(sources)

    def test_outputs_without_a_source_take_any(self):
        found = trace_sources(DOUBLE, MulticastRouter(8).route([5, -1, 5, -1, -1, 0, 7, -1]))
        assert [found[output] for output in (0, 2, 5, 6)] == [5, 5, 0, 7]
        MulticastRouter(4).route([-1] * 4)

    def test_the_same_settings_every_time(self):
        generator = random.Random(1)
        patterns = [generator.choices(range(64), k=64) for _ in range(10)]
        one, other = MulticastRouter(64, 64), MulticastRouter(64, 64)
        assert [one.route(pattern) for pattern in patterns] == [other.route(pattern) for pattern in patterns]
        assert one.restarts == other.restarts > 0

    def test_a_minimal_network_does_not_multicast_all_that_sigmas_does(self):
        """The first pattern that the page names; no settings of switches that only cross multicast at all."""
        sources = [3, 1, 2, 1, 0, 0, 0, 0]
        assert trace_sources(DOUBLE, MulticastRouter(8).route(sources)) == sources
        with pytest.raises(ValueError, match=r"is no permutation of 2, 4, 8, \.\.\. lanes"):
            route_permutation(sources)

    def test_planted_a_setting_that_is_not_the_routers(self):
        sources = [0, 1, 4, 0, 1, 4, 6, 4]
        found = MulticastRouter(8).route(sources)
        found[6] ^= 1 << 9  # the path to output 7 comes into node (6, 5) by the diagonal and leaves by it
        assert trace_sources(DOUBLE, found) != sources

    @pytest.mark.parametrize("sources", [[0] * 7, [8] + [0] * 7])
    def test_sources_that_are_none_are_refused(self, sources):
        with pytest.raises(ValueError, match=r"are no sources of 8 outputs"):
            MulticastRouter(8).route(sources)

    def test_routers_that_cannot_be_are_refused(self):
        with pytest.raises(ValueError, match="router: lanes must be a power of two from 2 to 256, not 12"):
            MulticastRouter(12)
        with pytest.raises(ValueError, match="router: step_cap must be at least 8, a path a lane, not 7"):
            MulticastRouter(8, 7)


def token(number):
    return (0, number, -number, number / 4)


@st.composite
def batches(draw):
    """Form, lanes, stages, and tasks: settings and the vectors that are taken with them."""
    form, lanes = draw(st.sampled_from(FORMS)), draw(st.sampled_from([2, 4, 8]))
    stages = draw(st.integers(0, count_columns(form, lanes)))
    row = st.integers(0, (1 << count_setting_bits(form, lanes)) - 1)
    rows = count_setting_rows(form, lanes)
    numbers = st.none() | st.integers(0, 1000)
    vector = st.lists(numbers, min_size=lanes, max_size=lanes)
    task = st.tuples(st.lists(row, min_size=rows, max_size=rows), st.lists(vector, max_size=4))
    return form, lanes, stages, draw(st.lists(task, max_size=4))


def inputs_of(form, lanes, tasks):
    vectors = [
        [EMPTY_TOKEN if number is None else token(number) for number in vector]
        for _, vectors in tasks
        for vector in vectors
    ]
    rows = [[(0, bits, 0, 0.0) for bits in settings] for settings, _ in tasks]
    return (
        {"tasks": [(0, len(vectors), 0, 0.0) for _, vectors in tasks]}
        | by_lane("settings", count_setting_rows(form, lanes), rows)
        | by_lane("inputs", lanes, vectors)
    )


def outputs_of(lanes):
    return [f"outputs[{lane}]" for lane in range(lanes)]


def expected(form, lanes, tasks):
    """What leaves each output, settings taken for what ``trace_sources`` says."""
    rows = []
    for settings_, vectors in tasks:
        sources = trace_sources(form, settings_)
        for vector in vectors:
            moved = [vector[source] for source in sources]
            rows.append([EMPTY_TOKEN if number is None else token(number) for number in moved])
    return by_lane("outputs", lanes, rows)


def network(form, lanes, stages=0):
    return lambda: BenesNetwork("network", form, lanes, stages)


@given(batch=batches(), size=sizes, seed=stall_seeds)
def test_moves_any_vectors_under_any_stalls(batch, size, seed):
    form, lanes, stages, tasks = batch
    make, inputs = network(form, lanes, stages), inputs_of(form, lanes, tasks)
    outcome = run_block(make(), inputs, outputs_of(lanes), seed=seed, **size)
    assert {port: outcome.tokens(port) for port in outputs_of(lanes)} == expected(form, lanes, tasks)
    vectors = sum(len(vectors) for _, vectors in tasks)
    assert outcome.statistics["network"].counters == {"vectors": vectors, "settings": len(tasks)}
    check_laws(make, inputs, outputs_of(lanes), seeds=[seed], **size)


@pytest.mark.parametrize("stages", [0, 3, 6])
def test_settings_a_cycle_before_the_first_vector_and_no_gap_between_tasks(stages):
    settings_ = MulticastRouter(8).route([7] * 8)
    tasks = [(settings_, [[number] * 8 for number in range(5)]), (settings_, [[9] * 8] * 3)]
    inputs = inputs_of(DOUBLE, 8, tasks)
    outcome = run_block(BenesNetwork("network", DOUBLE, 8, stages), inputs, outputs_of(8))
    # All pushed at 0, settings taken at 1, the vector at 2; out stages + 1 later, seen a cycle after that.
    first = 4 + stages
    for port in outputs_of(8):
        assert [cycle for cycle, _ in outcome.received[port]] == list(range(first, first + 8))
    check_accounting_of(outcome, "network", busy=10 + stages, idle=2, input_stall={}, output_stall={})


@pytest.mark.parametrize("without", ["tasks", "settings[1]", "inputs[3]"])
def test_it_waits_for_what_is_missing(without):
    tasks = [(MulticastRouter(4).route([0, 1, 2, 3]), [[1, 2, 3, 4]])]
    inputs = inputs_of(DOUBLE, 4, tasks) | {without: []}
    with pytest.raises(SimulationError, match=re.escape(f"network waits for a token at {without}")):
        run_block(BenesNetwork("network", DOUBLE, 4), inputs, outputs_of(4))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tree", 8), "network: form must be one of minimal, double, not tree"),
        ((DOUBLE, 12), "network: lanes must be a power of two from 2 to 256, not 12"),
        ((MINIMAL, 8, 6), "network: stages must be from 0 to 5, not 6"),
        ((DOUBLE, 8, -1), "network: stages must be from 0 to 6, not -1"),
    ],
)
def test_what_cannot_be_built_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        BenesNetwork("network", *arguments)


def test_settings_that_do_not_fit_are_refused():
    inputs = inputs_of(DOUBLE, 2, [([0, 8], [[1, 2]])])
    with pytest.raises(SimulationError, match=r"network: 8 at settings\[1\] has more than 3 bits"):
        run_block(BenesNetwork("network", DOUBLE, 2), inputs, outputs_of(2))
    del inputs["settings[1]"]
    with pytest.raises(SimulationError, match="network: connect 2 settings, one a row, not 1"):
        run_block(BenesNetwork("network", DOUBLE, 2), inputs, outputs_of(2))
