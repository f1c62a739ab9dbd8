"""Reasons for the best choice of formats.

A choice has four formats. For each of them, a reason names the best choice with another format in its place,
and the part of the cost that this choice increases most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from fiberscope.converters.sage.search import Choice, Prediction

WHAT = {  # use of each format of a ``Choice``, for the report
    "mcf_a": "A in memory",
    "mcf_b": "B in memory",
    "acf_a": "A to compute in",
    "acf_b": "B to compute in",
}
# The transfer of the output is no part, as it is the same for every choice.
PARTS = {  # part of the cost of each attribute of a ``Prediction``, for the report
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
    """The reason for one of the four formats of the best choice.

    Args:
        what: operand and use of the format, as in ``WHAT``.
        chosen: name of the format.
        instead: best choice with another format in its place.
        product: energy-delay product of ``instead``, divided by that of the best choice; 1 for a
            best product of 0.
        because: text that names the part of the cost that grows most, with its growth relative to the delay
            or to the energy; ``equal`` if no part grows.
    """

    what: str
    chosen: str
    instead: Choice
    product: float
    because: str


def explain_first(ranked: Sequence[Prediction]) -> list[Reason]:
    """Return the reasons for the first of several predictions, without formats that have no alternative.

    Args:
        ranked: predictions, best first, as of ``search.rank``; at least one.
    """
    best = ranked[0]
    return [reason for name in WHAT for reason in _explain_format(name, best, ranked[1:])]


def _explain_format(name: str, best: Prediction, others: Sequence[Prediction]) -> Iterator[Reason]:
    chosen = getattr(best.choice, name)
    # The first prediction in the ranking is the best; its other three formats may differ too
    other = next((prediction for prediction in others if getattr(prediction.choice, name) != chosen), None)
    if other is not None:
        ratio = other.product / best.product if best.product else 1.0
        yield Reason(WHAT[name], chosen, other.choice, ratio, _explain_cost(best, other))


def _explain_cost(best: Prediction, other: Prediction) -> str:
    """Describe the part of the cost that grows most, relative to the whole delay or the whole energy."""
    was, now = asdict(best), asdict(other)

    def growth(part: str) -> float:
        whole = best.cycles if part.endswith("cycles") else best.picojoules
        return float(now[part] - was[part]) / whole if whole else 0.0

    most = max(PARTS, key=growth)
    if growth(most) <= 0:
        return "equal"
    of = "delay" if most.endswith("cycles") else "energy"
    return f"{PARTS[most]} {was[most]:,.0f} to {now[most]:,.0f}: {growth(most):+.2%} of the {of}"
