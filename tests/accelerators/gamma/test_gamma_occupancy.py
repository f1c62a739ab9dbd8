"""What partial fibers take of the FiberCache, and which leaves have room beside them."""

import numpy as np
import pytest
from gamma_bench import counted, csr, run_gamma, stored, tiny
from gamma_checks import check_all
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.accelerators.gamma.layout import NO_PARENT, Sizes
from fiberscope.accelerators.gamma.occupancy import PartialOccupancy
from fiberscope.accelerators.gamma.tasks import TaskTable

SIZES = Sizes(line_bytes=64, element_bytes=12, pointer_bytes=4)
LENGTH = 10  # elements of every row of B: 120 bytes, 2 lines


def occupancy(lengths, room, columns=1000):
    """Of a machine of radix 3 for rows of A with so many nonzeros each, all of them in the first columns."""
    a = csr([dict.fromkeys(range(length), 1.0) for length in lengths], max(lengths, default=0))
    b = csr([dict.fromkeys(range(LENGTH), 1.0)] * a.shape[1], columns)
    table = TaskTable(a.indptr.astype(np.int64), 3)
    return table, PartialOccupancy(table, stored(a), stored(b), columns, room, SIZES)


def test_an_example():
    """Rows of 5, 1 and 5 nonzeros: a leaf of 3, a root of the other 2 and the leaf's fiber; twice."""
    table, state = occupancy([5, 1, 5], room=12)
    leaf, root, short, other_leaf, other_root = range(table.count)
    assert list(table.parents) == [root, NO_PARENT, NO_PARENT, other_root, NO_PARENT]
    assert state.admits(leaf)
    state.reserve(leaf)
    assert (state.largest_length(leaf), state.lines) == (30, 6)  # 360 bytes
    assert state.admits(short)
    assert state.admits(other_leaf)  # 12 lines just fit
    table.output_lengths[leaf] = 11
    state.complete(leaf)
    assert state.lines == 3  # 132 bytes
    state.reserve(other_leaf)
    assert state.lines == 9
    state.complete(root)
    assert (state.lines, state.most_lines) == (6, 9)
    table.output_lengths[other_leaf] = 30
    state.complete(other_leaf)
    state.complete(other_root)
    assert (state.lines, state.completable_trees) == (0, 0)


def test_a_leaf_without_room_waits_for_the_tree_before_it():
    table, state = occupancy([5, 5], room=11)
    leaf, root, other_leaf, _other_root = range(table.count)
    state.reserve(leaf)
    assert not state.admits(other_leaf)  # 12 lines
    table.output_lengths[leaf] = 25
    state.complete(leaf)
    assert state.admits(other_leaf)  # 5 and 6
    state.complete(root)
    assert (state.lines, state.completable_trees) == (0, 0)


def test_a_tree_that_is_alone_goes_on():
    """27 nonzeros: 13 tasks, of which 9 leaves take far more than there is."""
    table, state = occupancy([27], room=1)
    leaves = [task for task in range(table.count) if min(table.inputs[3 * task : 3 * task + 3]) >= 0]
    assert len(leaves) == 9
    for leaf in leaves:
        assert state.admits(leaf)
        state.reserve(leaf)
    assert state.lines == 9 * 6


def test_a_fiber_is_no_longer_than_a_row_of_the_product():
    _table, state = occupancy([5], room=100, columns=LENGTH)
    state.reserve(0)
    assert state.largest_length(0) == LENGTH


@given(
    st.lists(st.integers(0, 30), max_size=6),
    st.integers(1, 40),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_any_order_of_completions_ends_and_keeps_within_the_room(lengths, room, random, full):
    """Leaves in order, merging tasks when they are ready, completions in any order."""
    table, state = occupancy(lengths, room)
    missing = list(table.missing)
    merging = {task for task in range(table.count) if missing[task] > 0}
    waiting = [task for task in range(table.count) if missing[task] == 0]
    running, ready = [], []
    while waiting or running or ready:
        if ready:
            running.append(ready.pop())
        elif waiting and state.admits(waiting[0]):
            running.append(waiting.pop(0))
        else:
            assert running, "the leaf waits for nothing"
            complete(table, state, running.pop(random.randrange(len(running))), missing, ready, full)
            continue
        task = running[-1]
        if table.parents[task] != NO_PARENT:
            ending = state.completable_trees
            state.reserve(task)
            assert task in merging or state.lines <= room or ending == 0
    assert (state.lines, state.completable_trees) == (0, 0)


def complete(table, state, task, missing, ready, full):
    """A task ends with a fiber of its bound, or with an empty one."""
    parent = table.parents[task]
    if parent != NO_PARENT:
        table.output_lengths[task] = state.largest_length(task) if full else 0
        missing[parent] -= 1
        if missing[parent] == 0:
            ready.append(parent)
    state.complete(task)


def hubs(seed):
    """Long rows of A that select rows of B with little in common: partial fibers as long as can be."""
    random = np.random.default_rng(seed)
    a = csr([dict.fromkeys(range(27), 1.0)] * 8, 27)
    b = csr([dict.fromkeys(random.choice(400, 12, replace=False).tolist(), 1.0) for _ in range(27)], 400)
    return a, b


@pytest.mark.parametrize("seed", [0, 1])
def test_partial_fibers_that_fit_are_not_evicted(seed):
    """A tree's nine leaves have 36 elements each: 63 lines; two trees would exceed the cache's 96."""
    machine = run_gamma(
        tiny(pe__count=4, fibercache__size=96 * 64, fibercache__banks=1, fibercache__ways=96), *hubs(seed)
    )
    check_all(machine, *hubs(seed))
    assert machine.traffic()["partial"].write_bytes == 0
    assert counted(machine, "scheduler")["held_back_cycles"] > 0


def test_with_room_for_all_no_leaf_is_held_back():
    machine = run_gamma(
        tiny(pe__count=4, fibercache__size=2048 * 64, fibercache__banks=1, fibercache__ways=64), *hubs(0)
    )
    assert counted(machine, "scheduler")["held_back_cycles"] == 0


def test_a_merging_task_goes_past_one_whose_nonzeros_come_after_those_of_the_leaf_that_is_held_back():
    a = csr([dict.fromkeys(range(15), 1.0)] * 15, 15)
    b = csr([{}] * 9 + [{0: 1.0, 1: 1.0, 2: 1.0}] + [{}] * 5, 3)
    smallest = {"size": 32, "banks": 1, "ways": 1, "line": 16, "misses": 1, "targets": 1, "latency": 1}
    parameters = tiny(
        pe__count=1,
        pe__radix=2,
        pe__task_queue=1,
        pe__prefetch=False,
        format__element=8,
        scheduler__stream_lines=3,
        scheduler__output_page=16,
        **{f"fibercache__{key}": number for key, number in smallest.items()},
    )
    check_all(run_gamma(parameters, a, b), a, b)
