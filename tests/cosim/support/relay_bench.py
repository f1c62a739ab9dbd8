"""cocotb tests of the relays: in a loop, and by pins, as a bench of one's own drives them."""

import json
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.task import bridge
from cocotb.triggers import RisingEdge
from relays import FAULTS, TOKENS, RelayAdapter, interface, loop

from fiberscope.hw.rtl.tools.cocotb_backend import CocotbBackend
from fiberscope.hw.rtl.tools.harness import prefix
from fiberscope.hw.rtl.tools.hdl import read_order
from fiberscope.hw.rtl.tools.port_monitor import PortMonitor

FOUND = Path(read_order()["found"])
READY = (0, 0, 3, 3, 0, 1, 3, 3)  # lanes that are ready, cycle by cycle


async def driven(dut, name):
    """What the monitor finds while the tokens are driven by hand."""

    def pin(wire):
        return getattr(dut, prefix(name) + wire)

    monitor = PortMonitor(dut, interface(name), RelayAdapter.protocol_checker, prefix(name))

    async def watch():
        async for _cycle in monitor.cycles():
            pass

    clock = Clock(pin("clk"), 2, unit="ns").start()
    cocotb.start_soon(watch())
    pin("rst").value, pin("in_valid").value = 1, 0
    for _ in range(2):
        await RisingEdge(pin("clk"))
    pin("rst").value = 0
    left = list(TOKENS)
    for cycle in range(60):
        lanes = READY[cycle % len(READY)]
        pin("out_ready").value, pin("out_lane_1_ready").value = lanes & 1, lanes >> 1
        pin("in_valid").value = bool(left)
        if left:
            pin("in_control").value, pin("in_coordinate").value = left[0][:2]
        await RisingEdge(pin("clk"))
        if left and str(pin("in_ready").value) == "1":
            del left[0]
    clock.cancel()
    return monitor.violation


@cocotb.test()
async def each_fault_is_named(dut):
    found = {name: [] for name in FAULTS}
    for name in FAULTS:
        found[name].append(await driven(dut, name))
    for name in FAULTS:
        backend = await bridge(lambda name=name: CocotbBackend(dut, interface(name), prefix(name)))()
        found[name].append(await bridge(loop)(name, backend))
    FOUND.write_text(json.dumps(found))
