"""The crossbar: its turns by hand, long traffic against a plain arbiter, and the laws of a fair network."""

from collections import defaultdict

import pytest
from crossbars import check_conservation, output_of, ports, run_crossbar, run_paused, to, traffic
from fibers import ROOM, check_accounting_of, pushed_at
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.networks.crossbar import Crossbar, QueuedCrossbar
from fiberscope.hw.networks.routes import AddressRoute, PortRoute, Route
from fiberscope.sim import SimulationError
from fiberscope.sim.testing import check_laws, run_block

LINE = 64


def crossbar():
    return Crossbar("crossbar", PortRoute())


def arbitrated(inputs, outputs, seed, latency):
    """What each output's sink receives and when, if no channel is ever full: the reference.

    Every output serves the first input from its turn on that shows it a token; the turn then passes to the
    input behind.
    """
    queues = [
        list(zip(pushed_at(len(tokens), seed, number), tokens, strict=True))
        for number, tokens in enumerate(inputs)
    ]
    received = {port: [] for port in ports("outputs", outputs)}
    turns = [0] * outputs
    now = latency
    while any(queues):
        heads = {i: queue[0][1] for i, queue in enumerate(queues) if queue and queue[0][0] + latency <= now}
        for output in range(outputs):
            order = [(turns[output] + step) % len(inputs) for step in range(len(inputs))]
            winner = next((i for i in order if i in heads and output_of(heads[i]) == output), None)
            if winner is not None:
                received[f"outputs[{output}]"].append((now + latency, queues[winner].pop(0)[1]))
                turns[output] = winner + 1
        now += 1
    return received


def check_arbitration(make, inputs, outputs, seed=None, latency=1):
    outcome = run_crossbar(make, inputs, outputs, seed=seed, latency=latency, capacity=ROOM)
    expected = arbitrated(inputs, outputs, seed, latency)
    if seed is None:  # else the sinks pause and receive later
        assert outcome.received == expected
    assert {port: outcome.tokens(port) for port in outcome.received} == {
        port: [token for _, token in tokens] for port, tokens in expected.items()
    }
    return outcome


def check_fair(make, inputs, outputs, latency=1):
    """While a head waits, no other input is served twice by the output that it waits for."""
    outcome = run_crossbar(make, inputs, outputs, latency=latency, capacity=ROOM)
    left = {token: cycle - latency for received in outcome.received.values() for cycle, token in received}
    served = defaultdict(list)
    for index, tokens in enumerate(inputs):
        for token in tokens:
            served[output_of(token), index].append(left[token])
    for index, tokens in enumerate(inputs):
        free = latency
        for token, pushed in zip(tokens, pushed_at(len(tokens), None, 0), strict=True):
            shown = max(free, pushed + latency)
            free = left[token] + 1
            for other in set(range(len(inputs))) - {index}:
                overtaken = [
                    cycle for cycle in served[output_of(token), other] if shown <= cycle < left[token]
                ]
                assert len(overtaken) <= 1, f"input {other} was served at {overtaken} while {token} waited"


def test_a_token_leaves_in_the_cycle_in_which_it_is_seen():
    outcome = run_crossbar(crossbar, [[], [to(2, 0)]], 3, latency=4)
    assert outcome.received == {"outputs[0]": [], "outputs[1]": [], "outputs[2]": [(8, to(2, 0))]}
    check_accounting_of(outcome, "crossbar", busy=1, idle=8)


def test_a_permutation_moves_a_token_of_every_input_in_every_cycle():
    size = 8
    inputs = [[to((index + step) % size, 100 * index + step) for step in range(200)] for index in range(size)]
    outcome = check_arbitration(crossbar, inputs, size)
    assert {received[-1][0] for received in outcome.received.values()} == {201}
    assert outcome.statistics["crossbar"].counters == {"transfers": 1600, "conflicts": 0}
    check_accounting_of(outcome, "crossbar", busy=200, output_stall={})


def test_inputs_that_want_one_output_take_turns():
    inputs = [[to(0, 10 * index + step) for step in range(3)] for index in range(3)]
    outcome = check_arbitration(crossbar, inputs, 1)
    numbers = [token[1] for token in outcome.tokens("outputs[0]")]
    assert numbers == [0, 10, 20, 1, 11, 21, 2, 12, 22]
    # Heads that lose: 2 in each of 7 cycles, then 1, then 0.
    assert outcome.statistics["crossbar"].counters == {"transfers": 9, "conflicts": 15}


