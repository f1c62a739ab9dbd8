"""cocotb tests, one a block: a module beside its component, given the same streams."""

from functools import partial

import cocotb
from cocotb.task import bridge
from pairs import check_pair
from scenarios import LARGE, SCENARIOS

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.tools.cocotb_backend import CocotbBackend
from fiberscope.hw.rtl.tools.hdl import read_order

ORDER = read_order()


def test_of(name, given):
    block = BLOCKS[name]
    parameters = block.parameters(**given)
    scenario = (LARGE if ORDER["large"] else SCENARIOS)[name]

    @cocotb.test(name=name)
    async def the_module_is_the_component(dut):
        prefix = ORDER["prefixes"].get(name, "")
        backend = partial(CocotbBackend, dut, block.interface(parameters), prefix)
        for seed in ORDER["seeds"]:
            cycles = await bridge(check_pair)(scenario.pair(seed, parameters, backend))
            assert cycles > 0

    return the_module_is_the_component


globals().update({name: test_of(name, given) for name, given in ORDER["blocks"].items()})
