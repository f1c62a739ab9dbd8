"""The account of a whole machine, read while it runs: it adds up to what the run reports."""

from array import array
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from networks import Edge, Network, Node, build

from fiberscope.sim.cycle_counts import Ledger

stalls = st.lists(st.integers(0, 9), min_size=1, max_size=3).map(tuple)


@st.composite
def chains(draw):
    """A source, some delays and a sink, on one to three clocks."""
    frequencies = draw(st.lists(st.sampled_from([1, 2, Fraction(3, 2), 7]), min_size=1, max_size=3))
    domains = st.integers(0, len(frequencies) - 1)
    source = Node("source", draw(domains), count=draw(st.integers(0, 40)), stalls=draw(stalls))
    delays = [
        Node("delay", draw(domains), cycles=draw(st.integers(1, 30))) for _ in range(draw(st.integers(1, 3)))
    ]
    nodes = (source, *delays, Node("sink", draw(domains), stalls=draw(stalls)))
    edges = tuple(
        Edge(number, 0, number + 1, 0, draw(st.integers(1, 3)), draw(st.integers(1, 4)))
        for number in range(len(nodes) - 1)
    )
    return Network(tuple(Fraction(one) * 10**9 for one in frequencies), nodes, edges)


def ledger_of(kernel):
    """A column a state and one a channel."""
    places, accounts = iter(range(10**6)), []
    for component in kernel.components:
        accounts.append([next(places) for _ in component.cycles])
    queues = [next(places) for _ in kernel.channels()]
    return Ledger(kernel.components, accounts, kernel.channels(), queues), accounts, queues, next(places)


def read(ledger, width, time):
    row = array("q", bytes(8 * width))
    ledger.read(row, time)
    return row


@given(chains(), st.lists(st.integers(1, 400), max_size=6), st.booleans())
def test_at_every_cycle_each_component_has_spent_all_cycles_before_it_once(network, cycles, sleep):
    kernel, components = build(network, sleep=sleep)
    kernel.build()
    ledger, accounts, queues, width = ledger_of(kernel)
    period = kernel.clocks[0].period
    for cycle in sorted(set(cycles)):
        if kernel.run(cycle_limit=cycle).reason != "cycle limit":
            break
        row = read(ledger, width, cycle * period)
        for component, states in zip(components, accounts, strict=True):
            spent = [row[state] for state in states]
            assert min(spent) >= 0
            assert sum(spent) == -(-cycle * period // component.clock.period)
        assert [row[queue] for queue in queues] == [channel.occupancy for channel in kernel.channels()]
    kernel.run()
    row = read(ledger, width, kernel.end)
    for component, states in zip(components, accounts, strict=True):
        told = kernel.statistics()[component.name]
        stalls = sum(told.input_stall.values()) + sum(told.output_stall.values())
        assert [row[states[0]], row[states[1]], sum(row[state] for state in states[2:])] == [
            told.busy,
            told.idle,
            stalls,
        ]


def test_columns_that_are_shared_add_up():
    network = Network(
        (Fraction(10**9),), (Node("source", 0, 3, stalls=(0,)), Node("sink", 0, stalls=(0,))), ()
    )
    network = Network(network.frequencies, network.nodes, (Edge(0, 0, 1, 0, 1, 1),))
    kernel, components = build(network)
    run = kernel.run()
    one = Ledger(
        components, [[0] * len(component.cycles) for component in components], kernel.channels(), [1]
    )
    assert list(read(one, 2, kernel.end)) == [2 * run.cycles, 0]
