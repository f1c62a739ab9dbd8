"""Whole OuterSPACEs on small matrices: product, operations and traffic, all exact."""

import numpy as np
import pytest
from hypothesis import given
from outerspace_bench import (
    TINY,
    configurations,
    configured,
    operands,
    random_matrix,
    run_outerspace,
    small_operands,
    tiny,
)
from outerspace_checks import burst_of, check_all, counters_of
from outerspace_model import counts, moved_of_t, swaps
from scipy import sparse

import fiberscope


@given(operands(), configurations())
def test_any_machine_on_any_matrices(pair, parameters):
    check_all(run_outerspace(parameters, *pair), *pair)


def test_the_worked_example_of_swaps():
    assert swaps([[1, 4], [2, 4], [2, 3]]) == 12


@pytest.mark.parametrize("shape", [(0, 0, 0), (0, 5, 3), (4, 0, 3), (4, 5, 0), (1, 1, 1)])
def test_the_smallest_shapes(shape):
    m, k, n = shape
    a, b = random_matrix(m, k, min(m * k, 1)), random_matrix(k, n, min(k * n, 1))
    check_all(run_outerspace(tiny(), a, b), a, b)


def test_as_shipped():
    a = random_matrix(60, 60, 400, seed=3)
    check_all(run_outerspace(configured(), a, a), a, a)


def test_sums_are_those_in_the_order_of_k_whatever_the_order_of_the_lists():
    """The tiles link their nodes as they come, which differs with the machine; no bit of the sums does."""
    a, b = random_matrix(20, 40, 300, seed=5), random_matrix(40, 20, 300, seed=6)
    for matrix in (a, b):
        matrix.data[:] = [0.1 * (i % 7) + 1e-3 * i for i in range(len(matrix.data))]
    found = [run_outerspace(tiny(multiply__assign=way), a, b) for way in ("tile", "chip", "flat")]
    assert len({machine.result().data.tobytes() for machine in found}) == 1
    orders = [list(machine.lists.following) for machine in found]
    assert orders[0] != orders[1] or orders[1] != orders[2]


def test_heads_that_the_scratchpad_does_not_hold_are_walked_in_memory():
    a, b = small_operands()
    spilled, held = (run_outerspace(tiny(merge__max_lists=lists), a, b) for lists in (2, 64))
    for machine in (spilled, held):
        check_all(machine, a, b)
    walked = [
        sum(merger.spill_blocks for merger in machine._all(machine.mergers)) for machine in (spilled, held)
    ]
    assert walked[0] > walked[1] == 0


def test_nodes_spill_where_areas_are_full_or_none():
    a, b = small_operands()
    never, always = (run_outerspace(tiny(alloc__alpha=alpha), a, b) for alpha in (100, 0))
    nodes = counts(a, b).nodes
    assert never.operations()["spilled_nodes"] == 0
    assert always.operations()["spilled_nodes"] == nodes
    places = [sorted(machine.lists.addresses) for machine in (never, always)]
    assert all(len(set(found)) >= nodes for found in places)


def test_the_report_tells_what_is_useful():
    report = fiberscope.simulate("outerspace", *small_operands(), settings=TINY)
    assert report.verification.passed
    assert "useful" in report.summary()
    assert "waiting for input" in report.bottleneck
    assert "that a merger has to wait for takes it" in report.bottleneck
    assert report.traffic["T"].useful_bytes < report.traffic["T"].read_bytes + report.traffic["T"].write_bytes


EACH_BY_ITSELF = {
    "t__node_align": 64,
    "l0__block": 64,
    "merge__element_access": "element",
    "merge__max_lists": 100,
}


@given(operands(), configurations(**EACH_BY_ITSELF))
def test_bytes_of_t_are_those_of_its_nodes(pair, parameters):
    machine = run_outerspace(parameters, *pair)
    spilled = machine.operations()["spilled_nodes"]
    moved = machine.traffic()["T"]
    expected = moved_of_t(*pair, parameters.t.header, 64, burst_of(machine), spilled)
    assert (moved.read_bytes, moved.write_bytes) == expected


@pytest.mark.parametrize(
    ("alpha", "spilled"), [(1.0, 0), (0.875, 1), (0.84, 2), (0.5, 4), (0.125, 7), (0.09, 8)]
)
def test_an_area_of_exactly_so_many_nodes_holds_them(alpha, spilled):
    """A row of eight lists of two products: nodes of 8 + 2 x 12 = 32 bytes, and room for alpha x 8."""
    a, b = sparse.csr_array(np.ones((1, 8))), sparse.csr_array(np.ones((8, 2)))
    machine = run_outerspace(tiny(alloc__alpha=alpha), a, b)
    check_all(machine, a, b)
    assert machine.operations()["spilled_nodes"] == spilled
    assert counters_of(machine, "linker", "spilled_bytes") == [32 * spilled]


@pytest.mark.parametrize(
    ("lists", "held", "blocks"), [(3, 1, 2 + 2), (3, 2, 1 + 1), (3, 3, 0), (12, 2, 6 * 1 + 4 * 2 + 10)]
)
def test_a_long_rows_heads_are_walked_on_their_way_to_memory_and_back(lists, held, blocks):
    """A row of lists of one product, each behind those before.

    A head at place p goes past those of (p - held) x 12 bytes and into the block behind; each that leaves
    while as many are left as the scratchpad holds has one block come back.
    """
    a, b = sparse.csr_array(np.ones((1, lists))), sparse.csr_array(np.eye(lists))
    machine = run_outerspace(tiny(merge__max_lists=held), a, b)
    check_all(machine, a, b)
    assert sum(counters_of(machine, "merger", "spill_blocks")) == blocks


@pytest.mark.parametrize("access", ["element", "block"])
def test_a_header_may_take_more_loads_than_may_be_outstanding(access):
    a, b = small_operands()
    narrow = {"l0__block": 16, "memory__interleave": 16, "t__header": 64}
    machine = run_outerspace(tiny(pe__outstanding=2, merge__element_access=access, **narrow), a, b)
    check_all(machine, a, b)


def test_replies_are_taken_whatever_waits_to_be_sent():
    """More nodes under way than memory and networks hold: a linker that waits to write would hold up all."""
    a = random_matrix(60, 60, 900, seed=7)
    small = {"memory__simple_queue": 2, "memory__channels": 1, "network__queue": 2, "tile__pe": 16}
    check_all(run_outerspace(tiny(alloc__slots=256, pe__outstanding=16, **small), a, a), a, a)
