"""The crossbar with virtual output queues: against a plain one over lists, and the laws of a fair network."""

from itertools import pairwise

import pytest
from crossbars import check_conservation, output_of, ports, run_crossbar, run_paused, to, traffic
from fibers import ROOM, check_accounting_of, pushed_at
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.networks.crossbar import Crossbar, QueuedCrossbar, crossbar
from fiberscope.hw.networks.routes import PortRoute
from fiberscope.sim import SimulationError
from fiberscope.sim.testing import check_laws


def fifo():
    return Crossbar("crossbar", PortRoute())


def queued(room=4):
    return QueuedCrossbar("crossbar", PortRoute(), room)


def matched(inputs, outputs, room, latency=1):
    """What each output's sink receives and when, if no channel is ever full: the reference.

    Every input takes a token in. Every output grants the input next in its turn that holds one for it; every
    input sends the oldest token of those granted, and the turn of that output passes to the input behind.
    """
    queues = [
        list(zip(pushed_at(len(tokens), None, number), tokens, strict=True))
        for number, tokens in enumerate(inputs)
    ]
    held = [[] for _ in inputs]
    received = {port: [] for port in ports("outputs", outputs)}
    turns = [0] * outputs
    now = latency
    while any(queues) or any(held):
        for number, queue in enumerate(queues):
            if queue and queue[0][0] + latency <= now and len(held[number]) < room:
                held[number].append(queue.pop(0)[1])
        grants = {}
        for output in range(outputs):
            order = [(turns[output] + step) % len(inputs) for step in range(len(inputs))]
            wanting = [i for i in order if any(output_of(token) == output for token in held[i])]
            if wanting:
                grants.setdefault(wanting[0], set()).add(output)
        for number, granted in grants.items():
            token = next(token for token in held[number] if output_of(token) in granted)
            held[number].remove(token)
            received[f"outputs[{output_of(token)}]"].append((now + latency, token))
            turns[output_of(token)] = number + 1
        now += 1
    return received


def longest_wait(inputs, outputs, room, pause):
    """The most tokens that others sent through an output while the same token waited at it, held."""
    received, _account = run_paused(queued(room), inputs, outputs, pause)
    arrived = [[token for _cycle, token in tokens] for tokens in received]
    worst = 0
    for tokens in inputs:
        for output in range(outputs):
            own = [token for token in tokens if output_of(token) == output]
            places = [arrived[output].index(token) for token in own]
            gaps = [later - earlier - 1 for earlier, later in pairwise(places)]
            worst = max([worst, *gaps])
    return worst


def test_a_token_waits_for_its_own_output_alone():
    """Two inputs share output 0; the last token of the second goes to output 1, which nobody else wants."""
    inputs = [[to(0, n) for n in range(9)], [*(to(0, 10 + n) for n in range(3)), to(1, 13)]]
    left = {}
    for make in (fifo, queued):
        outcome = run_crossbar(make, inputs, 2, capacity=ROOM)
        ((left[make], token),) = outcome.received["outputs[1]"]
        assert token == to(1, 13)
    # Seen at 4. In one queue it waits for three tokens that leave every other cycle, in its own for one that
    # came before it.
    assert left == {fifo: 8, queued: 6}


def test_a_token_alone_takes_as_long_as_through_any_crossbar():
    for make in (queued, fifo):
        outcome = run_crossbar(make, [[], [to(2, 0)]], 3, latency=4)
        assert outcome.received["outputs[2]"] == [(8, to(2, 0))]
        check_accounting_of(outcome, "crossbar", busy=1, idle=8)


@pytest.mark.parametrize("room", [1, 2, 8])
def test_a_permutation_moves_a_token_of_every_input_in_every_cycle(room):
    size = 8
    inputs = [[to((index + step) % size, 100 * index + step) for step in range(60)] for index in range(size)]
    outcome = run_crossbar(lambda: queued(room), inputs, size, capacity=ROOM)
    assert {received[-1][0] for received in outcome.received.values()} == {61}
    assert outcome.statistics["crossbar"].counters == {"transfers": 480, "conflicts": 0}


