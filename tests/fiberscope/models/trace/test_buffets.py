"""Buffets against a plain model: what each residency of each line costs."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from fiberscope.models.trace.recorder import Buffet, EagerBuffet, LineTable
from fiberscope.models.trace.storage import count_lines, count_lines_below
from fiberscope.workloads.fibertree import FiberTree

SHAPE = 12
ACCESS = st.tuples(st.integers(0, 4), st.integers(0, 2 * SHAPE), st.booleans(), st.integers(0, 1))


def traffic(accesses, elements_per_line):
    """Lines read and written, a dictionary of residencies at a time."""
    residencies, group = {}, 0
    for fiber, position, write, step in accesses:
        group += step
        line = (group, fiber, position // elements_per_line)
        begins, dirty = residencies.get(line, (write, False))
        residencies[line] = begins, dirty or (write and position < SHAPE)
    return (
        sum(not begins for begins, _ in residencies.values()),
        sum(dirty for _, dirty in residencies.values()),
    )


def counted(accesses, elements_per_line):
    buffet, group = Buffet(elements_per_line, SHAPE), 0
    for fiber, position, write, step in accesses:
        group += step
        buffet.touch(fiber, position, write, group)
    return buffet.lines_read, buffet.lines_written


@given(st.lists(ACCESS, max_size=300), st.integers(1, 5))
@example([(fiber, 0, True, 0) for fiber in range(300)] * 2, 1)  # more lines than there is room for at first
def test_a_buffet_reads_what_begins_with_a_read_and_writes_back_what_was_written(accesses, elements_per_line):
    assert counted(accesses, elements_per_line) == traffic(accesses, elements_per_line)


def test_a_line_that_is_written_first_is_not_read():
    assert counted([(0, 0, True, 0), (0, 1, False, 0)], 2) == (0, 1)


def test_a_side_buffer_is_never_written_back():
    assert counted([(0, SHAPE, True, 0), (0, SHAPE, False, 0)], 1) == (0, 0)


def test_planted_a_model_that_forgets_groups_is_found():
    accesses = [(0, 0, False, 0), (0, 0, False, 1)]
    assert counted(accesses, 1) != traffic([(*access[:3], 0) for access in accesses], 1)


@given(st.lists(st.lists(st.integers(0, 2**62 - 1), max_size=300), max_size=3))
@example([[line << 31 for line in range(5000)]])
def test_lines_are_numbered_as_they_are_met(runs):
    table = LineTable()
    for run in runs:
        known = {}
        assert [table.number(line) for line in run] == [known.setdefault(line, len(known)) for line in run]
        assert list(table.lines[: table.count]) == list(known)
        table.clear()


POINTS = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=60)


@given(POINTS, st.integers(1, 3), st.lists(st.tuples(st.integers(0, 99), st.integers(0, 1)), max_size=40))
def test_an_eager_buffet_reads_each_subtree_once_a_group(points, elements_per_line, met):
    columns = np.array(sorted(points)).T
    tree = FiberTree.from_coo({"M": 5, "K": 5, "N": 10}, columns, np.ones(len(points)))
    rows = sorted({m for m, _, _ in points})
    buffet, group, seen = EagerBuffet(count_lines_below(tree, "K", "N", elements_per_line)), 0, set()
    for fiber, step in met:
        group += step
        buffet.touch(fiber % len(rows), 0, False, group)
        seen.add((fiber % len(rows), group))
    below = [
        sum(-(-sum(point[:2] == (m, k) for point in points) // elements_per_line) for k in range(5))
        for m in rows
    ]
    assert buffet.lines_read == sum(below[fiber] for fiber, _ in seen)
    assert buffet.lines_written == 0


def test_every_fiber_begins_a_line():
    tree = FiberTree.from_coo({"M": 2, "N": 9}, [[0, 0, 0, 1], [1, 4, 5, 2]], np.ones(4))
    assert list(count_lines(tree, "N", 2)) == [2, 1]
    assert list(count_lines_below(tree, "M", "N", 2)) == [3]
    assert list(count_lines_below(tree, "M", "M", 2)) == [1]
