"""The cocotb test of a cosimulation in an HDL simulator, with a whole machine as one module.

``fiberscope.rtl.machine_module.run_in_hdl`` starts the simulator with this module.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import cocotb
from cocotb.task import bridge

from fiberscope.hw.rtl.kit.composition import Composition
from fiberscope.hw.rtl.tools.cocotb_backend import CocotbBackend
from fiberscope.hw.rtl.tools.harness import prefix
from fiberscope.rtl.cosim_bench import install_interrupt_handlers
from fiberscope.rtl.cosim_runs import run_in_bench
from fiberscope.rtl.machine_module import run_with


@cocotb.test()
async def the_machine_runs_as_a_module(dut: Any) -> None:  # noqa: ANN401  (cocotb's handles)
    """Run the accelerator in a thread of its own; the test fails with the error of the run."""

    def backend(composition: Composition) -> CocotbBackend:
        return CocotbBackend(dut, composition.interface(), prefix(composition.module))

    cocotb.start_soon(install_interrupt_handlers())
    await bridge(run_in_bench)(partial(run_with, backend=backend))
