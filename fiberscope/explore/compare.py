"""Comparison of a machine with its published figures: cycles, and traffic by tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
from fiberscope.workloads.errors import suggest


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Figures(_Row):
    """Figures of one source for one run.

    Args:
        matrix: name of the matrix.
        by: the source: the authors of the machine (``reported``), or TeAAL's results for the machine.
        cycles: the cycles; None if the source has no figure.
        settings: options of this run.
        models: the compared models; all if empty.
        traffic: traffic by tensor, in bytes or in the unit of ``minimum``; empty without a figure.
        minimum: the algorithmic minimum of all traffic, in the unit of ``traffic``; None if that is bytes.
        settled: description of parameters that were tuned on these figures, by model or in general.
        held: whether the figures were unknown to the authors of the machine's model until it was final.
        source: the table, figure or text with the figures.
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
        """Return the description of tuning on the figures with this model; empty without tuning."""
        return self.settled if isinstance(self.settled, str) else self.settled.get(model, "")


class FetchedRun(_Row):
    """A run by the authors of Fiberscope on a matrix that does not ship with Fiberscope.

    Args:
        matrix, model: the run.
        cycles: the cycles; None if only the error was recorded.
        traffic: the useful bytes of all tensors; None if they were not recorded.
        error: the relative error against the reported cycles.
        commit: the version of Fiberscope that ran.
    """

    matrix: str
    model: str
    cycles: int | None = Field(default=None, gt=0)
    traffic: int | None = Field(default=None, gt=0)
    error: float
    commit: str


class RandomDraws(_Row):
    """Draws of a random matrix: ``workload`` with seeds from 1 to ``count``, as the seed is unknown."""

    workload: str
    count: int = Field(ge=1)

    @property
    def workloads(self) -> list[str]:
        """Return the text of each draw."""
        return [f"{self.workload},seed={seed}" for seed in range(1, self.count + 1)]


class Published(_Row):
    """All published figures of a machine.

    A *model* is here the machine with some settings, such as one of two models of memory.

    Args:
        settings: the settings of the published runs.
        models: the settings of each compared model, by name.
        draws: random matrices by name; a draw without figures is a prediction.
        figures: the published figures.
        elsewhere: runs on matrices that are not generally available.
        as_published: the models whose errors judge the machine, all if empty. The other models show effects
            that the published runs excluded.
    """

    settings: dict[str, str | int]
    models: dict[str, dict[str, str | int]] = Field(min_length=1)
    draws: dict[str, RandomDraws] = Field(default_factory=dict)
    figures: list[Figures]
    elsewhere: list[FetchedRun] = Field(default_factory=list)
    as_published: tuple[str, ...] = ()

    @property
    def matrices(self) -> list[str]:
        """Return the matrices in order, random matrices first."""
        return list(dict.fromkeys([*self.draws, *(figures.matrix for figures in self.figures)]))

    @property
    def listed(self) -> str:
        """Return the matrices as text for a message."""
        return ", ".join(self.matrices)

    def runs(self, matrix: str) -> dict[str, dict[str, str | int]]:
        """Return the settings of the runs of a matrix, by model.

        Settings of the figures override those of the model, which override those of all runs. The settings of
        all figures of the matrix are joined and apply to all its models. A matrix without figures, which is a
        prediction, is run with all models.

        Args:
            matrix: name of the matrix; an unknown name is treated as a prediction.
        """
        rows = [row for row in self.figures if row.matrix == matrix]
        run_settings = {key: value for row in rows for key, value in row.settings.items()}
        compared = {model for row in rows for model in row.models or self.models} if rows else self.models
        return {
            name: self.settings | model | run_settings
            for name, model in self.models.items()
            if name in compared
        }

    def is_as_published(self, model: str) -> bool:
        """Return whether the errors of a model judge the machine."""
        return not self.as_published or model in self.as_published

    def find(self, matrix: str, by: str, model: str) -> Figures | None:
        """Return the first figures of a matrix by a source for a model; None without figures."""
        rows = (row for row in self.figures if (row.matrix, row.by) == (matrix, by))
        return next((row for row in rows if not row.models or model in row.models), None)


@dataclass(frozen=True)
class TensorTraffic:
    """Bytes of one tensor, as published and as simulated.

    Args:
        tensor: name of the tensor.
        reported: the bytes that the authors of the machine report; None if they report no traffic of the run,
            0 if only this tensor is missing.
        teaal: the bytes that TeAAL reports; as ``reported``.
        ours: the simulated bytes: only useful bytes if the machine distinguishes them, because published
            accounts count only these.
        difference: ``ours`` minus ``reported``, over the reported bytes of all tensors; None if there is no
            report of traffic.
    """

    tensor: str
    reported: float | None
    teaal: float | None
    ours: int
    difference: float | None


