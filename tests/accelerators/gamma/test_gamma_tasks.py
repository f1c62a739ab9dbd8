"""The task table and the store of partial fibers, by their properties."""

import gamma_model as model
import numpy as np
import pytest
from gamma_bench import csr, operands
from hypothesis import assume, given
from hypothesis import strategies as st

from fiberscope.accelerators.gamma.layout import NO_PARENT
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.partials import PartialStore

LENGTHS = st.lists(st.one_of(st.integers(0, 6), st.integers(0, 120)), max_size=12)
RADIX = st.integers(2, 9)


def table_of(lengths, radix):
    return TaskTable(np.cumsum([0, *lengths]), radix)


def inputs_of(table, task):
    return list(table.inputs[table.first_inputs[task] : table.first_inputs[task + 1]])


def tasks_of(table, row):
    return [task for task in range(table.count) if table.rows[task] == row]


def depths(table, tasks):
    """Steps from each task to its root."""
    found = {}
    for task in reversed(tasks):
        parent = table.parents[task]
        found[task] = 0 if parent == NO_PARENT else found[parent] + 1
    return found


@given(LENGTHS, RADIX)
def test_every_nonzero_is_an_input_once_and_of_a_task_of_its_row(lengths, radix):
    table = table_of(lengths, radix)
    rows = np.repeat(np.arange(len(lengths)), lengths).tolist()
    found = [(source, table.rows[t]) for t in range(table.count) for source in inputs_of(table, t)]
    assert sorted(pair for pair in found if pair[0] >= 0) == list(enumerate(rows))


@given(LENGTHS, RADIX)
def test_no_task_is_empty_or_above_the_radix(lengths, radix):
    table = table_of(lengths, radix)
    assert all(1 <= len(inputs_of(table, task)) <= radix for task in range(table.count))


@given(LENGTHS, RADIX)
def test_a_row_has_as_few_tasks_as_can_be(lengths, radix):
    table = table_of(lengths, radix)
    expected = [0 if n == 0 else max(1, -(-(n - 1) // (radix - 1))) for n in lengths]
    assert [len(tasks_of(table, row)) for row in range(len(lengths))] == expected


@given(LENGTHS, RADIX)
def test_parents_children_and_order(lengths, radix):
    """Each partial fiber is an input of its parent, once, and stands before it; a row has one root."""
    table = table_of(lengths, radix)
    children = {-1 - source: t for t in range(table.count) for source in inputs_of(table, t) if source < 0}
    assert children == {t: table.parents[t] for t in range(table.count) if table.parents[t] != NO_PARENT}
    assert all(child < parent for child, parent in children.items())
    assert list(table.missing) == [list(children.values()).count(task) for task in range(table.count)]
    assert sum(source < 0 for source in table.inputs) == len(children)
    assert list(table.rows) == sorted(table.rows)
    for row, length in enumerate(lengths):
        roots = [task for task in tasks_of(table, row) if table.parents[task] == NO_PARENT]
        assert len(roots) == min(length, 1)


@given(LENGTHS, RADIX)
def test_trees_are_full_near_the_root_and_balanced(lengths, radix):
    """All tasks but the first of a tree are full, and its leaves lie within one level of one another."""
    table = table_of(lengths, radix)
    trees = [row for row, length in enumerate(lengths) if length > radix]
    assume(trees)
    for row in trees:
        tasks = tasks_of(table, row)
        assert all(len(inputs_of(table, task)) == radix for task in tasks[1:])
        levels = depths(table, tasks)
        nonzeros = [levels[t] for t in tasks for source in inputs_of(table, t) if source >= 0]
        assert max(nonzeros) - min(nonzeros) <= 1


@given(LENGTHS, RADIX)
def test_the_last_nonzero_that_a_task_needs(lengths, radix):
    table = table_of(lengths, radix)
    assert list(table.last_nonzeros) == [max(inputs_of(table, task)) for task in range(table.count)]


@given(operands(), RADIX)
def test_the_tasks_are_those_of_the_plain_model(pair, radix):
    a, b = pair
    table = TaskTable(a.indptr.astype(np.int64), radix)
    expected = model.combinations(a, b, radix)
    places = {id(task): place for place, task in enumerate(expected)}
    assert [inputs_of(table, task) for task in range(table.count)] == [
        [*task.nonzeros, *(-1 - places[id(child)] for child in task.children)] for task in expected
    ]
    assert list(table.rows) == [task.row for task in expected]


def test_an_example():
    """7 fibers at radix 3: the first task takes 3, and what comes out goes with the last of them."""
    table = table_of([7], 3)
    assert [inputs_of(table, task) for task in range(table.count)] == [[0, 1, 2], [3, 4, 5], [6, -1, -2]]
    assert list(table.parents) == [2, 2, NO_PARENT]


def test_planted_a_model_of_another_radix_is_found_out():
    a, b = csr([dict.fromkeys(range(9), 1.0)], 9), csr([{}] * 9, 1)
    assert TaskTable(a.indptr.astype(np.int64), 3).count != len(model.combinations(a, b, 4))


SIZES = st.tuples(st.sampled_from([16, 32, 64, 128]), st.sampled_from([4, 8, 12, 16]))
# A positive number allocates that many elements, 0 releases one of the fibers that live.
REQUESTS = st.lists(st.one_of(st.just(0), st.integers(1, 200)), max_size=60)


@given(SIZES, REQUESTS, st.randoms(use_true_random=False))
def test_live_fibers_never_overlap_and_start_at_a_line(sizes, requests, random):
    line, element = sizes
    store = PartialStore(line, element)
    live = {}
    for request in requests:
        if request:
            start = store.allocate(request)
            assert start * element % line == 0
            lines = set(range(start * element // line, -(-(start + request) * element // line)))
            assert all(lines.isdisjoint(others) for _count, others in live.values())
            assert start + request <= len(store.values) == len(store.coordinates)
            live[start] = (request, lines)
        elif live:
            start = random.choice(sorted(live))
            store.release(start, live.pop(start)[0])
    assert sum(len(lines) for _count, lines in live.values()) * line <= store.used * element


@given(SIZES, st.integers(0, 200))
def test_released_space_is_used_again(sizes, elements):
    store = PartialStore(*sizes)
    starts = [store.allocate(elements) for _ in range(3)]
    used = store.used
    for start in starts:
        store.release(start, elements)
    assert {store.allocate(elements) for _ in range(3)} == set(starts)
    assert store.used == used


def test_what_was_stored_survives_growth():
    store = PartialStore(64, 12)
    start = store.allocate(3)
    store.coordinates[start], store.values[start] = 7, 0.5
    store.allocate(10_000)
    assert (store.coordinates[start], store.values[start]) == (7, 0.5)


@pytest.mark.parametrize(
    ("line", "element", "granule"), [(64, 12, 16), (64, 16, 4), (16, 12, 4), (64, 64, 1)]
)
def test_a_fiber_takes_whole_lines(line, element, granule):
    store = PartialStore(line, element)
    assert store.allocate(1) == 0
    assert store.allocate(1) == granule
