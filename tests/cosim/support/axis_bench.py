"""cocotb tests of a merger with ports of AXI4-Stream, by the bus models of cocotbext-axi."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from fiberscope.hw.rtl.tools.hdl import read_order

ELEMENT = 21  # bytes of a token: control, coordinate (32), reference (64) and value (64), filled up


def token(control, coordinate, reference):
    return (control | coordinate << 1 | reference << 33).to_bytes(ELEMENT, "little")


@cocotb.test()
async def fibers_are_packets(dut):
    radix = read_order()["radix"]
    cocotb.start_soon(Clock(dut.aclk, 1, unit="ns").start())

    def port(kind, prefix):
        return kind(AxiStreamBus.from_prefix(dut, prefix), dut.aclk, dut.aresetn, reset_active_level=False)

    ways = [port(AxiStreamSource, f"ways_{i}") for i in range(radix)]
    tasks, merged = port(AxiStreamSource, "tasks"), port(AxiStreamSink, "merged")
    draw = random.Random(7)
    for end in (*ways, tasks, merged):
        end.set_pause_generator(draw.random() < 0.4 for _ in iter(int, 1))
    dut.aresetn.value = 0
    for _ in range(4):
        await RisingEdge(dut.aclk)
    dut.aresetn.value = 1
    for _ in range(6):
        fibers = [sorted(draw.sample(range(1 << 32), draw.randrange(6))) for _ in ways]
        await tasks.send(AxiStreamFrame(bytes([radix])))
        for i, (way, fiber) in enumerate(zip(ways, fibers, strict=True)):
            await way.send(b"".join([*(token(0, coordinate, i) for coordinate in fiber), token(1, 0, 0)]))
        frame = await merged.recv()
        found = [frame.tdata[start : start + ELEMENT] for start in range(0, len(frame.tdata), ELEMENT)]
        expected = sorted((coordinate, i) for i, fiber in enumerate(fibers) for coordinate in fiber)
        assert found == [token(0, *element) for element in expected] + [token(1, 0, 0)]