@dataclass(frozen=True)
class Run:
    """One run with its published figures; errors are relative to the published values.

    Args:
        matrix, source, model: the matrix, the origin of its operand, and the model of ``Published.models``.
        cycles: the simulated cycles; for a random matrix, the mean of all draws.
        least, most: the smallest and the largest number of cycles of a draw.
        reported, teaal: the published cycles; None without a figure, as for a prediction.
        error, teaal_error: the relative errors of the simulated and of TeAAL's cycles against the reported.
        traffic: the traffic of each tensor that the machine moves; for a random matrix, of the first draw.
        as_published: whether the errors judge the machine; see ``Published``.
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
    """Read the published figures of a machine.

    Args:
        accelerator: descriptor of the machine, whose folder has ``published.yaml``.

    Raises:
        InputError, ConfigurationError: the machine has no figures, or the file cannot be read or is invalid.
    """
    path = accelerator.folder / "published.yaml"
    if not path.is_file():
        raise InputError(
            f"no published figure of {accelerator.name} is known; its folder has no published.yaml"
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
    """Run the published matrices with the options of the published runs.

    Args:
        accelerator: a name, or a user's descriptor.
        matrices: names, in the order of the runs; all available published matrices by default.
        settings: parameters that override those of the published runs.
        parts: the user's blocks, as for ``simulate``.
        surrogates: replace unavailable matrices by surrogates.
        models: the compared models by name; all by default.
        tell: called with a line before the runs of each matrix and model, and for each unavailable workload.

    Returns:
        A result, over all draws of a random matrix, for each matrix and model in order. A matrix is skipped
        if one of its draws is unavailable.

    Raises:
        InputError, ConfigurationError: the machine or a matrix has no published figures, the file is invalid,
            or there is no such model.
        WorkloadError: a matrix requested by name is not available.
        KeyboardInterrupt: a run was interrupted. The errors of ``simulate`` are raised too.
    """
    check_types(locals())  # the first statement: there are no locals but the arguments
    descriptor = find(accelerator) if isinstance(accelerator, str) else accelerator
    publication = read_published(descriptor)
    _check_names(descriptor.name, publication, matrices, models)
    runs = []
    for name in matrices or publication.matrices:
        texts = publication.draws[name].workloads if name in publication.draws else [name]
        workloads = [
            text if is_gemm(text) else load_available(text, surrogates, bool(matrices), tell)
            for text in texts
        ]
        for model, model_settings in publication.runs(name).items() if all(workloads) else ():
            if models and model not in models:
                continue
            tell(f"{name}, {model} memory")
            options = {"settings": {**model_settings, **(settings or {})}, "parts": parts}
            reports = [simulate_to_end(descriptor, workload, **options) for workload in workloads]
            runs.append(_compare_run(publication, name, model, reports))
    return runs


def _check_names(
    machine: str, publication: Published, matrices: Iterable[str], models: Iterable[str]
) -> None:
    """Raise ``InputError`` for a matrix without published figures, and for a model that is not compared."""
    for name in matrices:
        if name not in publication.matrices:
            raise InputError(f"nothing was published of {machine} on {name}, but on {publication.listed}")
    for model in models:
        if model not in publication.models:
            raise InputError(
                f"{machine} is compared with no model {model!r}; {suggest(model, publication.models)}"
            )


def _compare_run(publication: Published, name: str, model: str, reports: Sequence[Report]) -> Run:
    """Compare the runs of a matrix, one for each draw, with the published figures."""
    reported, teaal = (publication.find(name, by, model) for by in ("reported", "TeAAL"))
    cycles = [report.cycles for report in reports]
    # the published run had one draw of an unknown seed, which the mean represents
    mean_cycles = round(sum(cycles) / len(cycles))
    reported_cycles, teaal_cycles = (figures.cycles if figures else None for figures in (reported, teaal))
    first = reports[0]
    return Run(
        matrix=name,
        source=first.workload.source,
        model=model,
        cycles=mean_cycles,
        least=min(cycles),
        most=max(cycles),
        reported=reported_cycles,
        error=mean_cycles / reported_cycles - 1 if reported_cycles else None,
        teaal=teaal_cycles,
        teaal_error=teaal_cycles / reported_cycles - 1 if teaal_cycles and reported_cycles else None,
        traffic=tuple(_compare_traffic(tensor, first, reported, teaal) for tensor in first.traffic),
        as_published=publication.is_as_published(model),
    )


def _compare_traffic(
    tensor: str, report: Report, reported: Figures | None, teaal: Figures | None
) -> TensorTraffic:
    part = report.traffic[tensor]
    # published accounts have no bytes of blocks that were fetched but not requested
    own_bytes = part.moved_bytes if part.useful_bytes is None else part.useful_bytes
    reported_bytes = _find_bytes(tensor, reported, report)
    difference = None
    if reported is not None and reported.traffic and reported_bytes is not None:
        total = sum(reported.traffic.values()) * _find_unit(reported, report)
        difference = (own_bytes - reported_bytes) / total
    return TensorTraffic(tensor, reported_bytes, _find_bytes(tensor, teaal, report), own_bytes, difference)


def _find_bytes(tensor: str, figures: Figures | None, report: Report) -> float | None:
    """Return the traffic of a tensor in bytes; 0 for an unlisted tensor, None without figures."""
    return (
        None
        if figures is None or not figures.traffic
        else figures.traffic.get(tensor, 0) * _find_unit(figures, report)
    )


def _find_unit(figures: Figures, report: Report) -> float:
    """Return the bytes of a source's unit of traffic, from the minimum traffic of source and report.

    A chart of traffic over the minimum gives no bytes. Its unit follows from the minimum that the report
    computes for the same operands. Without a minimum in both, the source's figures are taken as bytes.
    """
    if figures.minimum is None or report.traffic_minimum_bytes is None:
        return 1.0
    return report.traffic_minimum_bytes / figures.minimum
