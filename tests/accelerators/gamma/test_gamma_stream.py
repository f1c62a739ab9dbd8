"""The order in which A streams in, against a walk through the matrix element by element."""

from array import array

import numpy as np
import pytest
from gamma_bench import csr, stored
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.accelerators.gamma.fetch_order import count_rows_to_finish, order_lines_of_a
from fiberscope.accelerators.gamma.layout import A_BASE, A_POINTERS_BASE, NO_PARENT, Sizes
from fiberscope.accelerators.gamma.tasks import TaskTable

SIZES = st.builds(Sizes, st.sampled_from([16, 32, 64]), st.sampled_from([8, 12, 16]), st.sampled_from([4, 8]))
LENGTHS = st.lists(st.one_of(st.just(0), st.integers(0, 4), st.integers(0, 20)), max_size=40)
MATRICES = LENGTHS.map(lambda lengths: csr([dict.fromkeys(range(length), 1.0) for length in lengths], 20))
RADIX = st.integers(2, 6)


def table_of(a, radix):
    return TaskTable(a.indptr.astype(np.int64), radix)


def lines_of(base, first, last, item_bytes, line_bytes):
    """Addresses of the lines that the items from ``first`` up to ``last``, without it, lie in."""
    if last <= first:
        return set()
    end = -(-last * item_bytes // line_bytes)
    return {base + line * line_bytes for line in range(first * item_bytes // line_bytes, end)}


def nonzeros_of(table, task):
    inputs = table.inputs[table.first_inputs[task] : table.first_inputs[task + 1]]
    return [source for source in inputs if source >= 0]


def needs(a, table, task, sizes):
    """Addresses of the lines of A that a task needs: its nonzeros, and the row's two pointers."""
    nonzeros, row = nonzeros_of(table, task), table.rows[task]
    found = set()
    for source in nonzeros:
        found |= lines_of(A_BASE, source, source + 1, sizes.element_bytes, sizes.line_bytes)
    if nonzeros:
        found |= lines_of(A_POINTERS_BASE, row, row + 2, sizes.pointer_bytes, sizes.line_bytes)
    return found


@given(MATRICES, RADIX, SIZES)
def test_every_line_of_a_comes_once(a, radix, sizes):
    stream = order_lines_of_a(stored(a), table_of(a, radix), sizes)
    expected = lines_of(A_BASE, 0, a.nnz, sizes.element_bytes, sizes.line_bytes)
    expected |= lines_of(A_POINTERS_BASE, 0, a.shape[0] + 1, sizes.pointer_bytes, sizes.line_bytes)
    assert len(stream.addresses) == stream.count == len(expected)
    assert set(stream.addresses) == expected


@given(MATRICES, RADIX, SIZES)
def test_nonzeros_and_pointers_each_come_in_their_order(a, radix, sizes):
    addresses = np.asarray(order_lines_of_a(stored(a), table_of(a, radix), sizes).addresses)
    for part in (addresses[addresses < A_POINTERS_BASE], addresses[addresses >= A_POINTERS_BASE]):
        assert part.tolist() == sorted(part.tolist())


def check_needed(a, table, stream, sizes):
    """A task may run as soon as all that it needs has come; the last of it are nonzeros."""
    addresses = list(stream.addresses)
    for task in range(table.count):
        wanted = needs(a, table, task, sizes)
        assert wanted <= set(addresses[: stream.needed_lines[task]])
        data = {address for address in wanted if address < A_POINTERS_BASE}
        last = max((addresses.index(address) + 1 for address in data), default=0)
        assert stream.needed_lines[task] == last


@given(MATRICES, RADIX, SIZES)
def test_what_a_task_needs_has_come(a, radix, sizes):
    table = table_of(a, radix)
    check_needed(a, table, order_lines_of_a(stored(a), table, sizes), sizes)


@given(MATRICES, RADIX, SIZES)
def test_the_lines_that_only_earlier_tasks_need(a, radix, sizes):
    table = table_of(a, radix)
    stream = order_lines_of_a(stored(a), table, sizes)
    for task in range(table.count):
        first = min(nonzeros_of(table, task), default=0)
        assert stream.released_lines[task] == first * sizes.element_bytes // sizes.line_bytes
        assert stream.is_merge_task[task] == (task in list(table.parents))


@given(MATRICES, RADIX, st.integers(1, 16))
def test_rows_that_wait_by_line_of_pointers(a, radix, rows_per_line):
    rows = a.shape[0]
    found = count_rows_to_finish(table_of(a, radix), rows_per_line)
    waiting = [row for row in range(rows) if a.indptr[row + 1] > a.indptr[row]]
    expected = [0] * -(-(rows + 1) // rows_per_line)
    for row in waiting:
        expected[row // rows_per_line] += 1
    assert list(found) == expected


def test_an_example():
    """Two lines of pointers; the second begins with the end of row 15, whose nonzero is number 15."""
    a = csr([*({0: 1.0} for _ in range(17)), {0: 1.0, 1: 1.0}], 2)
    stream = order_lines_of_a(stored(a), table_of(a, 4), Sizes(64, 12, 4))
    pointers, nonzeros = A_POINTERS_BASE // 64, A_BASE // 64
    assert [at // 64 for at in stream.addresses] == [
        *(pointers, nonzeros, nonzeros + 1, pointers + 1),
        *(nonzeros + 2, nonzeros + 3),
    ]
    assert list(stream.needed_lines)[15:] == [5, 6, 6]


def test_planted_a_task_that_runs_too_early_is_found():
    a = csr([{0: 1.0}] * 40, 1)
    table = table_of(a, 4)
    stream = order_lines_of_a(stored(a), table, Sizes(64, 12, 4))
    stream.needed_lines = array("q", [max(0, needed - 1) for needed in stream.needed_lines])
    with pytest.raises(AssertionError):
        check_needed(a, table, stream, Sizes(64, 12, 4))


def test_only_roots_finish_rows():
    a = csr([dict.fromkeys(range(9), 1.0)], 9)
    table = table_of(a, 3)
    assert [parent == NO_PARENT for parent in table.parents].count(True) == 1
    assert list(count_rows_to_finish(table, 16)) == [1]
