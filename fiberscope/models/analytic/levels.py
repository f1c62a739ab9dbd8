"""The tables of an evaluation level by level, as the report has them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fiberscope.models.analytic.actions import Access, FormatAccess
from fiberscope.models.analytic.cost import LevelCost
from fiberscope.models.analytic.density import Numbers
from fiberscope.models.analytic.evaluate import Evaluated
from fiberscope.report import levels as parts

__all__ = ["Levels"]

_NAMES = {"FixedStructured": "fixed-structured", "Uniform": "hypergeometric"}


@dataclass(frozen=True)
class Levels:
    """One mapping of an evaluation, told for the report."""

    evaluated: Evaluated
    row: int = 0

    def all(self) -> dict[str, parts.StorageLevel]:
        """Every level under its name, from the outermost."""
        levels = self.evaluated.design.architecture.levels
        return {level.name: self._level(number) for number, level in enumerate(levels)}

    def _level(self, number: int) -> parts.StorageLevel:
        cost, problem = self.evaluated.cost.levels[number], self.evaluated.design.problem
        cycles = self._at(cost.cycles)
        kept = [at for at in range(len(problem.tensors)) if (number, at) in self.evaluated.counts.counted]
        return parts.StorageLevel(
            cycles=math.ceil(cycles),
            throttling=self._at(self.evaluated.cost.compute_cycles) / max(cycles, 1.0),
            energy_pj=self._at(cost.total_pj),
            leak_pj=self._at(cost.leak_pj),
            tensors={problem.tensors[at].name: self._tensor(number, at, cost) for at in kept},
        )

    def _tensor(self, number: int, tensor: int, cost: LevelCost) -> parts.LevelTensor:
        evaluated, place = self.evaluated, (number, tensor)
        problem, one = evaluated.design.problem, evaluated.counts.counted[place]
        stored, dense = evaluated.counts.stored[place], evaluated.traffic.dense[place]
        kind = evaluated.design.features.formats.get(place)
        density = type(problem.densities[tensor]).__name__
        energy = self._at(cost.energy_pj[tensor])
        done = sum(self._at(access.actual) for access in (one.reads, one.fills, one.updates))
        average = self._at(cost.instances[tensor])
        ways = zip(("reads", "fills", "updates"), one.formats, strict=False)
        formats: dict[str, Any] = {f"format_{way}": self._formats(access) for way, access in ways}
        largest = stored.largest
        return parts.LevelTensor(
            tile=tuple(
                int(self._at(extent))
                for extent in problem.extents(tensor, evaluated.traffic.nest.tile(number))
            ),
            density=_NAMES.get(density, density.lower()),
            words=self._at(stored.words),
            format=str(kind) if kind else "none",
            format_words=()
            if largest is None
            else self._pairs(np.ceil(largest.metadata), np.ceil(largest.payload)),
            instances=parts.Instances(
                maximal=int(evaluated.traffic.instances[self.row, number]), average=average
            ),
            reads=self._accesses(dense.reads, one.reads),
            fills=self._accesses(dense.fills, one.fills),
            updates=self._accesses(dense.updates, one.updates),
            **formats,
            temporal_reductions=self._at(one.reductions),
            address_generations=done,
            energy_per_access_pj=energy / done if done else 0.0,
            energy_per_instance_pj=energy,
            energy_pj=energy * average,
            **self._bandwidths(cost, tensor, average / evaluated.traffic.instances[self.row, number]),
        )

    def _bandwidths(self, cost: LevelCost, tensor: int, used: float) -> dict[str, Any]:
        cycles = max(self._at(self.evaluated.cycles), 1.0)
        found: dict[str, Any] = {}
        for way in ("read", "write"):
            words = self._at(getattr(cost, f"{way}_words")[tensor])
            metadata = self._at(getattr(cost, f"format_{way}_words")[tensor])
            found[f"{way}_bandwidth"] = words * used / cycles
            found[f"{way}_format_share"] = metadata / words if words else 0.0
        return found

    def _accesses(self, dense: Numbers | np.ndarray, access: Access) -> parts.Accesses:
        return parts.Accesses(
            algorithmic=self._at(dense),
            actual=self._at(access.actual),
            gated=self._at(access.gated),
            skipped=self._at(access.skipped),
        )

    def _formats(self, access: FormatAccess) -> parts.FormatAccesses:
        both = access.metadata, access.payload
        return parts.FormatAccesses(
            actual=self._pairs(*(one.actual for one in both)),
            gated=self._pairs(*(one.gated for one in both)),
            skipped=self._pairs(*(one.skipped for one in both)),
        )

    def _pairs(self, metadata: Numbers, payload: Numbers) -> tuple[tuple[float, float], ...]:
        return tuple(
            (float(one), float(two)) for one, two in zip(metadata[self.row], payload[self.row], strict=True)
        )

    def _at(self, numbers: Numbers | np.ndarray) -> float:
        """Of this mapping; what is the same of all may be told once."""
        return float(numbers[self.row if len(numbers) > 1 else 0])
