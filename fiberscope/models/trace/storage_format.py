"""Storage formats of tensors: the entries of each rank, and the order of the ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class RankFormat:
    """Format of the fibers of one rank.

    Args:
        kind: C stores nonempty elements, U the whole shape, B coordinates as a bitmap and payloads as C.
            L is a linked list: each nonempty element is a node, whose payload is the link to the next node.
        layout: coordinates and payloads in separate arrays, or interleaved.
        cbits, pbits: bits of a coordinate and of a payload, 0 if the format stores none.
        fhbits: bits of a header of each fiber.
        rhbits: bits of a header of the rank.
    """

    kind: Literal["C", "U", "B", "L"] = "C"
    layout: Literal["contiguous", "interleaved"] = "contiguous"
    cbits: int = 0
    pbits: int = 0
    fhbits: int = 0
    rhbits: int = 0

    def count_entry_bits(self, kind: str) -> int:
        """Return the bits of a ``coord``, ``payload`` or ``elem``; 0 if the format stores none."""
        return {"coord": self.cbits, "payload": self.pbits, "elem": self.cbits + self.pbits}[kind]


@dataclass(frozen=True)
class Format:
    """A storage format of a tensor.

    Args:
        rank_order: ranks from the root; a partitioned rank appears as its pieces.
        ranks: format of each rank, by name as in the tensor's tree in an Einsum.
    """

    name: str
    rank_order: tuple[str, ...]
    ranks: Mapping[str, RankFormat]

    @property
    def linked(self) -> tuple[str, ...]:
        """Return the ranks from the root to the rank that is a linked list; empty without such a rank.

        The first of these ranks has the heads of the lists, the second has the nodes.
        """
        kinds = [self.ranks[rank].kind for rank in self.rank_order]
        return self.rank_order[: kinds.index("L") + 1] if "L" in kinds else ()

    def accepts(self, order: Sequence[str]) -> bool:
        """Return whether a tensor whose ranks are written in this order can be stored in this format.

        Nodes are appended to linked lists in any order, so the loops of ``linked`` may be exchanged.
        """
        depth = len(self.linked)
        is_inner_equal = self.rank_order[depth:] == tuple(order[depth:])
        return is_inner_equal and sorted(self.rank_order[:depth]) == sorted(order[:depth])

    def list_stored_kinds(self, root: str) -> list[tuple[str, str]]:
        """Return a pair of rank and kind for each kind of entries stored in the ranks from ``root`` down.

        The kinds are ``coord``, ``payload`` and ``elem``.
        """
        kinds = []
        for rank in self.rank_order[self.rank_order.index(root) :]:
            rank_format = self.ranks[rank]
            names = ("elem",) if rank_format.layout == "interleaved" else ("coord", "payload")
            kinds += [(rank, kind) for kind in names if rank_format.count_entry_bits(kind)]
        return kinds
