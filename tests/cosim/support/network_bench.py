"""A bench as a user would write it: vectors with holes into an adder network, by pins."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

LEAVES, ID_BITS, OPERAND_BITS, SUM_BITS = 8, 8, 16, 19


def packed(numbers, bits):
    return sum((number & (1 << bits) - 1) << bits * lane for lane, number in enumerate(numbers))


def lanes(value, bits):
    text = str(value)
    return [text[len(text) - bits * (lane + 1) : len(text) - bits * lane] for lane in range(LEAVES)]


@cocotb.test()
async def sums_of_neurons(dut):
    draw = random.Random(2)
    cocotb.start_soon(Clock(dut.clk, 1, unit="ns").start())
    dut.rst.value, dut.leaves_valid.value, dut.sums_ready.value = 1, 0, 1
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    expected, found = [], []
    for _ in range(12):
        mask = [int(draw.random() < 0.6) for _ in range(LEAVES)]
        ids = [lane // 3 for lane in range(LEAVES)]
        operands = [draw.randrange(-100, 100) for _ in range(LEAVES)]
        dut.leaves_mask.value = packed(mask, 1)
        dut.leaves_coordinate.value = packed(ids, ID_BITS)
        dut.leaves_value.value = packed(operands, OPERAND_BITS)
        dut.leaves_valid.value = 1
        expected += [sum(operand for operand, there in zip(operands, mask, strict=True) if there)]
        await RisingEdge(dut.clk)
        found += sums(dut)
        while not int(dut.leaves_ready.value):
            await RisingEdge(dut.clk)
            found += sums(dut)
    dut.leaves_valid.value = 0
    for _ in range(20):
        await RisingEdge(dut.clk)
        found += sums(dut)
    assert found == expected


def sums(dut):
    """The total of the row that leaves at this edge, in a list; empty if none does."""
    if not (int(dut.sums_valid.value) and int(dut.sums_ready.value)):
        return []
    mask, values = str(dut.sums_mask.value)[::-1], lanes(dut.sums_value.value, SUM_BITS)
    sign = 1 << SUM_BITS - 1
    return [
        sum((int(value, 2) ^ sign) - sign for value, there in zip(values, mask, strict=True) if there == "1")
    ]
