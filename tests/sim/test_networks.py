"""Random networks: the engine against an independent model, and against itself in every way of running."""

import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from networks import Arbiter, Edge, Network, Node, build, collect, make_component, simulate
from reference_model import Model

from fiberscope.sim import DeadlockError
from fiberscope.sim.testing import check_accounting

FREQUENCIES = [Fraction(10**9), Fraction(1_500_000_000), Fraction(536_870_912), Fraction(10**9, 3)]
EXAMPLES = settings(suppress_health_check=[HealthCheck.too_slow])

capacities = st.integers(1, 5)
latencies = st.one_of(st.integers(1, 4), st.sampled_from([30, 255, 256, 257, 400]))
pauses = st.one_of(st.just(0), st.integers(0, 6), st.sampled_from([200, 255, 256, 300]))
stall_patterns = st.lists(pauses, max_size=5).map(tuple)


@st.composite
def networks(draw):
    """Sources whose streams pass through a few stages, any of which may fork, and end in sinks."""
    frequencies = tuple(draw(st.lists(st.sampled_from(FREQUENCIES), min_size=1, max_size=3, unique=True)))
    domains = st.integers(0, len(frequencies) - 1)
    nodes, edges, loose = [], [], []  # loose: outputs that go nowhere yet

    def add(node, inputs, outputs):
        for position, (producer, output) in enumerate(inputs):
            roomy = 2 if nodes[producer].kind == "twins" else 1
            capacity = max(roomy, draw(capacities))
            edges.append(Edge(producer, output, len(nodes), position, capacity, draw(latencies)))
        loose.extend((len(nodes), output) for output in range(outputs))
        nodes.append(node)

    def take(count):
        return [loose.pop(draw(st.integers(0, len(loose) - 1))) for _ in range(count)]

    for _ in range(draw(st.integers(1, 3))):
        add(Node("source", draw(domains), draw(st.integers(0, 12)), stalls=draw(stall_patterns)), [], 1)
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["delay", "fork", "join", "arbiter", "twins", "batch"]))
        ways = draw(st.integers(1, min(3, len(loose)))) if kind in ("join", "arbiter") else 1
        outputs = draw(st.integers(2, 3)) if kind == "fork" else 1
        held = draw(st.one_of(st.integers(1, 5), st.sampled_from([255, 256, 257, 300])))
        node = Node("join" if kind == "fork" else kind, draw(domains), cycles=held)
        add(node, take(ways), outputs)
    while loose:
        add(Node("sink", draw(domains), stalls=draw(stall_patterns)), take(1), 0)
    return Network(frequencies, tuple(nodes), tuple(edges))


def check_against_model(network, make=make_component):
    """Raises AssertionError unless the engine gives the model's end, arrivals and accounting."""
    expected = Model(network).run()
    found = simulate(network, make=make)
    assert found.ended == expected.ended
    assert found.received == expected.received
    if expected.ended == "done":
        assert found.cycles == expected.cycles


def check_laws(network, make=make_component):
    """Raises AssertionError unless neither sleep nor order changes the arrivals, accounting or end."""
    expected = simulate(network, make=make)
    for options in (
        {"sleep": False},
        {"order_seed": 1},
        {"order_seed": 2},
        {"sleep": False, "order_seed": 3},
    ):
        assert simulate(network, make=make, **options) == expected, options


@EXAMPLES
@given(networks())
def test_the_engine_agrees_with_the_model(network):
    check_against_model(network)


@EXAMPLES
@given(networks())
def test_neither_sleep_nor_order_changes_anything(network):
    check_laws(network)


@EXAMPLES
@given(networks())
def test_every_component_counts_every_cycle_once_in_its_own_clock(network):
    kernel, components = build(network)
    try:
        end = kernel.run().time
    except DeadlockError:
        end = None
    check_accounting(kernel.statistics())
    for component, node in zip(components, network.nodes, strict=True):
        seconds = kernel.statistics()[component.name].cycles / network.frequencies[node.domain]
        if end is not None:
            lasted = end / kernel.base_hertz
            assert 0 <= seconds - lasted < 1 / network.frequencies[node.domain]


@EXAMPLES
@given(networks(), st.lists(st.integers(0, 700), max_size=4))
def test_a_run_cut_by_cycle_limits_adds_up_at_each_and_ends_as_if_uncut(network, limits):
    expected = simulate(network)
    kernel, components = build(network)
    for limit in sorted(limits):
        try:
            run = kernel.run(cycle_limit=limit)
        except DeadlockError:
            break
        check_accounting(kernel.statistics())
        assert run.complete or run.cycles == limit
    try:
        ended = kernel.run().reason
    except DeadlockError:
        ended = "deadlock"
    assert collect(ended, kernel, components) == expected


