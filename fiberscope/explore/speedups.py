"""Speed-ups of the designs of a machine over the first design, on several problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fiberscope.accelerators.composition import PartFactory
from fiberscope.accelerators.machine import Accelerator
from fiberscope.explore.tables import load_available, read_table, simulate_to_end
from fiberscope.results.report.document import Report
from fiberscope.workloads.errors import suggest

FILE = "designs.yaml"


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ratio(_Row):
    """Published speed-up of a design over another.

    Args:
        design, over: names of both designs, not checked; ``over`` is empty for an absolute figure of the
            design.
        what: the problems over which the speed-up is taken, or the quantity of an absolute figure.
        value: the figure, as the source writes it.
        source: the table, figure or section.
    """

    design: str
    over: str
    what: str = Field(min_length=1)
    value: str = Field(min_length=1)
    source: str = Field(min_length=20)


class Designs(_Row):
    """The content of ``designs.yaml``.

    Args:
        designs: parameters of the machine by dotted name, for each design; the first is the baseline.
        problems: parameters by problem, which override those of a design.
        workloads: names of the problems of each workload.
        published: published speed-ups and figures of designs.
    """

    designs: dict[str, dict[str, str | int]] = Field(min_length=2)
    problems: dict[str, dict[str, str | int]] = Field(min_length=1)
    workloads: dict[str, tuple[str, ...]] = Field(min_length=1)
    published: tuple[Ratio, ...] = ()

    @model_validator(mode="after")
    def _check_problems(self) -> Self:
        for workload, names in self.workloads.items():
            for name in names:
                if name not in self.problems:
                    raise ValueError(
                        f"{workload}: there is no problem {name}; {suggest(name, self.problems)}"
                    )
        return self


@dataclass(frozen=True)
class SpeedupRow:
    """Results of one problem on one workload, by design.

    Args:
        workload: name of the workload.
        source: origin of its matrix, as in a report: ``real`` or ``generated``.
        problem: name of the problem in ``designs.yaml``.
        iterations: number of iterations in the run of the first design.
        edges_per_ns: visited edges per simulated nanosecond, by design.
        cycles: cycles by design; the first design is the baseline.
    """

    workload: str
    source: str
    problem: str
    iterations: int
    edges_per_ns: Mapping[str, float]
    cycles: Mapping[str, int]

    @property
    def speedups(self) -> dict[str, float]:
        """Return the speed-up of each design over the first, in cycles: clock frequencies do not count."""
        baseline = next(iter(self.cycles.values()))
        return {name: baseline / cycles for name, cycles in self.cycles.items()}


def has_designs(accelerator: Accelerator[Any]) -> bool:
    """Return whether a machine has designs to compare."""
    return _find_path(accelerator).is_file()


def _find_path(accelerator: Accelerator[Any]) -> Path:
    return accelerator.folder / FILE


def read_designs(accelerator: Accelerator[Any]) -> Designs:
    """Read the designs of a machine.

    Raises:
        InputError, ConfigurationError: the file cannot be read or is invalid.
    """
    return read_table(_find_path(accelerator), Designs, accelerator.name)


def speedups(
    accelerator: Accelerator[Any],
    workloads: Sequence[str] = (),
    *,
    settings: Mapping[str, object] | None = None,
    parts: Mapping[str, PartFactory] | None = None,
    tell: Callable[[str], None] = lambda _line: None,
) -> list[SpeedupRow]:
    """Run the problems of every workload with all designs.

    The machine's problems must be on graphs: the results are in visited edges. Without the operation
    ``edges``, the first problem ends in a ``KeyError``.

    Args:
        accelerator: the machine.
        workloads: workloads of the table, or other workloads, which run all problems; all available workloads
            of the table by default.
        settings: parameters that override those of the problems, which override those of the designs.
        parts: the user's blocks, as for ``simulate``.
        tell: called with a line about each run before its start, and about each skipped workload.

    Returns:
        A row for each workload and problem, in the order of the runs.

    Raises:
        InputError, ConfigurationError: the machine has no valid ``designs.yaml``.
        WorkloadError: a workload requested by name is not available. Surrogates are not used, because those
            of graphs were fitted to published means.
        KeyboardInterrupt: a run was interrupted. The errors of ``simulate`` are raised too.
    """
    table, runs = read_designs(accelerator), []
    for name in workloads or table.workloads:
        # loaded once for all designs, so that all of them run the same matrix
        workload = load_available(name, surrogates=False, is_required=bool(workloads), tell=tell)
        # a workload that the table lacks runs all problems, an unavailable workload none
        for problem in table.workloads.get(name, tuple(table.problems)) if workload else ():
            reports = {}
            for design, design_settings in table.designs.items():
                tell(f"{name}, {problem}, {design}")
                entries = {**design_settings, **table.problems[problem], **(settings or {})}
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
        edges_per_ns={design: _compute_edges_per_ns(report) for design, report in reports.items()},
        cycles={design: report.cycles for design, report in reports.items()},
    )


def _compute_edges_per_ns(report: Report) -> float:
    """Return the edges visited per nanosecond."""
    return report.operations["edges"] / (report.seconds * 1e9)
