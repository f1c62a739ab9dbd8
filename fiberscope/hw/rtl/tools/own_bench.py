"""A user's cocotb tests on a block, on its RTL or on its event model, in an HDL simulator.

``fiberscope.rtl.user_bench.run_block_bench`` starts the simulator with this module.
"""

from __future__ import annotations

import functools
from importlib import import_module

from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.model import Model
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.hw.rtl.tools.hdl import read_order
from fiberscope.hw.rtl.tools.user_tests import Accompanied

ORDER = read_order()  # parameters of the bench, as ``run_block_bench`` wrote them
BLOCK = next(  # the catalogue loads every block
    value
    for value in vars(import_module(ORDER["module"])).values()
    if isinstance(value, RtlBlock) and value.name == ORDER["block"]
)
PARAMETERS = BLOCK.parameters(**ORDER["parameters"])
REGISTERED = registered(BLOCK, inputs=True)
INTERFACE = REGISTERED.interface(PARAMETERS)


def _model() -> Model:
    """Create the event model of the block, between channels at all its ports."""
    assert BLOCK.component is not None, "the order is for a block that is one component"
    return Model(INTERFACE.streams, functools.partial(BLOCK.component, parameters=PARAMETERS))


MODEL = _model if ORDER["model"] else None
# cocotb finds tests in this module
globals().update(Accompanied(ORDER, INTERFACE, MODEL, REGISTERED.adapter.protocol_checker).tests())
