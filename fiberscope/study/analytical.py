"""The analytical model beside a run: what statistics of the operands say of its cycles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fiberscope.errors import InputError
from fiberscope.models.analytic.api import evaluated
from fiberscope.models.analytic.phases import read_phases
from fiberscope.models.analytic.report import limits
from fiberscope.report.document import Report

__all__ = ["FILE", "Analytical", "Phase", "analytical"]

FILE = "analytic.yaml"


@dataclass(frozen=True)
class Phase:
    """One of the nests that follow one another.

    Args:
        name: of the phase.
        cycles: that it takes.
        computes: operations that are done.
        limit: what sets the cycles: a level, or what computes.
    """

    name: str
    cycles: int
    computes: int
    limit: str


@dataclass(frozen=True)
class Analytical:
    """A run by the analytical model.

    Args:
        phases: its nests; none if the model says nothing of the run.
        without: what of the machine no nest says, or why there are none.
    """

    phases: tuple[Phase, ...]
    without: tuple[str, ...]

    @property
    def cycles(self) -> int:
        """Of all phases."""
        return sum(one.cycles for one in self.phases)

    @property
    def limits(self) -> str:
        """What limits each phase."""
        alone = len(self.phases) == 1
        return ", ".join(one.limit if alone else f"{one.limit} in {one.name}" for one in self.phases)


def analytical(machine: str, folder: Path, event: Report, trace: Report) -> Analytical | None:
    """What the nests of a machine say of a run; None if it has none.

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
    if not all(one.nonzeros for one in event.workload.operands):
        return Analytical((), ("an operand has no nonzeros",))
    known = {**dict(_leaves(trace.config)), **trace.config["symbols"], **_problem(event)}
    phases = read_phases(path, f"{machine}/{FILE}", known)
    found = []
    for name, case in phases.cases.items():
        try:
            one = evaluated(case)
        except InputError as fault:
            return Analytical((), (str(fault),))
        cycles, computes = math.ceil(float(one.cycles[0])), round(float(one.counts.computes.actual[0]))
        found.append(Phase(name, cycles, computes, next(iter(limits(one)))))
    return Analytical(tuple(found), phases.without)


def _leaves(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Parameters by dotted key."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _problem(event: Report) -> dict[str, object]:
    """The kind of the problem; of a product its sizes, nonzeros of A and B, and those of Z in the mean."""
    kind: dict[str, object] = {"problem.kind": event.problem.kind if event.problem else ""}
    a, *others = event.workload.operands
    b = others[0] if others else a
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0]:
        return kind
    (rows, shared), columns = a.shape, b.shape[1]
    met = a.nonzeros / (rows * shared) * (b.nonzeros / (shared * columns))
    sums = rows * columns * (1.0 - (1.0 - met) ** shared)
    return kind | {"M": rows, "K": shared, "N": columns, "A": a.nonzeros, "B": b.nonzeros, "Z": sums}
