"""The waveform of a small run: the signals tell what the counters do."""

import pytest
from gamma_bench import small_operands, tiny
from vcd_reader import read_vcd

from fiberscope.accelerators.gamma import Gamma
from fiberscope.sim.trace import write_vcd


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A machine that has run, and its waveform."""
    machine = Gamma(tiny(), *small_operands())
    path = tmp_path_factory.mktemp("waves") / "gamma.vcd"
    with write_vcd(machine.kernel, path):
        machine.kernel.run()
    return machine, read_vcd(path)


def test_the_signals_end_where_the_counters_do(run):
    machine, waveform = run
    values = {name: signal.at(waveform.end) for name, signal in waveform.signals.items()}
    assert values["gamma.scheduler.completed"] == machine.table.count
    assert values["gamma.scheduler.next_task"] == machine.table.count
    statistics = machine.kernel.statistics()
    for i in range(2):
        counters = statistics[f"gamma.fibercache.bank{i:02}"].counters
        hits = [counters[f"{operation}_hits"] for operation in ("read", "fetch", "consume", "write")]
        assert values[f"gamma.fibercache.bank{i:02}.hits"] == sum(hits)


def test_the_tasks_of_a_writer_are_those_that_it_completed(run):
    machine, waveform = run
    shown = [
        value for i in range(2) for _time, value in waveform.signals[f"gamma.pe{i:02}.writer.task"].changes
    ]
    assert set(shown) - {-1} == set(range(machine.table.count))
