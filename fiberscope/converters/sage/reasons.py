"""Why a choice is the best: for each of its formats the best that does without it, and what that pays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from fiberscope.converters.sage.search import Choice, Prediction

WHAT = {
    "mcf_a": "A in memory",
    "mcf_b": "B in memory",
    "acf_a": "A to compute in",
    "acf_b": "B to compute in",
}
PARTS = {
    "dram_cycles": "cycles of DRAM",
    "streaming_cycles": "cycles of streaming conversion",
    "two_pass_cycles": "cycles of a second pass",
    "compute_cycles": "cycles of computing",
    "dram_picojoules": "energy of DRAM",
    "conversion_picojoules": "energy of conversion",
    "compute_picojoules": "energy of computing",
}


@dataclass(frozen=True)
class Reason:
    """Worth of one of the formats.

    Args:
        what: of which operand, and for what.
        chosen: the format.
        instead: the best choice without it.
        product: its energy-delay product over that of the best.
        because: the part of its cost that grows most, beside what grows of the whole.
    """

    what: str
    chosen: str
    instead: Choice
    product: float
    because: str


def reasons(ranked: Sequence[Prediction]) -> list[Reason]:
    """Why the first is the first; formats without an alternative are left out."""
    best = ranked[0]
    return [reason for name in WHAT for reason in _reason(name, best, ranked[1:])]


def _reason(name: str, best: Prediction, others: Sequence[Prediction]) -> Iterator[Reason]:
    chosen = getattr(best.choice, name)
    other = next((prediction for prediction in others if getattr(prediction.choice, name) != chosen), None)
    if other is not None:
        ratio = other.product / best.product if best.product else 1.0
        yield Reason(WHAT[name], chosen, other.choice, ratio, _because(best, other))


def _because(best: Prediction, other: Prediction) -> str:
    """The part that grows most, as a part of the delay or of all energy."""
    was, now = asdict(best), asdict(other)

    def growth(part: str) -> float:
        whole = best.cycles if part.endswith("cycles") else best.picojoules
        return float(now[part] - was[part]) / whole if whole else 0.0

    most = max(PARTS, key=growth)
    if growth(most) <= 0:
        return "equal"
    of = "delay" if most.endswith("cycles") else "energy"
    return f"{PARTS[most]} {was[most]:,.0f} to {now[most]:,.0f}: {growth(most):+.2%} of the {of}"
