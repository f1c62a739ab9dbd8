"""The variants MINT_b, MINT_m and MINT_mr: their instances of hardware, and the resources they share.

Source: MINT, Section V-A and Section VII-B. MINT_b has a converter for each conversion. MINT_m shares blocks
between conversions. MINT_mr also uses hardware of the host: the adders of the array and the dividers of the
activation units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from fiberscope.converters.recipes import find_recipe, parse_kind

VARIANTS = ("mint_b", "mint_m", "mint_mr")
# The conversions of the paper's Figure 8, to which its published areas belong.
FIGURE_8 = (("csr", "csc"), ("rlc", "coo"), ("csr", "bsr2"), ("dense", "csf"))
KINDS = {  # kind of hardware for each kind of block in recipes
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
# Blocks without hardware of their own: wires, the registers at the ends of units, and the scratchpad's ports.
WIRES = (
    *("turn", "steps", "bits", "split", "collect", "gather", "collect_counts"),
    *("keys", "control", "scatter", "drain", "ends"),
)
BORROWED = ("prefix sum", "dividers", "adders")  # kinds of hardware of the host that MINT_mr uses


def instances(variant: str, conversions: Iterable[tuple[str, str]] = FIGURE_8) -> Mapping[str, int]:
    """Return the number of instances of each kind of hardware in a converter.

    A conversion needs as many instances of a kind as are active at the same time. For example, the block
    ``offsets`` of a conversion in two passes shares the prefix sum of ``scan``, as they run at different
    times. ``scan_counts`` runs beside ``scan``, and is a second prefix sum. Blocks that differ only by their
    number, such as ``divide`` and ``divide_2``, count once. Recipes are those of matrices.

    Args:
        variant: ``mint_b``, ``mint_m`` or ``mint_mr``.
        conversions: source and target format of each conversion that the converter supports.

    Raises:
        KeyError: if the variant does not exist.
        WorkloadError: if no recipe exists for one of the conversions.
    """
    by_conversion = [_count_hardware(*pair) for pair in conversions]
    separate: Counter[str] = sum(by_conversion, Counter())
    shared = {kind: max(counts[kind] for counts in by_conversion) for kind in separate}
    not_borrowed = {kind: number for kind, number in shared.items() if kind not in BORROWED}
    return {"mint_b": dict(separate), "mint_m": shared, "mint_mr": not_borrowed}[variant]


def _count_hardware(source: str, target: str) -> Counter[str]:
    """Return the number of instances of each kind of hardware that one conversion needs."""
    names = {parse_kind(block) for block in find_recipe(source, target).blocks}
    # The counts, which ``offsets`` adds up, are complete only after the pass in which ``scan`` runs
    if "scan" in names:
        names.discard("offsets")
    # "write" shares the memory controller of "read"
    return Counter(KINDS[name] for name in names - {*WIRES, "write"})


def waits_for_host(variant: str, overlap: str = "none") -> tuple[str, ...]:
    """Return the kinds of hardware that a converter cannot use while the host computes.

    Args:
        variant: ``mint_b``, ``mint_m`` or ``mint_mr``.
        overlap: overlap of MINT_mr with the host's computation: ``none``, or ``activation_only``. With
            ``activation_only``, the host's dividers are free; its adders are busy, which prefix sums use too.

    Raises:
        KeyError: if the variant or the overlap does not exist.
    """
    not_dividers = tuple(kind for kind in BORROWED if kind != "dividers")
    busy = {"none": BORROWED, "activation_only": not_dividers}[overlap]
    return {"mint_b": (), "mint_m": (), "mint_mr": busy}[variant]
