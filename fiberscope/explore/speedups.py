"""Designs of one machine beside one another: how much faster each is than the first, on several problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from fiberscope.accelerators.composition import PartFactory
from fiberscope.accelerators.machine import Accelerator
from fiberscope.explore.tables import load_available, read_table, simulate_to_end
from fiberscope.results.report.document import Report

__all__ = ["Designs", "Ratio", "SpeedupRow", "has_designs", "read_designs", "speedups"]

FILE = "designs.yaml"


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ratio(_Row):
    """Speed-up of a design over another by one source; ``value`` as the source has it."""

    design: str
    over: str
    what: str = Field(min_length=1)
    value: str = Field(min_length=1)
    source: str = Field(min_length=20)


class Designs(_Row):
    """The designs of a machine by their settings, the first of which the others are compared with.

    ``problems`` are those that each workload is run with, by name; ``workloads`` what is run, each with the
    names of its problems.
    """

    designs: dict[str, dict[str, str | int]] = Field(min_length=2)
    problems: dict[str, dict[str, str | int]] = Field(min_length=1)
    workloads: dict[str, tuple[str, ...]] = Field(min_length=1)
    published: tuple[Ratio, ...] = ()


@dataclass(frozen=True)
class SpeedupRow:
    """One problem on one workload: its iterations, and by design cycles and edges visited in a nanosecond."""

    workload: str
    source: str
    problem: str
    iterations: int
    edges_per_ns: Mapping[str, float]
    cycles: Mapping[str, int]

    @property
    def speedups(self) -> dict[str, float]:
        """Return the speed-up of each design over the first."""
        first = next(iter(self.cycles.values()))
        return {name: first / cycles for name, cycles in self.cycles.items()}


def has_designs(accelerator: Accelerator[Any]) -> bool:
    """Return whether a machine has designs to be laid side by side."""
    return _path(accelerator).is_file()


def _path(accelerator: Accelerator[Any]) -> Path:
    return accelerator.folder / FILE


def read_designs(accelerator: Accelerator[Any]) -> Designs:
    """The table of a machine.

    Raises:
        InputError: the file is not as it should be.
    """
    return read_table(_path(accelerator), Designs, accelerator.name)


def speedups(
    accelerator: Accelerator[Any],
    workloads: Sequence[str] = (),
    *,
    settings: Mapping[str, object] | None = None,
    parts: Mapping[str, PartFactory] | None = None,
    tell: Callable[[str], None] = lambda _line: None,
) -> list[SpeedupRow]:
    """Run every problem on every workload with all designs.

    Args:
        accelerator: the machine.
        workloads: some of those in its table, or any other, which is run with all problems; by default all of
            the table that are at hand.
        settings: parameters over those of the designs.
        parts: blocks of one's own, as ``simulate`` takes them.
        tell: called with a line about each run that begins, and each workload left out.

    Raises:
        WorkloadError: a workload asked for by name is not at hand; no surrogate stands in for it, as the
            tails of those of graphs were chosen to bring published means about.
    """
    table, runs = read_designs(accelerator), []
    for name in workloads or table.workloads:
        workload = load_available(name, surrogates=False, demanded=bool(workloads), tell=tell)
        for problem in table.workloads.get(name, tuple(table.problems)) if workload else ():
            reports = {}
            for design, chosen in table.designs.items():
                tell(f"{name}, {problem}, {design}")
                entries = {**chosen, **table.problems[problem], **(settings or {})}
                reports[design] = simulate_to_end(accelerator, workload, settings=entries, parts=parts)
            runs.append(_compare_speedup(name, problem, reports))
    return runs


def _compare_speedup(name: str, problem: str, reports: Mapping[str, Report]) -> SpeedupRow:
    first = next(iter(reports.values()))
    return SpeedupRow(
        workload=name,
        source=first.workload.source,
        problem=problem,
        iterations=len(first.iterations),
        edges_per_ns={design: _edges(report) for design, report in reports.items()},
        cycles={design: report.cycles for design, report in reports.items()},
    )


def _edges(report: Report) -> float:
    """Edges visited in a nanosecond."""
    return report.operations["edges"] / (report.seconds * 1e9)