@EXAMPLES
@given(networks())
def test_two_runs_are_the_same(network):
    assert simulate(network) == simulate(network)


def check_interleaved(first, second, turns, make=make_component):
    """Raises AssertionError unless two kernels, stepped in random turns, do what each does alone."""
    expected = [simulate(network, make=make) for network in (first, second)]
    machines = [build(network, make=make) for network in (first, second)]
    running = [0, 1]
    while running:
        chosen = turns.choice(running)
        if not machines[chosen][0].step():
            running.remove(chosen)
    assert [
        collect(alone.ended, *machine) for alone, machine in zip(expected, machines, strict=True)
    ] == expected


@EXAMPLES
@given(networks(), networks(), st.randoms(use_true_random=False))
def test_two_kernels_interleaved_step_by_step_do_not_disturb_each_other(first, second, turns):
    check_interleaved(first, second, turns)


# Planted faults. Two sources, one of them in a fast clock and behind a delay, meet in an arbiter.

SAMPLE = Network(
    (Fraction(10**9), Fraction(1_500_000_000)),
    (
        Node("source", 0, 20, stalls=(0, 3, 0, 1)),
        Node("source", 1, 20, stalls=(0, 0, 2)),
        Node("arbiter", 0),
        Node("delay", 1, cycles=3),
        Node("sink", 0, stalls=(0, 0, 0, 1, 0, 0, 300)),
    ),
    (Edge(0, 0, 2, 0, 2, 1), Edge(1, 0, 3, 0, 3, 2), Edge(3, 0, 2, 1, 2, 1), Edge(2, 0, 4, 0, 4, 1)),
)


class EarlyArbiter(Arbiter):
    """Looks at what lies in a channel, seen or not."""

    def tick(self, now):
        waiting = sum(channel.occupancy for channel in self.inputs)
        wake = super().tick(now)
        return wake if waiting == 0 or self.state == 0 else self.busy(now + 1)


class PeekingArbiter(Arbiter):
    """Serves the second input out of turn in a cycle in which the first source, at which it peeks, sends."""

    source = None

    def tick(self, now):
        if self.source.sent and self.source.sent[-1] == now:
            self.turn = 1
        return super().tick(now)


class SleepyArbiter(Arbiter):
    """Goes to sleep after work, while more of it may be there."""

    def tick(self, now):
        super().tick(now)
        return self.idle()


class LateArbiter(Arbiter):
    """Rests every fourth cycle, which the specification does not."""

    def tick(self, now):
        return self.busy(now + 1) if now % 4 == 3 and now < 100 else super().tick(now)


class SharedArbiter(Arbiter):
    """Keeps its turn on the class: one for all arbiters of all kernels."""

    turns = [0]  # noqa: RUF012  (the planted fault)
    turn = property(lambda self: self.turns[0], lambda self, turn: self.turns.__setitem__(0, turn))


def with_arbiter(kind):
    """Makes the components of a network, but for the arbiters, which are of this kind."""
    made = []

    def make(number, node):
        made.append(kind(f"arbiter{number}") if node.kind == "arbiter" else make_component(number, node))
        if kind is PeekingArbiter and node.kind == "arbiter":
            made[-1].source = made[0]
        return made[-1]

    return make


def test_the_sample_passes_both_checks():
    check_against_model(SAMPLE)
    check_laws(SAMPLE)
    check_interleaved(SAMPLE, SAMPLE, random.Random(1))
    assert Counter(len(arrivals) for arrivals in simulate(SAMPLE).received.values()) == {40: 1}


@pytest.mark.parametrize("kind", [EarlyArbiter, PeekingArbiter, SleepyArbiter, LateArbiter])
def test_planted_an_arbiter_that_departs_from_its_specification_is_found(kind):
    with pytest.raises(AssertionError):
        check_against_model(SAMPLE, with_arbiter(kind))


@pytest.mark.parametrize("kind", [EarlyArbiter, PeekingArbiter, SleepyArbiter])
def test_planted_an_arbiter_that_breaks_a_law_is_found(kind):
    with pytest.raises(AssertionError):
        check_laws(SAMPLE, with_arbiter(kind))


def test_planted_state_that_kernels_share_is_found():
    with pytest.raises(AssertionError):
        check_interleaved(SAMPLE, SAMPLE, random.Random(1), with_arbiter(SharedArbiter))
