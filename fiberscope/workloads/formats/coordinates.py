"""Coordinate formats for any order: COO, a list of coordinates; CSF, a tree of fibers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.formats.bit_packing import Items
from fiberscope.workloads.formats.format import Coordinates, Counts, Encoded, Format, Layout, Span, index_bits
from fiberscope.workloads.tensor import SparseTensor


@dataclass(frozen=True)
class Coo(Format):
    """COO: the coordinates of every nonzero, an array for each rank, in lexicographic order; the nonzeros."""

    name = "coo"
    code = 4

    def layout(self, shape: Sequence[int], counts: Counts, bits: int) -> Layout:
        """Return an array for each rank, and the values."""
        nonzeros = counts["nonzeros"]
        ids = [
            Span(name, nonzeros, index_bits(size))
            for name, size in zip(_list_array_names(shape), shape, strict=True)
        ]
        return [*ids, Span("values", nonzeros, bits)]

    def items(self, tensor: SparseTensor, words: Items) -> Mapping[str, Integers | Items]:
        """Return the items in the order of the tensor."""
        return {
            **dict(zip(_list_array_names(tensor.shape), tensor.coordinates, strict=True)),
            "values": words,
        }

    def points(self, encoded: Encoded) -> tuple[Coordinates, Items]:
        """Return the items in the order of the tensor."""
        return tuple(encoded[name].astype(np.int64) for name in _list_array_names(encoded.shape)), encoded[
            "values"
        ]


def _list_array_names(shape: Sequence[int]) -> list[str]:
    """Return the names of the arrays of coordinates."""
    return ["row_ids", "col_ids"] if len(shape) == 2 else [f"ids_{rank}" for rank in range(len(shape))]


@dataclass(frozen=True)
class Csf(Format):
    """Compressed sparse fibers: for each level, the coordinates of its nodes, and their first children.

    A node of level l is a distinct prefix of l coordinates. Level 1 needs no pointers: the header has its
    number of nodes. Source: S. Smith, G. Karypis, "Tensor-Matrix Products with a Compressed Sparse Tensor",
    IA3 2015.
    """

    name = "csf"
    code = 8

    def layout(self, shape: Sequence[int], counts: Counts, bits: int) -> Layout:
        """Return the arrays by level from the root, ``pos`` before ``crd``; then the values."""
        nodes = [counts[name] for name in _count_names(shape)]
        spans = [Span("crd_1", nodes[0], index_bits(shape[0]))]
        for level in range(1, len(shape)):
            spans += [
                Span(f"pos_{level + 1}", nodes[level - 1] + 1, index_bits(nodes[level] + 1)),
                Span(f"crd_{level + 1}", nodes[level], index_bits(shape[level])),
            ]
        return [*spans, Span("values", nodes[-1], bits)]

    def count_names(self, shape: Sequence[int]) -> Sequence[str]:
        """Return the names of the counts: nonzeros, and the nodes of each level above the last."""
        return ("nonzeros", *_count_names(shape)[:-1])

    def counts(self, tensor: SparseTensor) -> dict[str, int]:
        """Return the counts. A node is counted at its first nonzero."""
        # the nodes of the last level are the nonzeros, which have their own count
        above = [
            int(np.count_nonzero(first_of_nodes)) for first_of_nodes in _mask_first_of_nodes(tensor)[:-1]
        ]
        return dict(zip(self.count_names(tensor.shape), [tensor.nonzeros, *above], strict=True))

    def expected_counts(self, shape: Sequence[int], density: float) -> dict[str, float]:
        """Return the expected counts, if each position is a nonzero with the same probability.

        A prefix of coordinates is a node unless all its positions are zero.
        """
        counts = {"nonzeros": density * math.prod(shape)}
        for level, name in enumerate(_count_names(shape)[:-1], start=1):
            all_zero = (1 - density) ** math.prod(shape[level:])
            counts[name] = math.prod(shape[:level]) * (1 - all_zero)
        return counts

    def items(self, tensor: SparseTensor, words: Items) -> Mapping[str, Integers | Items]:
        """Return the items. A nonzero is the first of a node if its prefix of coordinates is new."""
        first_of_nodes = _mask_first_of_nodes(tensor)
        items: dict[str, Integers | Items] = {"values": words}
        for level, (is_first, coordinates) in enumerate(zip(first_of_nodes, tensor.coordinates, strict=True)):
            items[f"crd_{level + 1}"] = coordinates[is_first]
            if level:  # the first child of each node of the level above, and the end; level 1 has no pointers
                number = np.cumsum(is_first) - 1  # number of each nonzero's node
                items[f"pos_{level + 1}"] = np.append(
                    number[first_of_nodes[level - 1]], np.count_nonzero(is_first)
                )
        return items

    def points(self, encoded: Encoded) -> tuple[Coordinates, Items]:
        """Return the points: spread each node's coordinate over its nonzeros, from the last level up."""
        node_of = np.arange(encoded.nonzeros)  # node of each nonzero, level by level
        columns: list[Integers] = []
        for level in range(len(encoded.shape), 0, -1):
            columns.append(encoded[f"crd_{level}"].astype(np.int64)[node_of])
            if level > 1:
                pointers = encoded[f"pos_{level}"].astype(np.int64)
                node_of = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))[node_of]
        return tuple(reversed(columns)), encoded["values"]


def _count_names(shape: Sequence[int]) -> list[str]:
    """Return the names of the nodes of each level; the nodes of the last level are the nonzeros."""
    return [*(f"nodes_{level}" for level in range(1, len(shape))), "nonzeros"]


def _mask_first_of_nodes(tensor: SparseTensor) -> list[np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return, by level, a mask of the nonzeros that are the first of a node.

    The nonzeros are in lexicographic order, so the nonzeros of a node are adjacent.
    """
    is_first = np.zeros(tensor.nonzeros, dtype=np.bool_)
    is_first[:1] = True
    positions = []
    for coordinates in tensor.coordinates:
        is_first = is_first.copy()
        # a node that begins at a level begins a node at each level below, hence the OR
        is_first[1:] |= coordinates[1:] != coordinates[:-1]
        positions.append(is_first)
    return positions
