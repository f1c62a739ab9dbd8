"""Each unit of Gamma's processing element alone: its twin beside it, between random tokens and stalls."""

from dataclasses import replace
from itertools import chain

import pytest
from fiber_streams import STOP_TOKEN
from gamma_units import (
    END_OF_WORK,
    ReaderAdapter,
    Unit,
    UnitAdapter,
    WriterAdapter,
    crossing_machine,
    inputs_of,
    multiplier_pair,
)
from pairs import check_pair

from fiberscope.accelerators.gamma.layout import B_POINTERS, NO_PARENT, PARTIAL, Z
from fiberscope.hw.fibers.tasks_rtl import Element, Tasks, word_of
from fiberscope.hw.memory.protocol import CONSUME, READ, TENSOR_SHIFT, WRITE, WRITE_UNREAD
from fiberscope.hw.rtl.kit.interface import Field
from fiberscope.hw.rtl.kit.memory_port import LINE
from fiberscope.hw.rtl.kit.sram import MEMORY_KINDS

SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 40))]


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 200))]
)
def test_a_multiplier_and_its_channel(seed):
    assert check_pair(multiplier_pair(seed)) > 60


def test_a_word_is_a_value_of_its_field_and_a_whole_zero_has_no_sign():
    whole, double = Field("value", 32, "whole"), Field("value", 64, "float")
    assert [word_of(whole, value) for value in (-0.0, -2.0)] == [0, 2**32 - 2]
    assert word_of(double, -0.0) == 1 << 63
    with pytest.raises(ValueError, match=r"2147483648\.0 is no whole number of 32 bits"):
        word_of(whole, 2.0**31)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_prefetcher(seed):
    unit = Unit("prefetcher", seed, UnitAdapter, (READ,))
    assert check_pair(unit.pair({"tasks": [*unit.numbers, END_OF_WORK]}, ("prefetched",))) > 60
    tasks = Tasks(unit.given.radix, unit.given.value_field)
    handed = [beside for label, task, beside in unit.twin.left if label == "prefetched" and task >= 0]
    for task, beside in zip(unit.tasks, handed, strict=True):
        expected = tasks.bits(inputs_of(unit.machine, task), unit.twin._output(task))
        assert beside["count"] == expected["count"]
        for name in ("sources", "firsts", "ends"):
            assert beside[name] & (1 << 32 * expected["count"]) - 1 == expected[name]
        words = [word_of(tasks.scale, one.scale) for one in inputs_of(unit.machine, task)]
        width = tasks.scale.width
        assert [beside["scales"] >> width * i & (1 << width) - 1 for i in range(len(words))] == words


@pytest.mark.parametrize("row_reads", [2, 16])
@pytest.mark.parametrize("radix", [2, 3, 4, 8])
def test_a_prefetcher_all_of_whose_inputs_have_pointers_in_two_lines_of_their_own(radix, row_reads):
    """As many lines of row pointers in a task as there can be: two an input."""
    unit = Unit("prefetcher", 0, UnitAdapter, (READ,), crossing_machine(radix, row_reads, rows=5))
    assert check_pair(unit.pair({"tasks": [*unit.numbers[:12], END_OF_WORK]}, ("prefetched",))) > 60
    asked = [address for label, address, _beside in unit.twin.left if label == "requests"]
    pointers = [address for address in asked if address >> TENSOR_SHIFT == B_POINTERS]
    assert len(pointers) == 12 * 2 * radix


@pytest.mark.parametrize("memory", MEMORY_KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_reader_with_the_buffers_of_its_ways(seed, memory):
    unit = Unit("reader", seed, ReaderAdapter, (READ, CONSUME))
    unit.given = replace(unit.given, memory=memory)
    for task in range(unit.machine.table.count):
        unit.find(task)
    ways = tuple(f"ways[{i}]" for i in range(unit.given.radix))
    assert check_pair(unit.pair({"tasks": [*unit.numbers, END_OF_WORK]}, (*ways, "output_tasks"))) > 60


@pytest.mark.parametrize("seed", SEEDS)
def test_a_writer(seed):
    unit = Unit("writer", seed, WriterAdapter, (WRITE, WRITE_UNREAD))
    fibers = unit.fibers()
    elements = [[*((0, place, 0, value) for place, value in fiber), STOP_TOKEN] for fiber in fibers]
    inputs = {"output_tasks": [*unit.numbers, END_OF_WORK], "elements": [*chain(*elements)]}
    assert check_pair(unit.pair(inputs, ("completions",))) > 60
    written = {PARTIAL: [], Z: []}
    for label, address, beside in unit.twin.left:
        if label == "requests":
            written[address >> TENSOR_SHIFT] += unit.given.elements.unpacked(beside[LINE])
    count, expected = unit.given.elements.count, {PARTIAL: [], Z: []}
    for task, fiber in zip(unit.tasks, fibers, strict=True):
        of_partial = unit.machine.table.parents[task] != NO_PARENT
        lines = expected[PARTIAL if of_partial else Z]
        lines += [Element(*element) for element in fiber]
        lines += [Element(0, 0.0)] * (-len(lines) % count if of_partial else 0)
    expected[Z] += [Element(0, 0.0)] * (-len(expected[Z]) % count)
    assert written == expected
