"""The cocotb test that runs in an HDL simulator with blocks in the loop; see ``fiberscope.rtl.loop``."""

from __future__ import annotations

from functools import partial
from typing import Any

import cocotb
from cocotb.task import bridge

from fiberscope.rtl.loop import simulate_in_bench
from hw.rtl.tools.cocotb_backend import CocotbBackend


@cocotb.test()
async def the_accelerator_runs_with_the_modules_in_it(dut: Any) -> None:  # noqa: ANN401  (cocotb's handles)
    """Fails with whatever the run fails with."""
    await bridge(simulate_in_bench)(partial(CocotbBackend, dut))
