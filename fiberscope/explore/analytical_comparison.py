"""Analytical estimate of a run's cycles from statistics of its operands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fiberscope.base.errors import InputError
from fiberscope.models.analytic.api import evaluate_case
from fiberscope.models.analytic.inputs import Case
from fiberscope.models.analytic.phases import read_phases
from fiberscope.models.analytic.read_problem import LARGEST
from fiberscope.models.analytic.report import find_limits
from fiberscope.results.report.document import Report
from fiberscope.results.report.numbers import flatten_parameters

FILE = "analytic.yaml"


@dataclass(frozen=True)
class Phase:
    """One of several consecutive loop nests.

    Args:
        name: the name of the phase.
        cycles: its cycles, rounded up.
        computes: its operations that take place, rounded.
        limit: the level or compute unit that determines the cycles.
    """

    name: str
    cycles: int
    computes: int
    limit: str


@dataclass(frozen=True)
class AnalyticalEstimate:
    """An analytical estimate of a run.

    Args:
        phases: the loop nests; empty if the model does not apply.
        without: parts of the machine that no nest models, or the reason for an empty estimate.
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
        is_single = len(self.phases) == 1
        return ", ".join(
            phase.limit if is_single else f"{phase.limit} in {phase.name}" for phase in self.phases
        )


def estimate_analytically(
    machine: str, folder: Path, event: Report, trace: Report
) -> AnalyticalEstimate | None:
    """Estimate a run by the loop nests of a machine; None for a machine without loop nests.

    Args:
        machine: the name of the machine in messages.
        folder: the folder of the machine, which may have an ``analytic.yaml``.
        event: the simulated run; shapes and numbers of nonzeros of its operands are used.
        trace: the run of the trace model, with parameters in base units and tile sizes.

    Raises:
        ConfigurationError: the file is invalid.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    operands = event.workload.operands
    if not all(operand.nonzeros for operand in operands):
        return AnalyticalEstimate((), ("an operand has no nonzeros",))
    if math.prod(operands[0].shape) * operands[-1].shape[-1] > LARGEST // 2:  # tiles may be padded
        return AnalyticalEstimate((), (f"dense, it would have more than {LARGEST // 2:.0e} products",))
    symbols = trace.config["symbols"]
    values = {**flatten_parameters(trace.config), **symbols, **_list_problem_symbols(event, symbols)}
    phases = read_phases(path, f"{machine}/{FILE}", values)
    try:
        return AnalyticalEstimate(
            tuple(_evaluate_phase(name, *cases) for name, cases in phases.cases.items()), phases.without
        )
    except InputError as fault:
        return AnalyticalEstimate((), (str(fault),))


def _evaluate_phase(name: str, case: Case, *alternatives: Case) -> Phase:
    """Evaluate the first case whose mapping is possible.

    Raises:
        InputError: no mapping is possible.
    """
    try:
        evaluation = evaluate_case(case)
    except InputError:
        if alternatives:
            return _evaluate_phase(name, *alternatives)
        raise
    computes = round(float(evaluation.counts.computes.actual[0]))
    # the limits are in decreasing order of cycles
    return Phase(name, math.ceil(float(evaluation.cycles[0])), computes, next(iter(find_limits(evaluation))))


def _list_problem_symbols(event: Report, tiles: Mapping[str, int]) -> dict[str, object]:
    """Return the kind of the problem, and the sizes and nonzeros of a product.

    A and B have counted nonzeros. Z has the expected nonzeros of a product of uniform operands. Z1 has the
    mean nonzeros at each write of a tile of Z: after each tile of K if M has several tiles, else after the
    last.
    """
    kind: dict[str, object] = {"problem.kind": event.problem.kind if event.problem else ""}
    # the only operand of A times A is both
    a, b = (event.workload.operands[index] for index in (0, -1))
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0]:
        return kind
    (rows, inner), columns = a.shape, b.shape[1]
    # of one k: that A[i, k] and B[k, j] are both nonzero, if the operands are uniform and independent
    match_probability = a.nonzeros / (rows * inner) * (b.nonzeros / (inner * columns))

    def nonzeros(k_share: float) -> float:
        """Return the expected nonzeros after a share of K: elements with at least one pair that matches."""
        return float(rows * columns * (1.0 - (1.0 - match_probability) ** (inner * k_share)))

    sizes = {"M": rows, "K": inner, "N": columns, "A": a.nonzeros, "B": b.nonzeros, "Z": nonzeros(1.0)}
    write_count = -(-inner // tiles["K1"]) if rows > tiles.get("M1", rows) else 1
    sizes["Z1"] = sum(nonzeros((index + 1) / write_count) for index in range(write_count)) / write_count
    return kind | sizes