def test_two_neighbours_of_many_inputs_share_an_output_evenly():
    inputs = [[], *([to(0, 100 * index + step) for step in range(20)] for index in (1, 2)), *[[]] * 5]
    outcome = check_arbitration(crossbar, inputs, 1)
    assert [token[1] // 100 for token in outcome.tokens("outputs[0]")] == [1, 2] * 20


@pytest.mark.parametrize("pause", range(1, 9))
def test_no_input_starves_at_an_output_with_a_beat(pause):
    inputs = [[to(0, 100 * index + step) for step in range(12)] for index in range(4)]
    (received,), _account = run_paused(crossbar(), inputs, 1, pause)
    assert [token[1] // 100 for _, token in received] == [0, 1, 2, 3] * 12


def test_a_token_that_cannot_move_holds_up_those_behind_it():
    # Both want output 0 first; input 1 loses, and its second token waits although output 1 is free.
    inputs = [[to(0, 0)], [to(0, 10), to(1, 11)]]
    outcome = check_arbitration(crossbar, inputs, 2)
    assert outcome.received["outputs[1]"] == [(4, to(1, 11))]


def test_a_full_output_is_an_output_stall_and_others_go_on():
    outcome = run_crossbar(crossbar, [[to(0, n) for n in range(4)], [to(1, 9)]], 2, capacity=1)
    # A capacity of 1 halves the rate: one token at 1, 3, 5, 7, a stall between two, and the source too
    # takes two cycles a token.
    assert [cycle for cycle, _ in outcome.received["outputs[0]"]] == [2, 4, 6, 8]
    assert outcome.received["outputs[1]"] == [(2, to(1, 9))]


def test_of_two_full_outputs_neither_is_blamed_alone():
    inputs = [[to(1 - index, 10 * index + step) for step in range(3)] for index in range(2)]
    _received, account = run_paused(crossbar(), inputs, 2, pause=9)
    # Both outputs are given a token at 1 and 3, taken at 2 and 12, so the third leave at 13: both are full
    # at 2 and from 4 to 12.
    assert (account.busy, account.output_stall) == (3, {"outputs": 10})


def test_requests_are_interleaved_over_the_outputs_by_address():
    tokens = [(0, n, n * LINE + n, 0.0) for n in range(12)]
    outcome = run_block(Crossbar("crossbar", AddressRoute(LINE)), {"inputs[0]": tokens}, ports("outputs", 3))
    for output in range(3):
        assert outcome.tokens(f"outputs[{output}]") == tokens[output::3]


@pytest.mark.parametrize("port", [2, -1, 1 << 20])
def test_a_tag_that_names_no_output_is_refused(port):
    with pytest.raises(SimulationError, match=rf"crossbar.inputs\[0\]: no output {port}; there are 2"):
        run_crossbar(crossbar, [[to(port, 0)]], 2)


class ByCoordinate(Route):
    """What lies in one place: a route of one's own, in plain Python."""

    def output(self, head, outputs):
        return head.coordinate() % outputs


@pytest.mark.parametrize("make", [Crossbar, lambda name, route: QueuedCrossbar(name, route, 3)])
def test_a_route_of_ones_own_is_taken(make):
    tokens = [(0, n, 0, 0.0) for n in range(12)]
    outcome = run_block(make("crossbar", ByCoordinate()), {"inputs[0]": tokens}, ports("outputs", 5))
    for output in range(5):
        assert outcome.tokens(f"outputs[{output}]") == tokens[output::5]


def test_a_route_that_does_not_say_where_is_named():
    with pytest.raises(NotImplementedError, match="Route does not define output"):
        run_crossbar(lambda: Crossbar("crossbar", Route()), [[to(0, 0)]], 1)


@pytest.mark.parametrize("interleave", [0, -64])
def test_an_interleaving_below_a_byte_is_refused(interleave):
    with pytest.raises(ValueError, match=f"interleave_bytes must be at least 1, not {interleave}"):
        AddressRoute(interleave)


@given(case=traffic(), seed=st.none() | st.integers(0, 1000), latency=st.integers(1, 3))
def test_arbitrates_any_traffic_as_the_reference_does(case, seed, latency):
    inputs, outputs = case
    check_arbitration(crossbar, inputs, outputs, seed, latency)
    check_fair(crossbar, inputs, outputs, latency)


@given(
    case=traffic(),
    seed=st.none() | st.integers(0, 1000),
    capacity=st.integers(1, 4),
    latency=st.integers(1, 3),
)
def test_loses_and_swaps_nothing_under_any_stalls(case, seed, capacity, latency):
    inputs, outputs = case
    check_conservation(crossbar, inputs, outputs, seed=seed, capacity=capacity, latency=latency)
    named = dict(zip(ports("inputs", len(inputs)), inputs, strict=True))
    check_laws(crossbar, named, ports("outputs", outputs), seeds=[seed], capacity=capacity, latency=latency)


class FavoursInputZero(Crossbar):
    def tick(self, now):
        for output in range(len(self.turns)):
            self.turns[output] = 0
        return super().tick(now)


class SwapsOutputs(Crossbar):
    def elaborate(self):
        self.connected["outputs"].reverse()
        super().elaborate()


CONTENTION = [[to(0, 10 * index + step) for step in range(3)] for index in range(3)]


def test_planted_a_crossbar_that_favours_input_zero():
    with pytest.raises(AssertionError, match="was served at"):
        check_fair(lambda: FavoursInputZero("crossbar", PortRoute()), CONTENTION, 1)
    with pytest.raises(AssertionError):
        check_arbitration(lambda: FavoursInputZero("crossbar", PortRoute()), CONTENTION, 1)


def test_planted_a_crossbar_that_mixes_up_its_outputs():
    with pytest.raises(AssertionError):
        check_conservation(lambda: SwapsOutputs("crossbar", PortRoute()), CONTENTION, 2)


class AskedRoute(Route):
    """To one output of two by turns, whatever the token is."""

    def __init__(self):
        super().__init__()
        self.asked = 0

    def output(self, head, outputs):
        self.asked += 1
        return self.asked % outputs


@pytest.mark.parametrize("make", [Crossbar, lambda name, route: QueuedCrossbar(name, route, 2)])
def test_a_route_is_asked_once_for_each_token(make):
    """However long it waits: outputs pause, and inputs contend for them."""
    route = AskedRoute()
    inputs = [[to(0, 10 * number + place) for place in range(8)] for number in range(3)]
    outcome = run_crossbar(lambda: make("crossbar", route), inputs, 2, seed=3)
    assert outcome.statistics["crossbar"].counters["conflicts"] > 0
    assert route.asked == sum(map(len, inputs))
