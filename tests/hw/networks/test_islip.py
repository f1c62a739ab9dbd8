"""The crossbar with a FIFO a pair: cycles of short runs, and the laws of a switch."""

from itertools import pairwise

import pytest
from crossbars import check_conservation, ports, run_crossbar, run_paused, to, traffic
from fibers import ROOM, check_accounting_of
from hypothesis import given, settings
from hypothesis import strategies as st

from fiberscope.hw.networks.islip import IslipCrossbar
from fiberscope.hw.networks.routes import CoordinateRoute, PortRoute
from fiberscope.sim import SimulationError
from fiberscope.sim.testing import check_laws


def islip(depth=4):
    return IslipCrossbar("crossbar", PortRoute(), depth)


@settings(max_examples=15)
@given(
    case=traffic(), seed=st.none() | st.integers(0, 1000), capacity=st.integers(1, 4),
    latency=st.integers(1, 3), depth=st.integers(1, 5),
)  # fmt: skip
def test_loses_and_swaps_nothing_under_any_stalls(case, seed, capacity, latency, depth):
    inputs, outputs = case
    bench = {"capacity": capacity, "latency": latency}
    check_conservation(lambda: islip(depth), inputs, outputs, seed=seed, **bench)
    named = dict(zip(ports("inputs", len(inputs)), inputs, strict=True))
    check_laws(lambda: islip(depth), named, ports("outputs", outputs), seeds=[seed], **bench)


@pytest.mark.parametrize("shift", range(8))
def test_any_permutation_moves_a_token_of_every_input_in_every_cycle(shift):
    """Each input sends to one output: rotated, and for odd shifts mirrored."""
    goals = [(shift - index if shift % 2 else shift + index) % 8 for index in range(8)]
    inputs = [[to(goals[index], 100 * index + step) for step in range(60)] for index in range(8)]
    outcome = run_crossbar(lambda: islip(2), inputs, 8, capacity=ROOM)
    assert {received[-1][0] for received in outcome.received.values()} == {62}
    assert outcome.statistics["crossbar"].counters == {"transfers": 480, "conflicts": 0}


def test_permutations_that_change_in_every_cycle_are_moved_as_fast():
    inputs = [[to((index + step) % 8, 100 * index + step) for step in range(60)] for index in range(8)]
    outcome = run_crossbar(islip, inputs, 8, capacity=ROOM)
    assert {received[-1][0] for received in outcome.received.values()} == {62}


def test_a_token_waits_for_its_own_output_alone():
    """Two inputs share output 0; the last token of the second goes to output 1, which nobody else wants."""
    inputs = [[to(0, n) for n in range(9)], [*(to(0, 10 + n) for n in range(3)), to(1, 13)]]
    outcome = run_crossbar(islip, inputs, 2, capacity=ROOM)
    assert outcome.received["outputs[1]"] == [(6, to(1, 13))]  # seen at 4, sent at 5


@pytest.mark.parametrize("pause", [0, 3])
@pytest.mark.parametrize("depth", [1, 3])
def test_no_queue_starves(depth, pause):
    """Four inputs with tokens for three outputs at all times: between two of one pair, each other has one."""
    inputs = [[to(step % 3, 100 * index + step) for step in range(36)] for index in range(4)]
    received, _account = run_paused(islip(depth), inputs, 3, pause, ROOM)
    for tokens in received:
        senders = [token[2] // 64 // 100 for _, token in tokens]
        for sender in range(4):
            places = [place for place, found in enumerate(senders) if found == sender]
            assert max(b - a for a, b in pairwise(places)) <= 8


def test_a_full_output_is_an_output_stall_and_others_go_on():
    inputs = [[to(0, n) for n in range(4)], [to(0, 10 + n) for n in range(4)], [to(1, 9)]]
    received, account = run_paused(islip(), inputs, 2, capacity=ROOM)
    # A capacity of 1 halves the rate: one token at 2, 4, ... 16, and a stall between two once all are in.
    assert [cycle for cycle, _ in received[0]] == [*range(3, 18, 2)]
    assert received[1] == [(3, to(1, 9))]
    assert account.output_stall == {"outputs[0]": 6}


def test_ids_are_dealt_out_by_their_low_bits():
    tokens = [(0, vertex, 7, 0.5) for vertex in (8, 3, 1 << 40, 15, 11)]
    block = IslipCrossbar("crossbar", CoordinateRoute(), 8)
    outcome = run_crossbar(lambda: block, [tokens], 8)
    assert {port: [token[1] for token in outcome.tokens(port)] for port in outcome.received} == {
        port: {0: [8, 1 << 40], 3: [3, 11], 7: [15]}.get(index, [])
        for index, port in enumerate(ports("outputs", 8))
    }


def test_a_token_alone_leaves_a_cycle_behind_that_in_which_it_is_seen():
    outcome = run_crossbar(islip, [[], [to(2, 0)]], 3, latency=4)
    assert outcome.received["outputs[2]"] == [(9, to(2, 0))]
    check_accounting_of(outcome, "crossbar", busy=2, idle=8)


def test_what_cannot_be_is_refused():
    with pytest.raises(SimulationError, match=r"crossbar.inputs\[0\]: no output 2; there are 2"):
        run_crossbar(islip, [[to(2, 0)]], 2)
    with pytest.raises(ValueError, match="crossbar: depth must be at least 1, not 0"):
        islip(0)
    with pytest.raises(ValueError, match="crossbar: it has up to 32 inputs and outputs"):
        run_crossbar(islip, [[to(0, 0)]], 33)
