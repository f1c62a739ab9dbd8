"""What fills the memories of the scheduler's twin for a product."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fiberscope.accelerators.gamma.layout import A_POINTERS_BASE, NO_PARENT
from fiberscope.accelerators.gamma.scheduler_logic_rtl import (
    COUNTS,
    LINES,
    MISSING,
    NONZEROS,
    TASKS,
    UNFINISHED,
    WRITES,
)
from fiberscope.accelerators.gamma.stream import StreamOfA, unfinished_rows
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.rtl.kit.interface import Token


def loaded(
    layout: Mapping[str, int], table: TaskTable, stream: StreamOfA, rows_per_line: int
) -> Iterator[Token]:
    """The tokens that fill a module's memories; ``layout`` has the bits of each field of a task's word."""
    unfinished = unfinished_rows(table, rows_per_line)
    nonzeros = np.cumsum(np.asarray(stream.addresses) < A_POINTERS_BASE)
    contents: Mapping[int, Sequence[int]] = {
        LINES: list(stream.addresses),
        NONZEROS: [0, *nonzeros.tolist()],
        TASKS: [_packed(layout, task) for task in _tasks(table, stream, rows_per_line)],
        MISSING: list(table.missing),
        UNFINISHED: list(unfinished),
        WRITES: [line for line, rows in enumerate(unfinished) if rows == 0],
        COUNTS: [stream.count, table.count],
    }
    for number, words in contents.items():
        for address, word in enumerate(words):
            yield Token(number, address, word, 0.0)


def _tasks(table: TaskTable, stream: StreamOfA, rows_per_line: int) -> Iterator[dict[str, int]]:
    """The fields of every task's word."""
    leaves = np.flatnonzero(np.asarray(stream.merges) == 0)
    following = np.append(leaves, table.count)[np.searchsorted(leaves, np.arange(table.count), side="right")]
    for task in range(table.count):
        yield {
            "needed": stream.needed[task],
            "first_needed": stream.first_needed[task],
            "following": int(following[task]),
            "parent": max(table.parents[task], 0),
            "is_partial": int(table.parents[task] != NO_PARENT),
            "line": table.rows[task] // rows_per_line,
        }


def _packed(layout: Mapping[str, int], fields: Mapping[str, int]) -> int:
    """A word of these fields, the first the lowest."""
    word = 0
    for name, bits in reversed(list(layout.items())):
        word = word << bits | fields[name]
    return word
