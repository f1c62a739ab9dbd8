"""MINT_b, MINT_m and MINT_mr: which instances of blocks exist, and when they wait for one another.

Source: MINT, Section V-A and Section VII-B: a converter for each conversion (b), blocks shared between
conversions (m), adders of the host's array and dividers of its activation units used as well (mr).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from fiberscope.converters.recipes import kind_of, recipe

__all__ = ["BORROWED", "FIGURE_8", "VARIANTS", "instances", "waits_for_host"]

VARIANTS = ("mint_b", "mint_m", "mint_mr")
# The conversions of the paper's Figure 8, to which its published areas belong.
FIGURE_8 = (("csr", "csc"), ("rlc", "coo"), ("csr", "bsr2"), ("dense", "csf"))
KINDS = {  # of hardware, by the blocks of recipes that it serves
    "scan": "prefix sum",
    "scan_counts": "prefix sum",
    "offsets": "prefix sum",
    "divide": "dividers",
    "divide_blocks": "dividers",
    "compare": "comparators",
    "expand": "comparators",
    "tree": "comparators",
    "blocks": "block flags",
    "pack": "packer",
    "mask": "packer",
    "fill": "packer",
    "sort": "sorter",
    "cluster": "cluster counter",
    "count": "counters",
    "tally": "counters",
    "increment": "adders",
    "difference": "adders",
    "multiply": "multipliers",
    "read": "memory controller",
    "write": "memory controller",
}
# With registers at the ends of units, which count as none; behind the last is the scratchpad, as memory.
WIRES = (
    *("turn", "steps", "bits", "split", "collect", "gather", "collect_counts"),
    *("keys", "control", "scatter", "drain", "ends"),
)
BORROWED = ("prefix sum", "dividers", "adders")  # of the host, by MINT_mr


def instances(variant: str, conversions: Iterable[tuple[str, str]] = FIGURE_8) -> Mapping[str, int]:
    """The instances of each kind of hardware that a converter for these conversions has.

    A conversion has as many of a kind as work at the same time: counts are summed up while positions are not.

    Args:
        variant: ``mint_b``, ``mint_m`` or ``mint_mr``.
        conversions: from which format to which.

    Raises:
        KeyError: there is no such variant.
        WorkloadError: there is no recipe for one of them.
    """
    needed = [_needed(*pair) for pair in conversions]
    separate: Counter[str] = sum(needed, Counter())
    shared = {kind: max(counts[kind] for counts in needed) for kind in separate}
    own = {kind: number for kind, number in shared.items() if kind not in BORROWED}
    return {"mint_b": dict(separate), "mint_m": shared, "mint_mr": own}[variant]


def _needed(source: str, target: str) -> Counter[str]:
    """Return the units that one conversion needs."""
    names = {kind_of(block) for block in recipe(source, target).blocks}
    if "scan" in names:
        names.discard("offsets")
    return Counter(KINDS[name] for name in names - {*WIRES, "write"})


def waits_for_host(variant: str, overlap: str = "none") -> tuple[str, ...]:
    """Return the kinds of blocks that a converter cannot use while the host computes.

    Args:
        variant: ``mint_b``, ``mint_m`` or ``mint_mr``.
        overlap: of MINT_mr with the host: ``none``; or ``activation_only``, where the host's adders alone are
            busy, so that its dividers are free.
    """
    if variant != "mint_mr":
        return ()
    return BORROWED if overlap == "none" else tuple(kind for kind in BORROWED if kind != "dividers")
