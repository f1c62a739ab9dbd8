"""The concentrator: what each requester sends and gets, its turns, and replies that nobody asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.memory.protocol import PORT_SHIFT
from fiberscope.hw.networks.concentrator import Concentrator
from fiberscope.hw.networks.routes import PortRoute
from fiberscope.sim import SimulationError
from fiberscope.sim.testing import check_laws, run_block

FIRST = 12  # a port of the network


def concentrator():
    return Concentrator("block", FIRST)


def ends(requests, replies, outputs):
    """The tokens by input port, and the output ports."""
    inputs = {f"inputs[{i}]": tokens for i, tokens in enumerate(requests)} | {"replies": replies}
    return inputs, ["requests", *(f"outputs[{i}]" for i in range(outputs))]


def bench(requests, replies, outputs, **options):
    return run_block(concentrator(), *ends(requests, replies, outputs), **options)


def request(index, number):
    return (number % 3, number, 64 * number + index, 0.5)


def reply(index, number):
    return (0, (FIRST + index) << PORT_SHIFT | number, 64 * number, 0.25)


@st.composite
def traffic(draw):
    """Requests of each requester, and replies to those of the first that take any."""
    lengths = draw(st.lists(st.integers(0, 20), min_size=1, max_size=6))
    outputs = draw(st.integers(1, len(lengths)))
    goals = draw(st.lists(st.integers(0, outputs - 1), max_size=30))
    requests = [[request(i, number) for number in range(length)] for i, length in enumerate(lengths)]
    return requests, [reply(goal, number) for number, goal in enumerate(goals)], outputs


@given(traffic(), st.none() | st.integers(0, 9))
def test_every_request_goes_out_with_its_port_and_every_reply_comes_home(given_traffic, seed):
    requests, replies, outputs = given_traffic
    outcome = bench(requests, replies, outputs, seed=seed)
    sent = outcome.tokens("requests")
    for index, tokens in enumerate(requests):
        port = FIRST + index
        expected = [(control, port << PORT_SHIFT | tag, *rest) for control, tag, *rest in tokens]
        assert [token for token in sent if token[1] >> PORT_SHIFT == port] == expected
    for index in range(outputs):
        numbers = [number for number, token in enumerate(replies) if token[1] >> PORT_SHIFT == FIRST + index]
        assert [token[1] for token in outcome.tokens(f"outputs[{index}]")] == numbers
    counters = outcome.statistics["block"].counters
    assert counters == {"sent": sum(map(len, requests)), "returned": len(replies)}


@given(traffic())
def test_the_laws_of_the_engine(given_traffic):
    check_laws(concentrator, *ends(*given_traffic))


def test_requesters_take_turns_and_both_ways_flow_at_once():
    outcome = bench(
        [[request(i, n) for n in range(4)] for i in range(3)], [reply(0, n) for n in range(12)], 1
    )
    ports = [token[1] >> PORT_SHIFT for token in outcome.tokens("requests")]
    assert ports == [FIRST, FIRST + 1, FIRST + 2] * 4
    cycles = [cycle for cycle, _token in outcome.received["requests"]]
    assert cycles == [cycle for cycle, _token in outcome.received["outputs[0]"]]
    assert cycles == list(range(cycles[0], cycles[0] + 12))


def test_a_reply_for_somebody_else_is_refused():
    with pytest.raises(SimulationError, match="no output 1; there are 1"):
        bench([[]], [reply(1, 0)], 1)


def test_a_route_by_groups_finds_the_concentrator():
    with pytest.raises(ValueError, match="group must be at least 1, not 0"):
        PortRoute(0)
