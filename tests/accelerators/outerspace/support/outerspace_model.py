"""What OuterSPACE has to do with two matrices, worked out plainly: the reference of its counts."""

import bisect
from dataclasses import dataclass

import numpy as np

ELEMENT, INDEX = 12, 4


@dataclass(frozen=True)
class Counts:
    """By the rules under Acceptance of the machine's page."""

    multiply: int
    add: int
    swap: int
    pairs: int
    nodes: int
    node_blocks: int
    rows_merged: int
    nonzeros: int


def counts(a, b, block=64):
    """Those of A times B, in blocks of so many bytes."""
    columns, rows = a.tocsc(), b
    c, r = np.diff(columns.indptr), np.diff(rows.indptr)
    multiplies = int(np.sum(c * r))
    lengths = np.repeat(r, c)  # by element of A, in the order of columns: products of its node
    lists = row_lists(a, b)
    nonzeros = sum(len({column for one in row for column in one}) for row in lists)
    return Counts(
        multiply=multiplies,
        add=multiplies - nonzeros,
        swap=sum(map(swaps, lists)),
        pairs=int(np.sum((c > 0) & (r > 0))),
        nodes=int(np.sum(lengths > 0)),
        node_blocks=int(np.sum(-(-lengths * ELEMENT // block))),
        rows_merged=sum(1 for row in lists if row),
        nonzeros=nonzeros,
    )


def moved_of_t(a, b, header, block, burst, spilled):
    """Bytes of T read and written, where each node begins a block and each element is fetched by itself.

    What lies in one burst of a block moves this burst, else the block. A
    node in the spill area moves a burst of the pointer that all rows share, both ways.
    """
    read = written = spilled * burst
    columns = a.tocsc()
    for k, products in enumerate(np.diff(b.indptr).tolist()):
        if products == 0:
            continue
        places = [(0, header), *((header + ELEMENT * i, ELEMENT) for i in range(products))]
        times, end = int(columns.indptr[k + 1] - columns.indptr[k]), header + products * ELEMENT
        blocks = [(first, min(block, end - first)) for first in range(0, end, block)]
        read += times * sum(_fetched(first, size, block, burst) for first, size in places)
        written += times * sum(burst if size <= burst else block for _first, size in blocks)
    return read, written


def _fetched(first, size, block, burst):
    """Bytes that a load moves, block by block."""
    ends = [*range((first // block + 1) * block, first + size, block), first + size]
    parts = zip([first, *ends], ends, strict=False)
    return sum(burst if start // burst == (end - 1) // burst else block for start, end in parts)


def row_lists(a, b):
    """The columns of each list of each row of T, in the order of k."""
    rows = []
    for m in range(a.shape[0]):
        ks = a.indices[a.indptr[m] : a.indptr[m + 1]].tolist()
        lists = [b.indices[b.indptr[k] : b.indptr[k + 1]].tolist() for k in ks]
        rows.append([one for one in lists if one])
    return rows


def swaps(lists):
    """Those of an insertion sort of the heads: 1 + the heads that leave before, of each push."""
    if len(lists) < 2:
        return 0
    heads: list[tuple[int, int, int]] = []  # column, less the list: of equal ones the larger leaves first
    total = 0

    def push(index, place):
        nonlocal total
        head = (lists[index][place], -index, place)
        position = bisect.bisect_left(heads, head)
        heads.insert(position, head)
        total += 1 + position

    for index in range(len(lists)):
        push(index, 0)
    while heads:
        _column, negative, place = heads.pop(0)
        if place + 1 < len(lists[-negative]):
            push(-negative, place + 1)
    return total
