"""The waveform of a small run: the signals tell what the counters do."""

from collections import Counter

import pytest
from extensor_bench import small_operands, tiny
from vcd_reader import read_vcd

from fiberscope.accelerators.extensor import ExTensor
from fiberscope.sim.trace import write_vcd


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A machine that has run, and its waveform."""
    machine = ExTensor(tiny(), *small_operands())
    path = tmp_path_factory.mktemp("waves") / "extensor.vcd"
    with write_vcd(machine.kernel, path):
        machine.kernel.run()
    return machine, read_vcd(path)


def test_the_signals_end_where_the_counters_do(run):
    machine, waveform = run
    values = {name: signal.at(waveform.end) for name, signal in waveform.signals.items()}
    operations = machine.operations()
    assert values["extensor.sequencer.intersect_k2"] == operations["intersect_k2"]
    assert values["extensor.llb.dispatcher.products"] == operations["microtile_products"]
    assert values["extensor.llb.drain.tiles"] == len(machine.output_tiles)
    cores = [f"extensor.pe{i:02}.core" for i in range(3)]
    assert sum(values[f"{core}.intersect_k0"] for core in cores) == operations["intersect_k0"]
    assert sum(values[f"{core}.multiply"] for core in cores) == operations["multiply"]


def test_the_products_of_the_cores_are_those_that_were_dispatched(run):
    machine, waveform = run
    shown = Counter()
    for i in range(3):
        core = waveform.signals[f"extensor.pe{i:02}.core.microtile_a"]
        other = waveform.signals[f"extensor.pe{i:02}.core.microtile_b"]
        times = sorted({time for signal in (core, other) for time, _value in signal.changes})
        shown.update((core.at(time), other.at(time)) for time in times)
    del shown[-1, -1]
    assert len(shown) == machine.operations()["microtile_products"]
    assert set(shown.values()) == {1}
