"""Laws of the machine's page: phases and their barrier, slots, the range of a load's latency, waiting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from outerspace_bench import (
    configurations,
    configured,
    operands,
    random_matrix,
    run_outerspace,
    small_operands,
    tiny,
)

from fiberscope.accelerators.memory import observe_requests
from fiberscope.accelerators.outerspace import OuterSpace
from fiberscope.accelerators.outerspace.groups import Groups
from fiberscope.accelerators.testing import cycles, run_to_end
from fiberscope.hw.memory.protocol import READ, READ_BURST, TENSOR_SHIFT, WRITE_BURST

T = 2
ASSIGNED = ("tile", "chip", "flat")


def test_no_access_of_the_merge_comes_before_the_barrier():
    a = random_matrix(80, 80, 900, seed=8)
    machine = OuterSpace(configured(), a, a)
    reads, writes = [], []

    def note(now, operation, address, _tag):
        if address >> TENSOR_SHIFT == T:
            (reads if operation in (READ, READ_BURST) else writes).append(now * 3)  # at 500 MHz of 1.5 GHz

    with observe_requests(machine.channels, note):
        assert machine.kernel.run().complete
    control = machine.control.counters()
    assert max(writes) < control["reconfigured_at"] <= min(reads)
    assert control["reconfigured_at"] - control["multiplied_at"] == 256


@pytest.mark.parametrize("assign", ASSIGNED)
def test_every_element_of_a_is_in_one_group_and_no_group_too_large(assign):
    pointers = np.cumsum([0, 5, 0, 17, 1, 0, 40, 3])
    groups = Groups(pointers, assign, tiles=2, elements=4)
    held = [list(range(begin, end)) for begin, end in zip(groups.starts, groups.ends, strict=True)]
    assert sorted(element for segment in held for element in segment) == list(range(pointers[-1]))
    for column, segment in zip(groups.columns, held, strict=True):
        assert all(pointers[column] <= element < pointers[column + 1] for element in segment)
    sizes = [
        sum(map(len, held[i:j]))
        for i, j in zip(groups.first_segments[:-1], groups.first_segments[1:], strict=True)
    ]
    if assign != "tile":
        assert max(sizes) <= 4
    if assign == "flat":
        assert set(sizes[:-1]) == {4}
    if assign == "chip":
        for group, column in enumerate(groups.columns):
            earlier = sum(1 for other in groups.columns if other < column)
            within = group - earlier
            assert groups.required_groups[group] == earlier + within // 2 * 2


@pytest.mark.parametrize("assign", ASSIGNED)
def test_the_longest_columns_come_first_and_equal_ones_in_order(assign):
    pointers = np.cumsum([0, 5, 0, 17, 1, 0, 40, 3, 5, 1])
    lengths = np.diff(pointers)
    groups = Groups(pointers, assign, tiles=2, elements=4, long_first=True)
    expected = sorted(range(len(lengths)), key=lambda column: -lengths[column])
    if assign == "flat":
        expected = [column for column in expected if lengths[column] > 0]
    assert list(dict.fromkeys(groups.columns)) == expected


def test_columns_ahead_and_long_rows_first_change_the_time_alone():
    a, b = small_operands()
    plain = run_outerspace(tiny(), a, b)
    ways = {"multiply__overlap_pairs": 4}, {"merge__order": "long_first"}, {"multiply__assign": "flat"}
    for settings in ways:
        other = run_outerspace(tiny(**settings), a, b)
        found, expected = other.operations(), plain.operations()
        assert {**found, "spilled_nodes": 0} == {**expected, "spilled_nodes": 0}
        assert cycles(other) != cycles(plain)


def waits_of(machine):
    """Nanoseconds that the merging elements waited for memory."""
    statistics = machine.kernel.statistics()
    mergers = [merger for tile in machine.mergers for merger in tile]
    return sum(statistics[merger.name].input_stall.get("memory_replies", 0) for merger in mergers) / 1.5


def test_a_dependent_access_takes_what_the_paper_says_of_memory_and_no_setting_says_how_long():
    """80 to 150 ns, of which the configuration knows wires and pipelines alone, 24 ns."""
    a = random_matrix(3000, 3000, 15_000, seed=9)
    machine = run_outerspace(configured(), a, a)
    done = machine.operations()
    assert 80 <= waits_of(machine) / (done["multiply"] + done["nodes"]) <= 150


def test_a_merge_waits_once_an_element_and_once_a_header():
    """One row of one list: a head, a header, and every element after the one before."""
    a = random_matrix(1, 1, 1, seed=0)
    a.data[:] = 2.0
    b = random_matrix(1, 40, 40, seed=1)
    machine = run_outerspace(configured(), a, b)
    assert machine.mergers[0][0].elements == 40
    assert 40 <= waits_of(machine) / 41 <= 60  # ns: wires and pipelines 24, a burst of an open row 20


@given(operands(), st.data())
@limits(max_examples=25, deadline=None)
def test_each_byte_of_a_list_is_written_and_read(pair, data):
    """Headers and elements of all sizes lie across bursts and blocks, and are loaded without a cache."""
    element = data.draw(st.sampled_from([12, 24, 40, 56, 64]))
    fixed = {"l0__block": 64, "pe__scratchpad": 384, "merge__element_access": "element"}
    drawn = configurations(format__element=element, **fixed)
    machine = OuterSpace(data.draw(drawn), *pair)
    burst = machine.memory_parameters.burst_bytes
    moved = {True: set(), False: set()}  # bursts, by whether they are read

    def note(_now, operation, address, _tag):
        size = burst if operation in (READ_BURST, WRITE_BURST) else 64
        bursts = range(address // burst, (address // size * size + size) // burst)
        moved[operation in (READ, READ_BURST)].update(bursts)

    with observe_requests(machine.channels, note):
        run_to_end(machine)
    lists, header = machine.lists, machine.parameters.t.header
    for node, address in enumerate(lists.addresses):
        length = header + element * (lists.first[node + 1] - lists.first[node])
        bursts = set(range(address // burst, -(-(address + length) // burst)))
        if length > header:
            assert bursts <= moved[True] & moved[False]
