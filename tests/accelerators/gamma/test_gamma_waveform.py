"""The waveform of a small run: every part has its scope, and the signals tell what the counters do."""

from __future__ import annotations

import pytest
from gamma_bench import tiny
from gamma_reports import small_operands
from vcd_reader import read_vcd

from accelerators.gamma import Gamma
from sim.trace import write_vcd

PARTS = ("prefetcher", "reader", "merger", "multiplier", "accumulator", "writer")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A machine that has run, and its waveform."""
    machine = Gamma(tiny(), *small_operands())
    path = tmp_path_factory.mktemp("waves") / "gamma.vcd"
    with write_vcd(machine.kernel, path):
        machine.kernel.run()
    return machine, read_vcd(path)


def test_every_part_has_a_scope(run):
    _machine, waveform = run
    scopes = {name.rpartition(".")[0] for name in waveform.signals}
    assert scopes >= {f"gamma.pe{i}.{part}" for i in range(2) for part in PARTS}
    assert scopes >= {"gamma.scheduler", "gamma.fibercache.bank0", "gamma.memory.channel1"}
    assert scopes >= {"gamma.network.pe_requests", "gamma.network.memory_replies"}


def test_the_signals_end_where_the_counters_do(run):
    machine, waveform = run
    values = {name: signal.at(waveform.end) for name, signal in waveform.signals.items()}
    assert values["gamma.scheduler.completed"] == machine.table.count
    assert values["gamma.scheduler.next_task"] == machine.table.count
    statistics = machine.kernel.statistics()
    for i in range(2):
        counters = statistics[f"gamma.fibercache.bank{i}"].counters
        hits = [counters[f"{operation}_hits"] for operation in ("read", "fetch", "consume", "write")]
        assert values[f"gamma.fibercache.bank{i}.hits"] == sum(hits)


def test_the_tasks_of_a_writer_are_those_that_it_completed(run):
    machine, waveform = run
    shown = [value for i in range(2) for _time, value in waveform.signals[f"gamma.pe{i}.writer.task"].changes]
    assert set(shown) - {-1} == set(range(machine.table.count))
