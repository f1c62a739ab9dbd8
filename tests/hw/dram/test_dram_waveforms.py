"""The waveform of a channel: that of one that never sleeps, across refreshes under load and in idle times."""

import random
from pathlib import Path

import pytest
from vcd_reader import read_vcd

from hw.dram import DramChannel, DramSpecification, standard
from hw.dram.trace import ReplySink, Request, TraceSource, reads_of
from hw.memory import READ, WRITE
from sim.kernel import Kernel
from sim.trace import write_vcd

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
