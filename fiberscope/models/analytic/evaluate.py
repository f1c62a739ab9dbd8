"""Evaluation of one or several mappings in three steps: dense traffic, sparse traffic, cycles and energy.

Each step uses only the tables of the step before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from fiberscope.models.analytic.architecture import Architecture
from fiberscope.models.analytic.arrays import Booleans, Integers, Numbers
from fiberscope.models.analytic.cost import Cost, compute_cost
from fiberscope.models.analytic.dataflow import Traffic, compute_dataflow
from fiberscope.models.analytic.energies import Energies
from fiberscope.models.analytic.fits import (
    Fault,
    describe_loops,
    find_capacity_faults,
    find_first_faults,
    find_mesh_faults,
)
from fiberscope.models.analytic.mapping import Mappings
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.safs import SparseFeatures
from fiberscope.models.analytic.sparse import Sparse, count_sparse_actions


@dataclass(frozen=True)
class Design:
    """The common part of the mappings of an evaluation.

    Args:
        architecture: the levels and the compute units.
        problem: the loop nest, its tensors and their densities.
        features: formats, gating and skipping.
        energies: the energy of each action.
        options: options of the model.
    """

    architecture: Architecture
    problem: Problem
    features: SparseFeatures
    energies: Energies
    options: Options


@dataclass(frozen=True)
class Evaluation:
    """Mappings with their costs; arrays over the mappings.

    Args:
        design, mappings: the inputs of the evaluation.
        faults: possible faults of mappings, in the order of the checks.
        fault: number of the first fault of each mapping, from 1; 0: the mapping is valid.
        traffic, counts, cost: the tables of the three steps.
        seconds: host time of each step; the third includes the checks of the mappings.
    """

    design: Design
    mappings: Mappings
    faults: Sequence[Fault]
    fault: Integers
    traffic: Traffic
    counts: Sparse
    cost: Cost
    seconds: tuple[float, float, float]

    @property
    def valid(self) -> Booleans:
        """Return a mask of the valid mappings."""
        return np.asarray(self.fault == 0)

    @property
    def reason(self) -> Integers:
        """Return why each mapping is invalid, as an index of ``fits.REASONS``; 0: the mapping is valid."""
        # index 0 stands for no fault, since ``fault`` counts from 1
        reasons = np.array([0, *(fault.reason for fault in self.faults)])
        return np.asarray(reasons[self.fault])

    def explain(self, number: int = 0) -> str:
        """Describe the first fault of a mapping and its location; empty for a valid mapping.

        Args:
            number: index of the mapping.
        """
        if not self.fault[number]:
            return ""
        fault = self.faults[self.fault[number] - 1]
        if fault.tile_key is None:
            return str(fault)
        design = self.design
        arguments = design.problem, design.architecture, design.features, self.traffic
        return f"{fault}: {describe_loops(*arguments, fault.tile_key, number)}"

    @property
    def cycles(self) -> Numbers:
        """Return the cycles of the whole problem, by mapping."""
        return self.cost.cycles

    @property
    def energy_pj(self) -> Numbers:
        """Return the energy of the whole problem in pJ, by mapping."""
        return self.cost.energy_pj

    @property
    def edp(self) -> Numbers:
        """Return the energy-delay product: joules times cycles."""
        return self.energy_pj * 1e-12 * self.cycles


def evaluate_many(design: Design, mappings: Mappings, traffic: Traffic | None = None) -> Evaluation:
    """Evaluate mappings; invalid mappings are evaluated, too, so that all arrays have an entry a mapping.

    Args:
        design: the common part of the mappings.
        mappings: the mappings, valid or not.
        traffic: dense traffic of the same problem shape and mappings, if it is known; densities, formats and
            features do not change it.

    Returns:
        The evaluation; ``valid`` tells which costs are of valid mappings.
    """
    start = perf_counter()
    traffic = traffic or compute_dataflow(design.problem, mappings, design.options)
    dataflow_end = perf_counter()
    levels = design.architecture.levels
    counts = count_sparse_actions(
        design.problem,
        traffic,
        design.features,
        design.options,
        tuple(level.block for level in levels),
        tuple(energy["read"] for energy in design.energies.levels),
    )
    sparse_end = perf_counter()
    machine = design.architecture
    costs = compute_cost(
        design.problem, machine, design.features, traffic, counts, design.energies, design.options
    )
    # the first fault is reported: wrong loops come first, since tiles of wrong loops mean nothing
    faults = [
        *find_mesh_faults(design.problem, machine, mappings),
        *find_capacity_faults(design.problem, machine, design.features, traffic, counts.stored_tiles),
    ]
    fault = find_first_faults(len(mappings), faults)
    end = perf_counter()
    seconds = (dataflow_end - start, sparse_end - dataflow_end, end - sparse_end)
    return Evaluation(design, mappings, faults, fault, traffic, counts, costs, seconds)
