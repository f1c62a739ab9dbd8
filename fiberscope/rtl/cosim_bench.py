"""The cocotb test of a cosimulation in an HDL simulator.

``fiberscope.rtl.cosim_runs.run_in_hdl`` starts the simulator with this module. The test runs the accelerator,
whose replaced components drive the RTL modules of the simulator.
"""

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
from fiberscope.rtl.substitution import Replacement
from fiberscope.sim.interrupt import TERMINATIONS, interrupt_elsewhere


@cocotb.test()
async def the_accelerator_runs_with_the_modules_in_it(dut: Any) -> None:  # noqa: ANN401  (cocotb's handles)
    """Run the accelerator in a thread of its own; the test fails with the error of the run."""

    def backend(replacement: Replacement, watched: bool) -> CocotbBackend:
        instance = getattr(dut, replacement.instance) if watched else None
        return CocotbBackend(dut, replacement.interface, prefix(replacement.instance), instance)

    cocotb.start_soon(install_interrupt_handlers())
    await bridge(simulate_in_bench)(backend)


async def install_interrupt_handlers() -> None:
    """Install signal handlers that end the run early, and publish the number of this process.

    The handlers serve Ctrl-C and termination signals. They end the run, which is in another thread and then
    writes its report. The bench's file ``process`` gets the process number, to which the parent process sends
    the signal.

    Icarus installs its own handlers at the beginning of the simulation. This coroutine therefore waits until
    the simulation has begun, and replaces them.
    """
    await Timer(SETTLE, "ps")
    for number in (signal.SIGINT, *TERMINATIONS):
        signal.signal(number, lambda _number, _frame: interrupt_elsewhere())
    Path(read_order()["process"]).write_text(str(os.getpid()), encoding="utf-8")
