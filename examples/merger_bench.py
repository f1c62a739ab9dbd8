"""A cocotb bench of a merger, as anyone would write it: it knows the ports and nothing of Fiberscope.

make cosim BENCH=examples/merger_bench.py BLOCK=merger SET="radix=4" DUT=both
"""

import random
from itertools import chain

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

RADIX = 4


class Sender:
    """Offers items at a stream, with pauses; an item is a value for each of the stream's wires."""

    def __init__(self, dut, stream, pauses):
        self.dut, self.stream, self.pauses = dut, stream, pauses
        self.handle("valid").value = 0

    def handle(self, wire):
        return getattr(self.dut, f"{self.stream}_{wire}")

    async def send(self, items):
        for item in items:
            while self.pauses.random() < 0.3:
                await RisingEdge(self.dut.clk)
            self.handle("valid").value = 1
            for wire, bits in item.items():
                self.handle(wire).value = bits
            await RisingEdge(self.dut.clk)
            while not int(self.handle("ready").value):
                await RisingEdge(self.dut.clk)
            self.handle("valid").value = 0


async def received(dut, fibers, pauses):
    """The coordinates of so many merged fibers; ready waits for valid, as a sink is allowed to."""
    merged: list[list[int]] = []
    fiber: list[int] = []
    dut.merged_ready.value = 0
    while len(merged) < fibers:
        await RisingEdge(dut.clk)
        if int(dut.merged_valid.value) and int(dut.merged_ready.value):
            if int(dut.merged_control.value):
                merged.append(fiber)
                fiber = []
            else:
                fiber.append(int(dut.merged_coordinate.value))
        dut.merged_ready.value = int(dut.merged_valid.value) and int(pauses.random() < 0.6)
    return merged


@cocotb.test()
async def fibers_leave_in_order(dut):
    draw = random.Random(1)
    cocotb.start_soon(Clock(dut.clk, 1, unit="ns").start())
    ways = [Sender(dut, f"ways_{i}", draw) for i in range(RADIX)]
    tasks = Sender(dut, "tasks", draw)
    dut.merged_ready.value = 0
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    fibers = [[sorted(draw.sample(range(1000), draw.randrange(8))) for _ in ways] for _ in range(5)]
    cocotb.start_soon(tasks.send({"coordinate": RADIX} for _ in fibers))
    for i, way in enumerate(ways):
        elements = [
            {"control": stop, "coordinate": coordinate, "reference": i, "value": 0}
            for inputs in fibers
            for stop, coordinate in [*((0, coordinate) for coordinate in inputs[i]), (1, 0)]
        ]
        cocotb.start_soon(way.send(elements))
    assert await received(dut, len(fibers), draw) == [sorted(chain(*inputs)) for inputs in fibers]
