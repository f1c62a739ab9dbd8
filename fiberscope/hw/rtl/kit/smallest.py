"""Balanced tree of comparators that selects the candidate with the smallest coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyrtl

from fiberscope.hw.rtl.kit.twin import Signal, alias


@dataclass(frozen=True)
class Candidate:
    """A candidate at a node of the tree.

    Args:
        present: 1 if the node has a candidate.
        fields: wires of the candidate by name; ``coordinate`` is compared.
        way: number of the leaf from which the candidate comes.
    """

    present: Signal
    fields: dict[str, Signal]
    way: Signal


def select_smallest(candidates: Sequence[Candidate], name: str = "") -> Candidate:
    """Return the candidate with the smallest coordinate; of equal coordinates, the first candidate.

    Args:
        candidates: the leaves, at least one.
        name: prefix of the names of the wires; empty for none.
    """
    nodes = list(candidates)
    level = 0
    prefix = f"{name}_" if name else ""
    while len(nodes) > 1:
        level += 1
        above = [
            _smaller(nodes[i], nodes[i + 1], f"{prefix}level{level}_{i // 2:02}")
            for i in range(0, len(nodes) - 1, 2)
        ]
        nodes = above + nodes[2 * len(above) :]
    return nodes[0]


def _smaller(left: Candidate, right: Candidate, name: str) -> Candidate:
    """Return the candidate with the smaller coordinate of two; the left one if the coordinates are equal."""
    less = right.fields["coordinate"] < left.fields["coordinate"]
    right_wins = alias(f"{name}_right_wins", right.present & (~left.present | less))
    fields = {
        field: alias(f"{name}_{field}", pyrtl.select(right_wins, right.fields[field], left.fields[field]))
        for field in left.fields
    }
    way = alias(f"{name}_way", pyrtl.select(right_wins, right.way, left.way))
    return Candidate(alias(f"{name}_present", left.present | right.present), fields, way)