def test_a_full_output_is_an_output_stall_and_others_go_on():
    inputs = [[to(0, n) for n in range(4)], [to(0, 10 + n) for n in range(4)], [to(1, 9)]]
    outcome = run_crossbar(queued, inputs, 2, capacity=1)
    # A capacity of 1 halves the rate: one token at 1, 3, ... 15, and a stall between two.
    assert [cycle for cycle, _ in outcome.received["outputs[0]"]] == [*range(2, 17, 2)]
    assert outcome.received["outputs[1]"] == [(2, to(1, 9))]
    check_accounting_of(outcome, "crossbar", busy=8, output_stall={"outputs[0]": 7})


@pytest.mark.parametrize("port", [2, -1, 1 << 20])
def test_a_tag_that_names_no_output_is_refused(port):
    with pytest.raises(SimulationError, match=rf"crossbar.inputs\[0\]: no output {port}; there are 2"):
        run_crossbar(queued, [[to(port, 0)]], 2)


def test_queues_without_room_are_refused():
    with pytest.raises(ValueError, match="crossbar: room must be at least 1, not 0"):
        queued(0)
    with pytest.raises(ValueError, match="crossbar: room must be at least 1, not -3"):
        crossbar("crossbar", PortRoute(), virtual_output_queues=-3)


def test_a_crossbar_is_made_with_and_without_queues():
    assert type(crossbar("crossbar", PortRoute())) is Crossbar
    made = crossbar("crossbar", PortRoute(), virtual_output_queues=5)
    assert (type(made), made.room) == (QueuedCrossbar, 5)


@given(case=traffic(), room=st.integers(1, 6), latency=st.integers(1, 3))
def test_matches_any_traffic_as_the_reference_does(case, room, latency):
    inputs, outputs = case
    outcome = run_crossbar(lambda: queued(room), inputs, outputs, latency=latency, capacity=ROOM)
    assert outcome.received == matched(inputs, outputs, room, latency)


@given(
    case=traffic(),
    seed=st.none() | st.integers(0, 1000),
    capacity=st.integers(1, 4),
    latency=st.integers(1, 3),
    room=st.integers(1, 6),
)
def test_loses_and_swaps_nothing_under_any_stalls(case, seed, capacity, latency, room):
    inputs, outputs = case
    bench = {"capacity": capacity, "latency": latency}
    check_conservation(lambda: queued(room), inputs, outputs, seed=seed, **bench)
    named = dict(zip(ports("inputs", len(inputs)), inputs, strict=True))
    check_laws(lambda: queued(room), named, ports("outputs", outputs), seeds=[seed], **bench)


@pytest.mark.parametrize("pause", [1, 3, 7])
@pytest.mark.parametrize("room", [1, 3, 16])
def test_no_queue_starves(room, pause):
    """Four inputs send to three outputs in turn: between two tokens of one flow, few of any other pass."""
    inputs = [[to(step % 3, 100 * index + step) for step in range(36)] for index in range(4)]
    assert longest_wait(inputs, 3, room, pause) <= 2 * 3  # two of each other input


class ForgetsTurns(QueuedCrossbar):
    """Always begins with input 0."""

    def tick(self, now):
        for output in range(len(self.turns)):
            self.turns[output] = 0
        return super().tick(now)


class SwapsOutputs(QueuedCrossbar):
    """Tokens for the first output leave through the last."""

    def elaborate(self):
        self.connected["outputs"].reverse()
        super().elaborate()


CONTENTION = [[to(0, 10 * index + step) for step in range(3)] for index in range(3)]


@pytest.mark.parametrize("broken", [ForgetsTurns, SwapsOutputs])
def test_planted_a_crossbar_that_is_unfair_or_mixes_up(broken):
    outcome = run_crossbar(lambda: broken("crossbar", PortRoute(), 4), CONTENTION, 2, capacity=ROOM)
    assert outcome.received != matched(CONTENTION, 2, 4)
