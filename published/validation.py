"""Every published figure on file beside ours, what was chosen after seeing it, and a public tool's error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fiberscope import accelerators
from fiberscope.accelerators.machine import Accelerator
from fiberscope.base.errors import InputError
from fiberscope.converters.configuration import MintParameters
from fiberscope.converters.sage.configuration import SageParameters
from fiberscope.converters.sage.systems import OURS
from fiberscope.explore.compare import FetchedRun, Figures, Published, Run, compare, read_published
from fiberscope.workloads.errors import nearest
from published import sage
from published.costs import Cost, costs
from published.sam_experiments import Claim, Measured, experiments
from published.sparseloop import sparseloop

__all__ = ["ALL", "HERE", "KNOWN", "PARTS", "MeanError", "Row", "sam", "validation"]

HERE = "here"
ALL = "all"
KNOWN = ("tuned on it", "not tuned on it", "held out")
IN_SIGHT = (
    "a PE reads and multiplies nothing for a zero (zero_gating) and compares only the ids that it holds; "
    "both chosen after a comparison with Table III"
)
MACHINES = ("gamma", "extensor", "outerspace", "sigma")


@dataclass(frozen=True)
class Row:
    """A published figure beside ours.

    Args:
        machine: or the tool, or the publication.
        figure: what it is a figure of, with its unit.
        run: on what.
        settings: the model of memory, or what else is not as it ships.
        published, ours: the number; ours is none of a run elsewhere of which only the error was told.
        error: ours over the published, less 1; of traffic the difference of all tensors' sums.
        public: the error of a public tool, TeAAL's model, on the same figure; None if there is none.
        held: the figure was held out: nobody looked at it before the machine was finished.
        settled: what was tuned, chosen after a comparison with this figure; empty if nothing was.
        ran: ``HERE``, or the commit that ran where the matrix could be fetched.
    """

    machine: str
    figure: str
    run: str
    settings: str
    published: float
    ours: float | None
    error: float
    public: float | None = None
    held: bool = False
    settled: str = ""
    ran: str = HERE

    @property
    def known(self) -> str:
        """One of ``KNOWN``."""
        return KNOWN[0] if self.settled else KNOWN[2] if self.held else KNOWN[1]


@dataclass(frozen=True)
class MeanError:
    """The mean error of rows with the same machine, figure, settings and knowledge of the figure.

    Args:
        machine, figure, settings: those of all these rows.
        known: one of ``KNOWN``, or ``ALL`` for the rows of every kind together.
        count: number of rows.
        error: mean of the absolute errors.
        largest: largest absolute error.
        public: mean absolute error of the public tool; None unless the tool has an error for every row.
    """

    machine: str
    figure: str
    settings: str
    known: str
    count: int
    error: float
    largest: float
    public: float | None

    @classmethod
    def of(cls, rows: Iterable[Row]) -> list[MeanError]:
        """Return the means by machine, figure and settings: of all rows, then by what was known."""
        groups: dict[tuple[str, str, str], list[Row]] = {}
        for row in rows:
            groups.setdefault((row.machine, row.figure, row.settings), []).append(row)
        return [mean for common, group in groups.items() for mean in cls._each(common, group)]

    @classmethod
    def _each(cls, common: tuple[str, str, str], rows: Sequence[Row]) -> Iterator[MeanError]:
        yield cls._of((*common, ALL), rows)
        for known in KNOWN:
            if group := [row for row in rows if row.known == known]:
                yield cls._of((*common, known), group)

    @classmethod
    def _of(cls, common: tuple[str, str, str, str], rows: Sequence[Row]) -> MeanError:
        errors = [abs(row.error) for row in rows]
        public = [abs(row.public) for row in rows if row.public is not None]
        theirs = sum(public) / len(public) if len(public) == len(rows) else None
        return cls(*common, len(rows), sum(errors) / len(errors), max(errors), theirs)


def validation(
    names: Sequence[str], mint: MintParameters, formats: SageParameters, tell: Callable[[str], None]
) -> list[Row]:
    """Run what has published figures.

    Args:
        names: of ``PARTS``; all if there are none.
        mint, formats: parameters of the converter whose areas are known, and of the predictor of formats.
        tell: called with a line about each run that begins.

    Raises:
        InputError: there is no such part.
    """
    for name in names:
        if name not in PARTS:
            raise InputError(f"nothing is validated of {name!r}; {nearest(name, PARTS)}")
    rows: list[Row] = []
    for name in names or PARTS:
        if name in MACHINES:
            rows += machine_rows(accelerators.find(name), tell)
        elif name == "costs":
            rows += map(_cost, costs((), mint, tell))
        elif name == "sage":
            rows += _ratios(formats)
        elif name == "sparseloop":
            rows += _sparseloop()
    return rows


def sam(names: Sequence[str], tell: Callable[[str], None]) -> tuple[list[Row], list[Claim]]:
    """SAM's figure with published cycles, and what is said of those without, each with what was measured."""
    if names and "sam" not in names:
        return [], []
    runs, claims = experiments((), tell)
    return [_tiled(run, run.published) for run in runs if run.published is not None], claims


