"""Mappings that are evaluated together: which of them can be had, and the best of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.density import Numbers
from fiberscope.models.analytic.evaluate import Design, Evaluated, evaluate_many
from fiberscope.models.analytic.fits import Fault, first_faults, mesh_faults, tile_faults
from fiberscope.models.analytic.loops import Mappings
from fiberscope.models.analytic.mapping import Mapping

__all__ = ["METRICS", "Outcome", "evaluate"]

Whole = NDArray[np.int64]

# What mappings can be judged by: joules times cycles, cycles, picojoules.
METRICS: Final = {"edp": attrgetter("edp"), "delay": attrgetter("cycles"), "energy": attrgetter("energy_pj")}


@dataclass(frozen=True)
class Outcome:
    """What was found of some mappings.

    Args:
        evaluated: how many were looked at.
        rejected: how many cannot be had, by reason.
        values: of each, by the first metric; infinite if it cannot be had.
        best: the best of them, None if none can be had; among equals the first.
        costs: of the best, by the metrics.
    """

    evaluated: int
    rejected: Counter[str]
    values: Numbers = field(repr=False)
    best: Mapping | None = None
    costs: tuple[float, ...] = ()

    @property
    def valid(self) -> int:
        """How many can be had."""
        return self.evaluated - self.rejected.total()


def evaluate(design: Design, mappings: Mappings, metrics: Sequence[str]) -> Outcome:
    """Evaluate mappings, those with too many instances or too large tiles no further than that.

    Args:
        design: what they are mappings of.
        mappings: which.
        metrics: names in ``METRICS``: the first counts, the next among equals.
    """
    faults = [
        *mesh_faults(design.problem, design.architecture, mappings),
        *tile_faults(design.problem, design.architecture, design.features, mappings),
    ]
    first = first_faults(len(mappings), faults)
    rejected = _rejected(first, faults)
    left = np.flatnonzero(first == 0)
    values = np.full(len(mappings), np.inf)
    if not len(left):
        return Outcome(len(mappings), rejected, values)
    found = evaluate_many(design, mappings.only(left))
    rejected += _rejected(found.fault, found.faults)
    costs = np.stack([METRICS[name](found) for name in metrics])
    values[left] = np.where(found.valid, costs[0], np.inf)
    return Outcome(len(mappings), rejected, values, *_best(found, costs))


def _best(found: Evaluated, costs: Numbers) -> tuple[Mapping | None, tuple[float, ...]]:
    valid = np.flatnonzero(found.valid)
    if not len(valid):
        return None, ()
    best = int(valid[np.lexsort(costs[::-1, valid])[0]])
    return Mapping.of(found.mappings, best), tuple(costs[:, best].tolist())


def _rejected(first: Whole, faults: Sequence[Fault]) -> Counter[str]:
    """How many mappings fail first by which of the faults."""
    rejected: Counter[str] = Counter()
    for fault, count in zip(faults, np.bincount(first, minlength=len(faults) + 1)[1:].tolist(), strict=True):
        if count:
            rejected[str(fault)] += count
    return rejected
