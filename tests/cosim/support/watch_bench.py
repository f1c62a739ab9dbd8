"""A bench of one's own on a channel, which watches the protocol."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from fiberscope.rtl.protocol_watch import watch_protocol


@cocotb.test()
async def a_token_waits(dut):
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    cocotb.start_soon(watch_protocol(dut, "channel", "capacity=2"))
    dut.rst.value, dut.in_valid.value, dut.out_ready.value = 1, 0, 0
    for name in ("control", "coordinate", "reference", "value"):
        getattr(dut, f"in_{name}").value = 0
    for _ in range(2):
        await RisingEdge(dut.clk)
    dut.rst.value, dut.in_valid.value = 0, 1
    for _ in range(8):
        await RisingEdge(dut.clk)