def _tiled(run: Measured, published: int) -> Row:
    error = run.cycles / published - 1
    where = f"Fig. {run.figure}, {run.input}"
    return Row("sam", "cycles", where, "ideal tile memory", published, run.cycles, error)


def machine_rows(accelerator: Accelerator[Any], tell: Callable[[str], None]) -> list[Row]:
    """The published runs of a machine: those at hand, then those that were run elsewhere."""
    known = read_published(accelerator)
    runs = compare(accelerator, models=known.as_published, tell=tell)
    ran = {run.matrix for run in runs}
    rows = [row for run in runs for row in _of_run(accelerator.name, known, run)]
    return rows + [
        _of_other(accelerator.name, known, one) for one in known.elsewhere if one.matrix not in ran
    ]


def _of_run(machine: str, known: Published, run: Run) -> Iterator[Row]:
    """Its cycles, and the traffic of all tensors together."""
    figures = known.find(run.matrix, "reported")
    if figures is None:
        return
    settled, held = figures.settled_with(run.model), figures.held
    if run.reported is not None and run.error is not None:
        numbers = run.reported, run.cycles, run.error, run.teaal_error
        yield Row(machine, "cycles", run.matrix, run.model, *numbers, held, settled)
    reported, ours, teaal = (
        sum(getattr(one, name) or 0 for one in run.traffic) for name in ("reported", "ours", "teaal")
    )
    if reported:
        public = teaal / reported - 1 if teaal else None
        numbers = reported, ours, ours / reported - 1, public
        yield Row(machine, "traffic, bytes", run.matrix, run.model, *numbers, held, settled)


def _of_other(machine: str, known: Published, one: FetchedRun) -> Row:
    figures, teaal = (known.find(one.matrix, by) for by in ("reported", "TeAAL"))
    assert figures is not None
    assert figures.cycles is not None
    return Row(
        machine,
        "cycles",
        one.matrix,
        one.model,
        figures.cycles,
        one.cycles,
        one.error,
        _public(teaal, figures.cycles),
        figures.held,
        figures.settled_with(one.model),
        one.commit,
    )


def _public(teaal: Figures | None, reported: float) -> float | None:
    return teaal.cycles / reported - 1 if teaal is not None and teaal.cycles is not None else None


def _cost(cost: Cost) -> Row:
    left = f"{cost.without} parts excluded" if cost.without else ""
    return Row(cost.machine, cost.what, cost.run, left, cost.published, cost.ours, cost.error)


def _ratios(formats: SageParameters) -> Iterator[Row]:
    """The classes of accelerators in Fig. 13: energy-delay products over those of all formats."""
    for one in sage.compare((), formats).ratios:
        if one.published_mean is not None and one.system != OURS:  # whose ratio to itself is 1
            error = one.mean / one.published_mean - 1
            numbers = one.published_mean, one.mean, error
            yield Row("sage", "energy-delay product, ratio", one.system, "", *numbers, settled=IN_SIGHT)


def _sparseloop() -> Iterator[Row]:
    for row in sparseloop():
        numbers = row.published, row.ours, row.error
        yield Row("sparseloop", row.what, f"{row.figure}, {row.case}", "", *numbers, settled=row.settled)


# What there is; each is run alone by its name.
PARTS = (*MACHINES, "costs", "sage", "sparseloop", "sam")
