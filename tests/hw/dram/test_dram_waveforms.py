"""The waveform of a channel: that of one that never sleeps, across refreshes under load and in idle times."""

import random
from pathlib import Path

import pytest
from vcd_reader import read_vcd

from fiberscope.hw.dram import DramChannel, DramSpecification, standard
from fiberscope.hw.dram.trace import ReplySink, Request, TraceSource, reads_of
from fiberscope.hw.memory.protocol import READ, WRITE
from fiberscope.sim.kernel import Kernel
from fiberscope.sim.trace import write_vcd

REFI = standard("HBM2_2000").timing.refi
INTERVALS = 20  # tREFI that a trace lasts


def spells() -> list[Request]:
    """Spells of one to 60 reads and writes, and pauses of up to a fifth of the time between refreshes."""
    draw = random.Random(1)
    cycle, trace = 0, []
    while cycle < INTERVALS * REFI:
        cycle += draw.randrange(draw.choice([REFI // 50, REFI // 5]))
        for _ in range(draw.choice([1, 1, 1, 2, 30])):
            trace.append((cycle, draw.choice([READ, READ, WRITE]), draw.randrange(1 << 14) * 64))
    return trace


def waveform(
    path: Path, specification: DramSpecification, trace: list[Request], *, sleep: bool
) -> dict[str, object]:
    kernel = Kernel(sleep=sleep)
    kernel.clock("memory", specification.clock_hertz)
    source = kernel.add(TraceSource("source", trace, 1))
    dram = kernel.add(DramChannel("dram", specification))
    sink = kernel.add(ReplySink("sink", reads_of(trace)))
    kernel.connect(source, "requests", dram, "requests", capacity=4)
    kernel.connect(dram, "replies", sink, "replies", capacity=2)
    with write_vcd(kernel, path, colours=False):
        kernel.run()
    shown = read_vcd(path).signals
    assert dram.counters()["refreshes"] >= INTERVALS
    return {name: signal.changes for name, signal in shown.items() if name.startswith("dram.")}


@pytest.mark.parametrize("refresh", ["all_bank", "per_bank", "per_bank_lookahead"])
@pytest.mark.parametrize("scheduler", ["frfcfs", "row_hit_first"])
def test_a_channel_that_sleeps_shows_what_one_that_never_does_shows(
    tmp_path: Path, scheduler: str, refresh: str
) -> None:
    specification = DramSpecification(scheduler=scheduler, refresh=refresh)  # type: ignore[arg-type]
    trace = spells()
    shown = waveform(tmp_path / "asleep.vcd", specification, trace, sleep=True)
    assert shown == waveform(tmp_path / "awake.vcd", specification, trace, sleep=False)


def test_the_waveform_shows_the_bank_and_the_row_of_every_activation(tmp_path: Path) -> None:
    specification = DramSpecification(refresh="off")
    kernel = Kernel()
    kernel.clock("memory", specification.clock_hertz)
    trace = spells()[:300]
    source = kernel.add(TraceSource("source", trace, 1))
    dram = kernel.add(DramChannel("dram", specification, log=True))
    sink = kernel.add(ReplySink("sink", reads_of(trace)))
    kernel.connect(source, "requests", dram, "requests", capacity=4)
    kernel.connect(dram, "replies", sink, "replies", capacity=2)
    with write_vcd(kernel, tmp_path / "out.vcd", colours=False):
        kernel.run()
    shown = read_vcd(tmp_path / "out.vcd").signals
    activations = [command for command in dram.commands if command.name == "ACT"]
    assert len(activations) > 100
    period = shown["dram.row"].changes[-1][0] // activations[-1].cycle  # of the file's time
    found = [
        (shown["dram.row_bank"].at(one.cycle * period), shown["dram.row"].at(one.cycle * period))
        for one in activations
    ]
    assert found == [(one.bank, one.row) for one in activations]
