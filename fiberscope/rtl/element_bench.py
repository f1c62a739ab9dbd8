"""The cocotb test that compares an exported instance with its machine in an HDL simulator.

``fiberscope.rtl.element_export.check_element`` starts the simulator with this module.
"""

from __future__ import annotations

from contextlib import chdir
from typing import Any

import cocotb
from cocotb.task import bridge

from fiberscope.hw.rtl.tools.cocotb_backend import CocotbBackend
from fiberscope.hw.rtl.tools.hdl import read_order
from fiberscope.rtl.element_export import ElementRequest


@cocotb.test()
async def the_module_is_the_instance(dut: Any) -> None:  # noqa: ANN401  (cocotb's handles)
    """Fail if a token of a stream of the module, or its cycle, differs from that in the machine."""
    bench_order = read_order()
    order = ElementRequest(**bench_order["order"])
    with chdir(bench_order["here"]):  # relative paths of tensors
        leaf = order.leaf
    ports = leaf.verilog.composition.without_status().interface()

    def compare() -> Any:  # noqa: ANN401  (cocotb's bridge)
        return order.differences(lambda _leaf: CocotbBackend(dut, ports, within=dut))

    assert not await bridge(compare)()
