"""Published values compared with ours: rows, mean errors and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fiberscope.results.report.table import Table, format_percent

LOCAL = "here"
SIMPLE = "simple"  # memory model of the published runs
ALL = "all"
KNOWLEDGE = ("tuned on it", "not tuned on it", "held out")
MAX_NAMED = 4  # named runs in one cell


@dataclass(frozen=True)
class Figure:
    """A published value and ours.

    Args:
        machine: the machine, tool or publication.
        figure: the quantity with its unit.
        run: the operands, or the place in the publication.
        published, ours: the values; ours is None for an external run of which only the error was recorded.
        settings: the memory model, or other deviations from the shipped settings.
        public: the error of a public tool, TeAAL's model, on the same figure, or None.
        held: nobody looked at the published value before the machine was finished.
        settled: the choice that was tuned on this figure; empty without tuning.
        ran: ``LOCAL``, or the commit of an external run.
        recorded: the recorded error of an external run.
        source: the publication.
        as_published: whether the settings are those of the published run; otherwise the distance from the
            published value is no error.
    """

    machine: str
    figure: str
    run: str
    published: float
    ours: float | None
    settings: str = ""
    public: float | None = None
    held: bool = False
    settled: str = ""
    ran: str = LOCAL
    recorded: float | None = None
    source: str = ""
    as_published: bool = True

    @property
    def error(self) -> float:
        """Return the relative error of ours."""
        if self.recorded is not None:
            return self.recorded
        assert self.ours is not None
        return self.ours / self.published - 1.0

    @property
    def known(self) -> str:
        """Return the element of ``KNOWLEDGE`` that applies."""
        return KNOWLEDGE[0] if self.settled else KNOWLEDGE[2] if self.held else KNOWLEDGE[1]


@dataclass(frozen=True)
class MeanError:
    """The mean error of figures with equal machine, figure, settings and knowledge of the value.

    Args:
        machine, figure, settings: the common values.
        known: an element of ``KNOWLEDGE``, or ``ALL``.
        count: number of figures.
        error: mean of the absolute errors.
        largest: largest absolute error.
        public: mean absolute error of the public tool; None unless the tool has an error for every figure.
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
    def from_figures(cls, figures: Iterable[Figure]) -> list[MeanError]:
        """Return the means by machine, figure and settings: in total, then by knowledge."""
        groups: dict[tuple[str, str, str], list[Figure]] = {}
        for figure in figures:
            groups.setdefault((figure.machine, figure.figure, figure.settings), []).append(figure)
        return [mean for common, group in groups.items() for mean in cls._means_by_knowledge(common, group)]

    @classmethod
    def _means_by_knowledge(
        cls, common: tuple[str, str, str], figures: Sequence[Figure]
    ) -> Iterator[MeanError]:
        yield cls._mean((*common, ALL), figures)
        for known in KNOWLEDGE:
            if group := [figure for figure in figures if figure.known == known]:
                yield cls._mean((*common, known), group)

    @classmethod
    def _mean(cls, common: tuple[str, str, str, str], figures: Sequence[Figure]) -> MeanError:
        errors = [abs(figure.error) for figure in figures]
        public = [abs(figure.public) for figure in figures if figure.public is not None]
        public_error = sum(public) / len(public) if len(public) == len(figures) else None
        return cls(*common, len(figures), sum(errors) / len(errors), max(errors), public_error)


def as_data(figures: Iterable[Figure]) -> list[dict[str, Any]]:
    """Return the figures with their properties as JSON data."""
    return [{**asdict(figure), "error": figure.error, "known": figure.known} for figure in figures]


_CELLS: Mapping[str, Callable[[Figure], str]] = {
    "Model": lambda figure: figure.machine,
    "Quantity": lambda figure: figure.figure,
    "Run": lambda figure: (
        figure.run if figure.ran == LOCAL else f"{figure.run}, run elsewhere by {figure.ran}"
    ),
    "Settings": lambda figure: figure.settings,
    "Known": lambda figure: figure.known,
    "Published": lambda figure: _number(figure.published),
    "Ours": lambda figure: _number(figure.ours) if figure.ours is not None else _approximate(figure),
    "Error": lambda figure: format_percent(figure.error),
    "TeAAL's error": lambda figure: "" if figure.public is None else format_percent(figure.public),
    "Source": lambda figure: figure.source,
}
_NUMBERS = ("Published", "Ours", "Error", "TeAAL's error")


def figure_table(title: str, figures: Sequence[Figure], *without: str) -> Table:
    """Return a row for each figure, without the columns ``without``."""
    columns = [column for column in _CELLS if column not in without]
    labels = sum(column not in _NUMBERS for column in columns)
    rows: list[Sequence[str]] = [[_CELLS[column](figure) for column in columns] for figure in figures]
    has_notes = columns[-1] == "Source"
    return Table(title, columns, labels - has_notes, rows, notes=has_notes)


def mean_table(means: Sequence[MeanError]) -> Table:
    """Return a row for each machine, figure and settings; cells have mean error and count."""
    knowledge = [known.capitalize() for known in (*KNOWLEDGE, ALL)]
    columns = ("Model", "Quantity", "Settings", *knowledge, "Largest error", "TeAAL's mean")
    table = Table("Mean absolute errors", columns, labels=3)
    groups: dict[tuple[str, str, str], dict[str, MeanError]] = {}
    for mean in means:
        groups.setdefault((mean.machine, mean.figure, mean.settings), {})[mean.known] = mean
    for common, group in groups.items():
        errors = [_mean(group.get(known)) for known in (*KNOWLEDGE, ALL)]
        public = group[ALL].public
        public_error = "" if public is None else format_percent(public, signed=False)
        table.add(*common, *errors, format_percent(group[ALL].largest, signed=False), public_error)
    return table


def memory_table(figures: Sequence[Figure]) -> Table:
    """Return the cycles with a real DRAM, absent from the published runs, and with simple memory."""
    columns = ("Model", "Run", "Simple memory", "With a real DRAM", "More")
    table = Table("With a real DRAM it would be", columns, labels=2)
    cycles = [figure for figure in figures if figure.figure == "cycles" and figure.ours is not None]
    simple = {(figure.machine, figure.run): figure.ours for figure in cycles if figure.settings == SIMPLE}
    for figure in cycles:
        if not figure.as_published and (simple_cycles := simple.get((figure.machine, figure.run))):
            assert figure.ours is not None
            change = format_percent(figure.ours / simple_cycles - 1)
            table.add(figure.machine, figure.run, _number(simple_cycles), _number(figure.ours), change)
    return table


def tuned_table(figures: Sequence[Figure]) -> Table:
    """Return a row for each tuned choice, with the runs on which it was tuned."""
    runs: dict[tuple[str, str, str], dict[str, None]] = {}
    for figure in figures:
        if figure.settled:
            runs.setdefault((figure.machine, figure.settings, figure.settled), {})[figure.run] = None
    table = Table("Tuned on", ("Model", "Settings", "What was tuned", "On"), labels=4)
    for choice, run_names in runs.items():
        table.add(*choice, "; ".join(run_names) if len(run_names) <= MAX_NAMED else f"{len(run_names)} runs")
    return table


def _mean(mean: MeanError | None) -> str:
    return "" if mean is None else f"{format_percent(mean.error, signed=False)} of {mean.count}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _approximate(figure: Figure) -> str:
    """Return our value to three digits, computed from a rounded error."""
    value = figure.published * (1 + figure.error)
    return f"about {float(f'{value:.3g}'):,.0f}"
