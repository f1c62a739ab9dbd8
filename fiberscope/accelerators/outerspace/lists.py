# cython: infer_types=True
"""The intermediate T in memory: a linked list of nodes for each row of Z.

A node holds the products of one element of A.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fiberscope.accelerators.outerspace.layout import NO_NODE
from fiberscope.hw.fibers.arrays import coordinates_of, integers_of, values_of
from fiberscope.hw.fibers.compressed import CompressedRows


class RowLists:  # C: final
    """A store for the nodes of T, and for the heads of the rows' lists.

    Node n holds the products of element n of A, counted by columns. The row of the node is the row of the
    element; its products are the products ``first[n]`` to ``first[n + 1]`` - 1 in ``columns`` and ``values``.

    Args:
        a: A by columns.
        b: B by rows.
        rows: number of rows of A.
        element_bytes: bytes of a product in memory.

    Attributes:
        rows, first: row of each node, and number of its first product; known before the run.
        addresses, following: address of each node, and next node in its list or ``NO_NODE``.
        heads: first node of each row's list, or ``NO_NODE``.
        columns, values: column and value of each product.
        max_row_lists: largest number of nodes with products in one row.
        row_products: number of products of each row.
    """

    WRITERS: ClassVar[Mapping[str, str]] = {
        "addresses": "linker",
        "following": "linker",
        "heads": "linker",
        "columns": "multiplier",
        "values": "multiplier",
    }

    def __init__(self, a: CompressedRows, b: CompressedRows, rows: int, element_bytes: int) -> None:
        self.element_bytes = element_bytes
        inner = np.repeat(np.arange(a.rows), np.diff(np.asarray(a.pointers)))
        lengths = np.diff(np.asarray(b.pointers))[inner]
        nodes = len(lengths)
        self.rows = a.coordinates  # C: int[::1]; by node
        self.first = integers_of(np.concatenate([[0], np.cumsum(lengths)]))  # C: long[::1]
        self.addresses = integers_of(np.zeros(nodes, np.int64))  # C: public long[::1]
        self.following = integers_of(np.full(nodes, NO_NODE))  # C: public long[::1]
        self.heads = integers_of(np.full(rows, NO_NODE))  # C: public long[::1]
        self.columns = coordinates_of(np.zeros(self.first[nodes], np.int32))  # C: public int[::1]
        self.values = values_of(np.zeros(self.first[nodes]))  # C: public double[::1]
        lists = np.bincount(np.asarray(self.rows)[lengths > 0], minlength=rows)
        self.max_row_lists = int(lists.max(initial=0))
        self.row_products = np.bincount(np.asarray(self.rows), lengths, rows).astype(np.int64)

    def bytes(self, header: int, align: int) -> int:  # C: def
        """Return the bytes of all nodes that have products, with headers and alignment."""
        products = np.diff(np.asarray(self.first))
        sizes = header + products[products > 0] * self.element_bytes
        return int(np.sum(-(-sizes // align) * align))
