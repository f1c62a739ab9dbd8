"""A cocotb bench that is the memory of a whole machine: it knows the ports and nothing of Fiberscope.

make cosim BENCH=examples/memory_bench.py BLOCK=gamma DUT=gamma MTX=uniform:rows=20,cols=20,nonzeros=60 \
    SET="pe.count=2 pe.radix=4 memory.channels=2"
"""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

CHANNELS = 2
LATENCY = 40  # cycles
READ = 0  # of the operations, the one that is answered


class Memory:
    """Takes a request in every cycle and answers reads in their order, each after the latency."""

    def __init__(self, dut, channel):
        self.dut, self.channel = dut, channel
        self.reads = []  # cycle of the answer, and what it says
        self.requests = 0

    def handle(self, stream, wire):
        return getattr(self.dut, f"memory_{stream}_{self.channel}_{wire}")

    async def serve(self):
        ready, valid = self.handle("requests", "ready"), self.handle("replies", "valid")
        ready.value, valid.value, cycle = 1, 0, 0
        while True:
            await RisingEdge(self.dut.clk)
            cycle += 1
            if int(self.handle("requests", "valid").value):
                self.requests += 1
                if int(self.handle("requests", "control").value) == READ:
                    line = [
                        int(self.handle("requests", wire).value)
                        for wire in ("control", "coordinate", "reference")
                    ]
                    self.reads.append((cycle + LATENCY, line))
            if int(valid.value) and int(self.handle("replies", "ready").value):
                del self.reads[0]
            due = bool(self.reads) and self.reads[0][0] <= cycle
            valid.value = int(due)
            if due:
                for wire, bits in zip(("control", "coordinate", "reference"), self.reads[0][1], strict=True):
                    self.handle("replies", wire).value = bits


@cocotb.test()
async def the_machine_comes_to_its_end(dut):
    cocotb.start_soon(Clock(dut.clk, 1, unit="ns").start())
    dut.rst.value = 1
    memories = [Memory(dut, channel) for channel in range(CHANNELS)]
    for memory in memories:
        memory.handle("requests", "ready").value = 0
        memory.handle("replies", "valid").value = 0
    for _ in range(2):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    for memory in memories:
        cocotb.start_soon(memory.serve())
    for _ in range(50_000):
        await RisingEdge(dut.clk)
        if int(dut.done.value):
            break
    assert int(dut.done.value)
    assert all(memory.requests for memory in memories)
