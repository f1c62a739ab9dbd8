"""Reference model of a merge core: tokens of rows of sorted lists by a heap, swaps by a sorted list."""

import heapq
from bisect import bisect_left, insort

from fiberscope.hw.stream import DATA, STOP


def tokens_of(lists):
    """What comes on ``elements`` for a row: all heads, then behind each element that leaves its successor.

    Lists of (column, value), none empty.
    """
    tokens = [(DATA, entries[0][0], number, entries[0][1]) for number, entries in enumerate(lists)]
    for _, number, place in order(lists):
        left = lists[number][place + 1 : place + 2]
        tokens += [(DATA, column, number, value) for column, value in left] or [(STOP, 0, number, 0.0)]
    return tokens


def order(lists):
    """Return column, list and place of each element in order of departure; larger lists first on ties."""
    keyed = [
        [(column, -number, place) for place, (column, _) in enumerate(entries)]
        for number, entries in enumerate(lists)
    ]
    return [(column, -number, place) for column, number, place in heapq.merge(*keyed)]


def merged(lists):
    """Return the tokens on ``merged`` for a row."""
    return [(DATA, column, number, lists[number][place][1]) for column, number, place in order(lists)] + [
        (STOP, 0, 0, 0.0)
    ]


def positions(lists):
    """Return, for each token of ``tokens_of``, the number of heads before it; 0 for a stop."""
    heads, found = [], []
    for number, (kind, column, source, _) in enumerate(tokens_of(lists)):
        if number >= len(lists):
            heads.pop(0)
        key = (column, -source)
        found.append(bisect_left(heads, key) if kind == DATA else 0)
        if kind == DATA:
            insort(heads, key)
    return found


def swaps(lists):
    """Return the swaps as TeAAL counts them: 1 + position of every head, none for a single list."""
    kinds = [kind for kind, *_ in tokens_of(lists)]
    return sum(1 + at for kind, at in zip(kinds, positions(lists), strict=True) if kind == DATA) * (
        len(lists) > 1
    )


def inputs_of(rows):
    """Return all input tokens of the core for rows of lists."""
    return {
        "tasks": [(0, len(lists), row, 0.0) for row, lists in enumerate(rows)],
        "elements": [token for lists in rows for token in tokens_of(lists)],
    }


def tokens_out(rows):
    """Return all output tokens by output."""
    return {
        "merged": [token for lists in rows for token in merged(lists)],
        "successors": [(DATA, 0, number, 0.0) for lists in rows for _, number, _ in order(lists)],
    }
