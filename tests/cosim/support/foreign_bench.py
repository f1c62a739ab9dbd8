"""A cocotb test, run by ``test_foreign.py``: a composition with foreign Verilog, beside its model."""

from functools import partial

import cocotb
from cocotb.task import bridge
from dot_pair import GIVEN, dot_pair
from foreign_multiplier import compose
from pairs import check_pair

from fiberscope.hw.rtl.tools.cocotb_backend import CocotbBackend


@cocotb.test()
async def the_verilog_is_the_model(dut):
    backend = partial(CocotbBackend, dut, compose(GIVEN).interface())
    for seed in range(3):
        assert await bridge(check_pair)(dot_pair(seed, backend)) > 60
