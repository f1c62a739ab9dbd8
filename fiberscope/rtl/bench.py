"""The cocotb test that runs in an HDL simulator with blocks in the loop; see ``fiberscope.rtl.runs``."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.task import bridge

from fiberscope.hw.rtl.tools.cocotb_backend import CocotbBackend
from fiberscope.hw.rtl.tools.harness import prefix
from fiberscope.rtl.places import Place
from fiberscope.rtl.runs import simulate_in_bench


@cocotb.test()
async def the_accelerator_runs_with_the_modules_in_it(dut: Any) -> None:  # noqa: ANN401  (cocotb's handles)
    """Fails with whatever the run fails with."""

    def backend(place: Place, watched: bool) -> CocotbBackend:
        within = getattr(dut, place.instance) if watched else None
        return CocotbBackend(dut, place.interface, prefix(place.instance), within)

    await bridge(simulate_in_bench)(backend)
