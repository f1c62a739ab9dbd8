"""cocotb tests, run by ``test_blocks.py``: a module beside its component, given the same streams."""

from functools import partial

import cocotb
from cocotb.task import bridge
from pairs import check_pair
from scenarios import LARGE, SCENARIOS

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.tools.cocotb_backend import CocotbBackend
from fiberscope.hw.rtl.tools.hdl import read_order


@cocotb.test()
async def the_module_is_the_component(dut):
    order = read_order()
    block = BLOCKS[order["block"]]
    parameters = block.parameters(**order["parameters"])
    backend = partial(CocotbBackend, dut, block.interface(parameters))
    scenario = (LARGE if order["large"] else SCENARIOS)[block.name]
    for seed in order["seeds"]:
        cycles = await bridge(check_pair)(scenario.pair(seed, parameters, backend))
        assert cycles > 0
