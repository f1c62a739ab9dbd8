"""The cocotb test that runs in an HDL simulator with RTL in place of blocks (``rtl.cosim_runs``)."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import cocotb
from cocotb.task import bridge
from cocotb.triggers import Timer

from fiberscope.hw.rtl.tools.cocotb_backend import SETTLE, CocotbBackend
from fiberscope.hw.rtl.tools.harness import prefix
from fiberscope.hw.rtl.tools.hdl import read_order
from fiberscope.rtl.cosim_runs import simulate_in_bench
from fiberscope.rtl.substitution import Place
from fiberscope.sim.interrupt import TERMINATIONS, interrupt_elsewhere


@cocotb.test()
async def the_accelerator_runs_with_the_modules_in_it(dut: Any) -> None:  # noqa: ANN401  (cocotb's handles)
    """Fails with whatever the run fails with."""

    def backend(place: Place, watched: bool) -> CocotbBackend:
        within = getattr(dut, place.instance) if watched else None
        return CocotbBackend(dut, place.interface, prefix(place.instance), within)

    cocotb.start_soon(heed())
    await bridge(simulate_in_bench)(backend)


async def heed() -> None:
    """Have Ctrl-C end the run, which is in a thread of its own, and leave its report; say in which process.

    Icarus takes such signals for itself, behind the beginning of the simulation.
    """
    await Timer(SETTLE, "ps")
    for number in (signal.SIGINT, *TERMINATIONS):
        signal.signal(number, lambda _number, _frame: interrupt_elsewhere())
    Path(read_order()["process"]).write_text(str(os.getpid()), encoding="utf-8")
