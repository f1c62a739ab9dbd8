"""Profiles of matrices that are not at hand, from the tables of their classes in ``tests/oracles``.

A table has sums by class and not each node's degree. Within a class degrees are spread evenly about their
mean, as far as the bounds of the class allow: multiplies of A times A are then 0.1 % below the real ones,
by means alone 0.4 %.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.profile import LEAST_DEGREES, NodeClass, Profile

TABLES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "oracles" / "block_profiles.json").read_text(encoding="utf-8")
)["matrices"]
SYMMETRIC = ("ca-CondMat", "email-Enron")  # the tables from which all of a profile can be had
# Of A times A in the real matrices.
MULTIPLIES = {
    "wiki-Vote": 4_542_805,
    "p2p-Gnutella31": 538_318,
    "ca-CondMat": 4_127_524,
    "email-Enron": 51_501_448,
}
PRODUCT_NONZEROS = {
    "wiki-Vote": 1_831_112,
    "p2p-Gnutella31": 537_601,
    "ca-CondMat": 2_355_437,
    "email-Enron": 30_492_154,
}


def profile_of_table(name: str, locality: float = 1.0) -> Profile:
    """The profile of a symmetric matrix."""
    table = TABLES[name]
    degrees = [_spread(one["nodes"], one["row_nonzeros"]) for one in table["classes"]]
    diagonal = [
        _least_diagonal(one["nodes"], row[kind])
        for kind, (one, row) in enumerate(zip(table["classes"], table["nonzeros_between"], strict=True))
    ]
    return Profile(
        name=name,
        source="nonzeros between classes of the real matrix; degrees within a class spread evenly",
        shape=tuple(table["shape"]),
        nonzeros=table["nonzeros"],
        symmetric=True,
        locality=locality,
        classes=tuple(
            NodeClass(degrees=_groups(some), diagonal=on) for some, on in zip(degrees, diagonal, strict=True)
        ),
        nonzeros_between=table["nonzeros_between"],
    )


def _least_diagonal(nodes: int, inside: int) -> int:
    """As few nonzeros on the diagonal as leave an even number, and room for them, beside it."""
    return max(inside % 2, inside - nodes * (nodes - 1))


def _groups(degrees: Integers) -> tuple[tuple[int, int, int], ...]:
    return tuple((nodes, degree, degree) for degree, nodes in sorted(Counter(degrees.tolist()).items()))


def _spread(nodes: int, total: int) -> Integers:
    mean = total / nodes
    place = int(np.searchsorted(LEAST_DEGREES, mean, side="right"))
    room = min(mean - LEAST_DEGREES[place - 1], LEAST_DEGREES[place] - 1 - mean)
    wanted = mean + room * np.linspace(-1, 1, 2 * nodes + 1)[1::2]
    whole: Integers = np.diff(np.rint(np.cumsum(wanted)), prepend=0).astype(np.int64)
    return whole
