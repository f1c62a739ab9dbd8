"""A machine against what was published of it: cycles, and traffic by tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fiberscope.accelerators.composition import PartFactory
from fiberscope.accelerators.machine import Accelerator
from fiberscope.base.errors import InputError
from fiberscope.explore.tables import load_available, read_table, simulate_to_end
from fiberscope.results.report.document import Report
from fiberscope.run.arguments import check_types
from fiberscope.run.find_machine import find
from fiberscope.workloads import is_gemm

__all__ = ["FetchedRun", "Figures", "Published", "Run", "TensorTraffic", "compare", "read_published"]


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Figures(_Row):
    """Figures of one source for one run.

    ``traffic`` is in bytes, or in the unit in which the algorithmic minimum of all traffic is ``minimum``;
    it is empty where nothing is said of it, and ``cycles`` are none. ``settings`` are options of this run
    alone, ``models`` those it is compared with, all if none is named. ``settled`` says what of ours was
    chosen after a run had been held to these figures, by model or of all; ``held`` that they were not known
    to us until the machine was as it is.
    """

    matrix: str
    by: Literal["reported", "TeAAL"]
    cycles: float | None = Field(default=None, gt=0)
    settings: dict[str, str | int] = Field(default_factory=dict)
    models: tuple[str, ...] = ()
    traffic: dict[str, float] = Field(default_factory=dict)
    minimum: float | None = Field(default=None, gt=0)
    settled: str | dict[str, str] = ""
    held: bool = False
    source: str = Field(min_length=20)

    def settled_with(self, model: str) -> str:
        """Describe what was tuned on the figures with this model; empty if nothing was."""
        return self.settled if isinstance(self.settled, str) else self.settled.get(model, "")


class FetchedRun(_Row):
    """A run of ours on a matrix that does not come with Fiberscope, where it could be fetched.

    ``commit`` is what ran; ``cycles`` are none where only the ``error`` against the reported was told.
    ``traffic`` is the useful bytes of all tensors, if they were recorded.
    """

    matrix: str
    model: str
    cycles: int | None = Field(default=None, gt=0)
    traffic: int | None = Field(default=None, gt=0)
    error: float
    commit: str


class RandomDraws(_Row):
    """A random matrix: ``workload`` with seeds from 1 to ``count``, as the one that was run is not known."""

    workload: str
    count: int = Field(ge=1)

    @property
    def workloads(self) -> list[str]:
        """The text of each draw."""
        return [f"{self.workload},seed={seed}" for seed in range(1, self.count + 1)]


class Published(_Row):
    """All that was published of a machine.

    ``settings`` are those of the published runs, ``models`` the models (of memory, or what else differs) that
    are compared, each by its settings. ``draws`` are the matrices that are drawn, by name; those of which no
    source says anything are predicted. ``elsewhere`` are runs on matrices that are not at hand everywhere.
    ``as_published`` names the models whose errors judge the machine, all if none is named; the others show
    what the published runs left out.
    """

    settings: dict[str, str | int]
    models: dict[str, dict[str, str | int]] = Field(min_length=1)
    draws: dict[str, RandomDraws] = Field(default_factory=dict)
    figures: list[Figures]
    elsewhere: list[FetchedRun] = Field(default_factory=list)
    as_published: tuple[str, ...] = ()

    @property
    def matrices(self) -> list[str]:
        """The matrices, in their order, those that are drawn first."""
        return list(dict.fromkeys([*self.draws, *(figures.matrix for figures in self.figures)]))

    @property
    def listed(self) -> str:
        """The matrices, for a message."""
        return ", ".join(self.matrices)

    def runs(self, matrix: str) -> dict[str, dict[str, str | int]]:
        """The settings with which a matrix is run, by model."""
        rows = [row for row in self.figures if row.matrix == matrix]
        own = {key: value for row in rows for key, value in row.settings.items()}
        wanted = {model for row in rows for model in row.models or self.models} if rows else self.models
        return {name: self.settings | model | own for name, model in self.models.items() if name in wanted}

    def is_as_published(self, model: str) -> bool:
        """Return whether the errors of a model judge the machine."""
        return not self.as_published or model in self.as_published

    def find(self, matrix: str, by: str) -> Figures | None:
        """The figures of one matrix by one source."""
        return next((row for row in self.figures if (row.matrix, row.by) == (matrix, by)), None)


@dataclass(frozen=True)
class TensorTraffic:
    """Bytes of one tensor; ``difference`` is ours less the reported, as a part of all reported traffic.

    Ours are those useful where the machine tells them from those moved, as published accounts count no more.
    """

    tensor: str
    reported: float | None
    teaal: float | None
    ours: int
    difference: float | None


@dataclass(frozen=True)
class Run:
    """One run beside what was published of it; errors are ours over theirs, less 1.

    Of a matrix that is drawn, ``cycles`` are the mean of all draws, from ``least`` to ``most``. A run that
    is not ``as_published`` shows what the published runs left out: its distance is no error of the machine.
    """

    matrix: str
    source: str
    model: str
    cycles: int
    least: int
    most: int
    reported: float | None
    error: float | None
    teaal: float | None
    teaal_error: float | None
    traffic: tuple[TensorTraffic, ...]
    as_published: bool = True


def read_published(accelerator: Accelerator[Any]) -> Published:
    """The figures of a machine.

    Raises:
        InputError: it has none, or the file is not as it should be.
    """
    path = accelerator.folder / "published.yaml"
    if not path.is_file():
        raise InputError(
            f"nothing published of {accelerator.name} is on file; its folder has no published.yaml"
        )
    return read_table(path, Published, accelerator.name)


def compare(
    accelerator: str | Accelerator[Any],
    matrices: Sequence[str] = (),
    *,
    settings: Mapping[str, object] | None = None,
    parts: Mapping[str, PartFactory] | None = None,
    surrogates: bool = False,
    models: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _line: None,
) -> list[Run]:
    """Run the published matrices, with the options of the published runs.

    Args:
        accelerator: its name, or a descriptor of one's own.
        matrices: names; all that were published by default, of which those not at hand are left out.
        settings: parameters over those of the published runs.
        parts: blocks of one's own, as ``simulate`` takes them.
        surrogates: take a surrogate for a matrix that is not at hand.
        models: those to compare, by name; all by default.
        tell: called with a line about each run that begins, and each matrix left out.

    Raises:
        InputError: of a matrix nothing was published.
        WorkloadError: a matrix asked for by name is not at hand.
    """
    check_types(locals())
    descriptor = find(accelerator) if isinstance(accelerator, str) else accelerator
    publication = read_published(descriptor)
    for name in matrices:
        if name not in publication.matrices:
            raise InputError(
                f"nothing was published of {descriptor.name} on {name}, but on {publication.listed}"
            )
    runs = []
    for name in matrices or publication.matrices:
        texts = publication.draws[name].workloads if name in publication.draws else [name]
        workloads = [
            text if is_gemm(text) else load_available(text, surrogates, bool(matrices), tell)
            for text in texts
        ]
        for model, chosen in publication.runs(name).items() if all(workloads) else ():
            if models and model not in models:
                continue
            tell(f"{name}, {model} memory")
            options = {"settings": {**chosen, **(settings or {})}, "parts": parts}
            reports = [simulate_to_end(descriptor, workload, **options) for workload in workloads]
            runs.append(_compare_run(publication, name, model, reports))
    return runs


def _compare_run(publication: Published, name: str, model: str, reports: Sequence[Report]) -> Run:
    reported, teaal = publication.find(name, "reported"), publication.find(name, "TeAAL")
    cycles = [report.cycles for report in reports]
    ours = round(sum(cycles) / len(cycles))
    theirs, modelled = (figures.cycles if figures else None for figures in (reported, teaal))
    first = reports[0]
    return Run(
        matrix=name,
        source=first.workload.source,
        model=model,
        cycles=ours,
        least=min(cycles),
        most=max(cycles),
        reported=theirs,
        error=ours / theirs - 1 if theirs else None,
        teaal=modelled,
        teaal_error=modelled / theirs - 1 if modelled and theirs else None,
        traffic=tuple(_traffic(tensor, first, reported, teaal) for tensor in first.traffic),
        as_published=publication.is_as_published(model),
    )


def _traffic(tensor: str, report: Report, reported: Figures | None, teaal: Figures | None) -> TensorTraffic:
    part = report.traffic[tensor]
    ours = part.moved_bytes if part.useful_bytes is None else part.useful_bytes
    theirs = _bytes(tensor, reported, report)
    difference = None
    if reported is not None and reported.traffic and theirs is not None:
        total = sum(reported.traffic.values()) * _unit(reported, report)
        difference = (ours - theirs) / total
    return TensorTraffic(tensor, theirs, _bytes(tensor, teaal, report), ours, difference)


def _bytes(tensor: str, figures: Figures | None, report: Report) -> float | None:
    """Traffic of a tensor in bytes; a tensor that is not listed has none."""
    return (
        None
        if figures is None or not figures.traffic
        else figures.traffic.get(tensor, 0) * _unit(figures, report)
    )


def _unit(figures: Figures, report: Report) -> float:
    """Bytes of the unit that a source gives traffic in, by the minimum that it shares with the report."""
    if figures.minimum is None or report.traffic_minimum_bytes is None:
        return 1.0
    return report.traffic_minimum_bytes / figures.minimum
