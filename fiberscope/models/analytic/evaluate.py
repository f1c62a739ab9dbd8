"""The three steps one after the other, of one mapping or of many at once.

Each step only takes the tables of the one before: dense traffic, sparse traffic, cycles and energy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.architecture import Architecture
from fiberscope.models.analytic.cost import Cost, cost
from fiberscope.models.analytic.dataflow import Traffic, dataflow
from fiberscope.models.analytic.density import Numbers
from fiberscope.models.analytic.energies import Energies
from fiberscope.models.analytic.fits import Fault, first_faults, loops_in_words, mesh_faults, room_faults
from fiberscope.models.analytic.mapping import Mappings
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.safs import SparseFeatures
from fiberscope.models.analytic.sparse import Sparse, sparse

__all__ = ["Design", "Evaluated", "evaluate_many"]


@dataclass(frozen=True)
class Design:
    """Design that mappings share: the machine, the problem, its sparse optimizations, and energies."""

    architecture: Architecture
    problem: Problem
    features: SparseFeatures
    energies: Energies
    options: Options


@dataclass(frozen=True)
class Evaluated:
    """Mappings with what they cost; arrays over the mappings.

    Args:
        design, mappings: what was evaluated.
        faults: what mappings may fail by, in the order in which they are looked for.
        fault: the first that each mapping fails by, counted from 1; 0: it can be had.
        traffic, counts, cost: the tables of the three steps.
        seconds: that each step took.
    """

    design: Design
    mappings: Mappings
    faults: Sequence[Fault]
    fault: NDArray[np.int64]
    traffic: Traffic
    counts: Sparse
    cost: Cost
    seconds: tuple[float, float, float]

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Return which mappings are valid."""
        return np.asarray(self.fault == 0)

    @property
    def reason(self) -> NDArray[np.int64]:
        """Why each cannot be had, as a place in ``REASONS``; 0: it can."""
        reasons = np.array([0, *(fault.reason for fault in self.faults)])
        return np.asarray(reasons[self.fault])

    def explained(self, number: int = 0) -> str:
        """Why a mapping cannot be had, and where; empty where it can."""
        if not self.fault[number]:
            return ""
        fault = self.faults[self.fault[number] - 1]
        if fault.place is None:
            return str(fault)
        design = self.design
        parts = design.problem, design.architecture, design.features, self.traffic
        return f"{fault}: {loops_in_words(*parts, fault.place, number)}"

    @property
    def cycles(self) -> Numbers:
        """Return the cycles of the whole problem."""
        return self.cost.cycles

    @property
    def energy_pj(self) -> Numbers:
        """Return the energy of the whole problem."""
        return self.cost.energy_pj

    @property
    def edp(self) -> Numbers:
        """Joules times cycles."""
        return self.energy_pj * 1e-12 * self.cycles


def evaluate_many(design: Design, mappings: Mappings, traffic: Traffic | None = None) -> Evaluated:
    """Evaluate mappings; those that cannot be had are evaluated as if they could.

    Args:
        design: what they have in common.
        mappings: which.
        traffic: of the same problem shape and mappings, where it is known: densities, formats and features
            do not change it.
    """
    began = perf_counter()
    traffic = traffic or dataflow(design.problem, mappings, design.options)
    flowed = perf_counter()
    levels = design.architecture.levels
    counts = sparse(
        design.problem,
        traffic,
        design.features,
        design.options,
        tuple(level.block for level in levels),
        tuple(energy["read"] for energy in design.energies.levels),
    )
    thinned = perf_counter()
    machine = design.architecture
    costs = cost(design.problem, machine, design.features, traffic, counts, design.energies, design.options)
    faults = [
        *mesh_faults(design.problem, machine, mappings),
        *room_faults(design.problem, machine, design.features, traffic, counts.stored),
    ]
    fault = first_faults(len(mappings), faults)
    ended = perf_counter()
    seconds = (flowed - began, thinned - flowed, ended - thinned)
    return Evaluated(design, mappings, faults, fault, traffic, counts, costs, seconds)
