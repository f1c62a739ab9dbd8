"""Sweep over the density of a tensor: one dataflow, then the steps that depend on nonzeros."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.base.errors import InputError
from fiberscope.models.analytic.evaluate import evaluate_many
from fiberscope.models.analytic.inputs import read_case
from fiberscope.models.analytic.uniform import FixedStructured, Uniform
from fiberscope.results.report.table import Table
from fiberscope.workloads.errors import suggest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# density models by name: only models that a shape and a density determine, as a sweep varies nothing else
MODELS = {"hypergeometric": Uniform, "fixed_structured": FixedStructured}


@dataclass(frozen=True)
class Point:
    """Cost of a mapping at a density.

    Args:
        density: the density of the tensor.
        cycles, energy_pj: the cost; None for an invalid mapping.
        fault: why the mapping is invalid; empty for a valid mapping.
    """

    density: float
    cycles: int | None
    energy_pj: float | None
    fault: str = ""


@dataclass(frozen=True)
class DensitySweep:
    """A mapping at several densities of one tensor.

    Args:
        case: name of the case.
        tensor: name of the tensor whose density varies.
        points: a point for each density, in the order of the request.
    """

    case: str
    tensor: str
    points: tuple[Point, ...]

    def table(self) -> Table:
        """Return a table with a row for each density; an invalid mapping has its fault in place of costs."""
        table = Table(f"{self.case} by the density of {self.tensor}", ("Density", "Cycles", "Energy, pJ"))
        for point in self.points:
            if point.cycles is None or point.energy_pj is None:
                table.add(f"{point.density:g}", point.fault, "")
            else:
                table.add(f"{point.density:g}", f"{point.cycles:,}", f"{point.energy_pj:,.6g}")
        return table

    def figure(self) -> Figure:
        """Draw cycles and energy over the density, on logarithmic axes, for valid mappings only.

        Raises:
            InputError: matplotlib is missing.
        """
        from fiberscope.results.report.pictures import blank  # noqa: PLC0415  (matplotlib is an extra)

        picture = blank(f"{self.case} by the density of {self.tensor}", 3.2)
        feasible = [point for point in self.points if point.cycles is not None]
        for panel, (measure, unit) in enumerate((("cycles", "cycles"), ("energy_pj", "pJ")), start=1):
            axes = picture.add_subplot(1, 2, panel)
            costs = [getattr(point, measure) for point in feasible]
            axes.loglog([point.density for point in feasible], costs, "o-")
            axes.set_xlabel(f"density of {self.tensor}")
            axes.set_ylabel(unit)
        return picture

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return self.table().html()


def density_sweep(
    paths: Sequence[str | Path],
    tensor: str,
    densities: Sequence[float],
    *,
    distribution: str = "hypergeometric",
    settings: Mapping[str, object] | None = None,
) -> DensitySweep:
    """Evaluate a mapping at several densities of a tensor; the other tensors keep their densities.

    Args:
        paths: files, or the name of a design that ships, as for ``fiberscope.analyze``; not a machine and its
            operands.
        tensor: name of the tensor.
        densities: shares of nonzeros, from 0 to 1; each is checked only after the densities before it are
            evaluated.
        distribution: ``hypergeometric`` or ``fixed_structured``; it replaces the tensor's own density model.
        settings: options of the model.

    Raises:
        ConfigurationError, InputError: an input is invalid, there is no mapping, no such tensor or no such
            distribution, or a density is not from 0 to 1.
    """
    case = read_case(paths, settings)
    problem = case.design.problem
    names = [operand.name for operand in problem.tensors]
    if tensor not in names:
        raise InputError(f"{case.name}: there is no data space {tensor}; {suggest(tensor, names)}")
    if distribution not in MODELS:
        raise InputError(f"there is no distribution {distribution} to sweep; {suggest(distribution, MODELS)}")
    number, mappings = names.index(tensor), case.loops.batch()

    def points() -> Iterator[Point]:
        """Yield the cost at each density, in order."""
        traffic = None
        for density in densities:
            if not 0.0 <= density <= 1.0:
                raise InputError(f"a density is from 0 to 1, not {density}")
            models = list(problem.densities)
            # each density begins from the models of the problem, so that only this tensor's model changes
            models[number] = MODELS[distribution](problem.shape(number), density)
            design = replace(case.design, problem=replace(problem, densities=tuple(models)))
            evaluation = evaluate_many(design, mappings, traffic)
            traffic = evaluation.traffic  # dense traffic does not depend on the density: computed once
            if evaluation.valid[0]:  # the batch has this mapping alone
                yield Point(density, int(evaluation.cycles[0]), float(evaluation.energy_pj[0]))
            else:
                yield Point(density, None, None, evaluation.explain())

    return DensitySweep(case.name, tensor, tuple(points()))
