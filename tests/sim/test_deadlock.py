"""Deadlocks: found, and named by who waits for what."""

import re

import pytest
from scripted import Gate, Scripted, Stuck, machine

from fiberscope.sim import ANY, DeadlockError, Output, deadlock
from fiberscope.sim.testing import StreamSink, StreamSource, check_accounting, data_tokens


def deadlocked(kernel):
    with pytest.raises(DeadlockError) as caught:
        kernel.run()
    check_accounting(kernel.statistics())
    return caught.value


@pytest.mark.parametrize("sleep", [True, False])
def test_a_deadlock_names_the_blocked_components_ports_channels_and_occupancies(sleep):
    left, right = StreamSource("left", data_tokens(range(5))), StreamSource("right", data_tokens(range(1)))
    gate, sink = Gate("gamma.gate"), StreamSink("sink")
    kernel = machine(left, right, gate, sink, sleep=sleep)
    kernel.connect(left, "out", gate, "ways[0]", capacity=2)
    kernel.connect(right, "out", gate, "ways[1]", capacity=2)
    kernel.connect(gate, "out", sink, "in", capacity=1)
    error = deadlocked(kernel)
    assert str(error) == (
        "deadlock at cycle 3: nothing can wake, but:\n"
        "  - left waits for space at out: channel gamma.gate.ways[0] holds 2 of 2 tokens, "
        "the first: control 0, coordinate 1, reference 1, value 1\n"
        "  - gamma.gate waits for a token at ways[1]: channel gamma.gate.ways[1] holds 0 of 2 tokens"
    )
    assert (error.cycle, len(error.blocked)) == (3, 2)
    assert kernel.statistics()["gamma.gate"].input_stall == {"ways[1]": 2}


def stuck_gate(**parts):
    source, gate, sink = StreamSource("source", data_tokens(range(5))), Gate("gate"), StreamSink("sink")
    silent = Scripted("silent", lambda self, _now: self.idle())
    silent.PORTS = (Output("out", ANY),)
    kernel = machine(source, silent, gate, sink, *parts.values())
    kernel.connect(source, "out", gate, "ways[0]", capacity=2)
    kernel.connect(silent, "out", gate, "ways[1]", capacity=2)
    kernel.connect(gate, "out", sink, "in", capacity=1)
    return kernel


@pytest.mark.parametrize("apart", [1, 3900])
def test_a_part_that_never_sleeps_does_not_hide_a_deadlock(apart, monkeypatch):
    monkeypatch.setattr(deadlock, "STEPS_A_LOOK", 1 << 15)
    kernel = stuck_gate(poller=Scripted("poller", lambda self, now: self.busy(now + apart)))
    error = deadlocked(kernel)
    stood = re.match(r"deadlock at cycle \d+: no token has moved for ([\d,]+) time steps, but:", str(error))
    assert 1 << 15 <= int(stood[1].replace(",", "")) < (1 << 15) + (1 << 14)
    assert [line.split(" waits")[0] for line in error.blocked] == ["source", "gate"]


def test_a_part_that_wakes_now_and_then_as_it_waits_does_not_hide_one_for_a_million_cycles():
    """As DRAM, which refreshes itself while it holds replies that nobody takes."""

    def refresh(self, now):
        self.wait_output(self.channel("out"))
        return now + 3900

    kept, taker = Scripted("dram", refresh), Stuck("taker")
    kept.PORTS = (Output("out", ANY),)
    kernel = stuck_gate(kept=kept, taker=taker)
    kernel.connect(kept, "out", taker, "in", capacity=1)
    error = deadlocked(kernel)
    assert error.cycle < 10**6
    assert [line.split(" waits")[0] for line in error.blocked] == ["source", "gate", "dram"]


def test_one_long_wait_is_no_deadlock():
    def wait(self, now):
        if now >= 1 << 22:
            return self.idle()
        self.wait_output(self.channel("out"))
        return 1 << 22

    waits, sink = Scripted("waits", wait), StreamSink("sink")
    waits.PORTS = (Output("out", ANY),)
    kernel = machine(waits, sink)
    kernel.connect(waits, "out", sink, "in", capacity=1)
    assert kernel.run().cycles == 1 << 22


def test_work_that_takes_long_is_no_deadlock_while_nobody_waits(monkeypatch):
    monkeypatch.setattr(deadlock, "STEPS_A_LOOK", 1 << 15)
    length = 5 << 15
    kernel = machine(
        Scripted("worker", lambda self, now: self.busy(now + 1) if now < length else self.idle())
    )
    assert kernel.run().cycles == length


def test_tokens_that_move_now_and_then_are_no_deadlock(monkeypatch):
    monkeypatch.setattr(deadlock, "STEPS_A_LOOK", 1 << 15)
    gaps = 1 << 14
    source, sink = StreamSource("source", data_tokens(range(9)), (gaps,)), StreamSink("sink")
    poller = Scripted("poller", lambda self, now: self.busy(now + 1) if now < 9 * gaps else self.idle())
    kernel = machine(source, poller, sink)
    kernel.connect(source, "out", sink, "in", capacity=1)
    assert kernel.run().complete


def test_a_component_that_leaves_tokens_is_a_deadlock():
    source, stuck = StreamSource("source", data_tokens(range(2))), Stuck("stuck")
    kernel = machine(source, stuck)
    kernel.connect(source, "out", stuck, "in", capacity=3)
    assert deadlocked(kernel).blocked == (
        "stuck is idle, yet leaves tokens at in: channel stuck.in holds 2 of 3 tokens, "
        "the first: control 0, coordinate 0, reference 0, value 0",
    )


def test_a_component_that_is_busy_and_asleep_is_a_deadlock():
    def script(self, _now):
        self.busy(0)
        return -1

    assert deadlocked(machine(Scripted("worker", script))).blocked == (
        "worker says that it is busy, yet asked for no further tick",
    )
