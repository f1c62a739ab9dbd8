"""The analytical model beside a run: what statistics of the operands say of its cycles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fiberscope.base.errors import InputError
from fiberscope.models.analytic.api import evaluated
from fiberscope.models.analytic.inputs import Case
from fiberscope.models.analytic.phases import read_phases
from fiberscope.models.analytic.read_problem import LARGEST
from fiberscope.models.analytic.report import limits
from fiberscope.results.report.document import Report
from fiberscope.results.report.numbers import flatten_parameters

__all__ = ["FILE", "AnalyticalEstimate", "Phase", "estimate_analytically"]

FILE = "analytic.yaml"


@dataclass(frozen=True)
class Phase:
    """One of the nests that follow one another.

    Args:
        name: the name of the phase.
        cycles: that it takes.
        computes: operations that are done.
        limit: what sets the cycles: a level, or what computes.
    """

    name: str
    cycles: int
    computes: int
    limit: str


@dataclass(frozen=True)
class AnalyticalEstimate:
    """A run by the analytical model.

    Args:
        phases: its nests; none if the model says nothing of the run.
        without: what of the machine no nest says, or why there are none.
    """

    phases: tuple[Phase, ...]
    without: tuple[str, ...]

    @property
    def cycles(self) -> int:
        """Return the cycles of all phases."""
        return sum(phase.cycles for phase in self.phases)

    @property
    def limits(self) -> str:
        """Return the limit of each phase."""
        alone = len(self.phases) == 1
        return ", ".join(phase.limit if alone else f"{phase.limit} in {phase.name}" for phase in self.phases)


def estimate_analytically(
    machine: str, folder: Path, event: Report, trace: Report
) -> AnalyticalEstimate | None:
    """Estimate a run by the nests of a machine; None if it has none.

    Args:
        machine: what messages call it.
        folder: of the machine, with an ``analytic.yaml`` if it has nests.
        event: the run, of whose operands the model is told shapes and numbers of nonzeros.
        trace: of its specification, with the machine's parameters in base units and the sizes of tiles.

    Raises:
        ConfigurationError: the file says what cannot be.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    operands = event.workload.operands
    if not all(operand.nonzeros for operand in operands):
        return AnalyticalEstimate((), ("an operand has no nonzeros",))
    if math.prod(operands[0].shape) * operands[-1].shape[-1] > LARGEST // 2:  # bounds are a little larger
        return AnalyticalEstimate((), (f"dense, it would have more than {LARGEST // 2:.0e} products",))
    symbols = trace.config["symbols"]
    values = {**flatten_parameters(trace.config), **symbols, **_problem(event, symbols)}
    phases = read_phases(path, f"{machine}/{FILE}", values)
    try:
        return AnalyticalEstimate(
            tuple(_phase(name, *cases) for name, cases in phases.cases.items()), phases.without
        )
    except InputError as fault:
        return AnalyticalEstimate((), (str(fault),))


def _phase(name: str, case: Case, *others: Case) -> Phase:
    """The first of the cases whose mapping can be had.

    Raises:
        InputError: none can be.
    """
    try:
        evaluation = evaluated(case)
    except InputError:
        if others:
            return _phase(name, *others)
        raise
    computes = round(float(evaluation.counts.computes.actual[0]))
    return Phase(name, math.ceil(float(evaluation.cycles[0])), computes, next(iter(limits(evaluation))))


def _problem(event: Report, tiles: Mapping[str, int]) -> dict[str, object]:
    """The kind of the problem; of a product its sizes and nonzeros.

    Those of A and B are counted; Z has those of the mean product, and Z1 those that are there whenever a tile
    of Z is written, in the mean: after each tile of K, if there are several of M; else after the last.
    """
    kind: dict[str, object] = {"problem.kind": event.problem.kind if event.problem else ""}
    a, *others = event.workload.operands
    b = others[0] if others else a
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0]:
        return kind
    (rows, shared), columns = a.shape, b.shape[1]
    met = a.nonzeros / (rows * shared) * (b.nonzeros / (shared * columns))

    def nonzeros(part: float) -> float:
        return float(rows * columns * (1.0 - (1.0 - met) ** (shared * part)))

    sizes = {"M": rows, "K": shared, "N": columns, "A": a.nonzeros, "B": b.nonzeros, "Z": nonzeros(1.0)}
    times = -(-shared // tiles["K1"]) if rows > tiles.get("M1", rows) else 1
    sizes["Z1"] = sum(nonzeros((done + 1) / times) for done in range(times)) / times
    return kind | sizes
