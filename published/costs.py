"""Published areas, powers and energies compared with our runs, over the parts that both have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fiberscope import accelerators
from fiberscope.accelerators.configuration import load, values
from fiberscope.base.errors import InputError
from fiberscope.converters.configuration import MintParameters
from fiberscope.converters.mint import MINT
from fiberscope.converters.variants import VARIANTS, instances
from fiberscope.explore.compare import read_published
from fiberscope.explore.tables import load_available, read_table, simulate_to_end
from fiberscope.models.trace.api import model
from fiberscope.results.costs.cost import sum_intervals
from fiberscope.results.costs.cost_file import read_cost_file
from fiberscope.results.costs.laws import find_netlist_area
from fiberscope.results.costs.netlists import LIBRARIES, PRICED, call_of
from fiberscope.results.costs.prices import price_machine
from fiberscope.results.costs.run_costs import CLOCK, CLOCK_TREE, DYNAMIC, LEAKAGE, MEMORY, Kind
from fiberscope.results.costs.scaling import compute_area_factor
from fiberscope.results.costs.silicon import estimate_logic_area
from fiberscope.results.errors import refuse_interrupted
from fiberscope.results.report.cost_parts import AreaPart, CostInterval, Energy, EnergyPart
from fiberscope.results.report.document import Report
from fiberscope.results.report.table import Table, format_percent
from fiberscope.workloads import is_gemm
from published.figures import Figure
from published.mint import PUBLISHED_MM2, twins

FILE = Path(__file__).parent / "published_costs.yaml"
MINT_NM = 28
MINT_COSTS = FILE.with_name("mint_costs.yaml")
Quantity = Literal["area, mm2", "power, W", "energy, mJ"]
KINDS: Mapping[Quantity, Sequence[Kind]] = {  # kinds of a published figure, unless the file states others
    "power, W": (DYNAMIC, CLOCK, LEAKAGE),  # chip without memory
    "energy, mJ": (DYNAMIC, CLOCK, LEAKAGE, MEMORY),
}
STATIC: Mapping[Kind, str] = {CLOCK: CLOCK_TREE, LEAKAGE: LEAKAGE}  # kinds of energy with another name
MAX_NAMED = 3  # named parts in a cell


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PublishedCost(_Row):
    """A published value, and our corresponding run.

    Args:
        machine, what, published, operands, source: the value, and our run.
        model: the settings of our run by their name in the machine's ``published.yaml``; shipped settings by
            default.
        kinds: the kinds of energy in the published value; ``KINDS`` by default.
        apart: our components or parts, or patterns, that the published value excludes.
        lacks: parts of the published value without a component of ours.
        settled: the choice that was made after a comparison with the value; empty without one.
    """

    machine: str
    what: Quantity
    published: float = Field(gt=0)
    operands: tuple[str, ...]
    model: str | None = None
    kinds: tuple[Kind, ...] | None = None
    apart: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    settled: str = ""
    source: str = Field(min_length=5)


class PublishedCosts(_Row):
    """The file of published costs."""

    figures: tuple[PublishedCost, ...]


@dataclass(frozen=True)
class CostFigure:
    """A published value and ours, over the parts that both have.

    Args:
        machine, figure, run: the machine, the quantity with its unit, and our run.
        published: the published value.
        ours, upper: our known value and its upper end, without ``apart``.
        apart: our parts that the published value excludes.
        missing: parts of the published value without a figure of ours.
        source: the publication.
        settled: the choice that was made after a comparison with the value; empty without one.
    """

    machine: str
    figure: str
    run: str
    published: float
    ours: float
    upper: float | None
    apart: tuple[str, ...]
    missing: tuple[str, ...]
    source: str
    settled: str = ""

    @property
    def error(self) -> float | None:
        """Return the relative error of ours; None if ours lacks parts of the published value."""
        return None if self.missing else self.ours / self.published - 1

    @property
    def interval_position(self) -> str:
        """Return the position of the published value: ``below`` our interval, ``inside`` or ``above``.

        Without an upper end of ours, a value that is not below is ``not below``.
        """
        if self.published < self.ours:
            return "below"
        if self.upper is None:
            return "not below"
        return "inside" if self.published <= self.upper else "above"

    def comparable(self) -> Iterator[Figure]:
        """Yield the figure for tables of errors, if it has an error."""
        if not self.missing:
            values = self.machine, self.figure, self.run, self.published, self.ours
            yield Figure(*values, settled=self.settled, source=self.source)


def study(machines: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """Return areas, powers and energies with the published values, as data and as tables."""
    refuse_options("costs are", options)
    rows = costs(machines, options["tell"])
    data = [{**asdict(row), "error": row.error, "place": row.interval_position} for row in rows]
    return data, [_table(rows)]


def refuse_options(subject: str, options: Mapping[str, Any]) -> None:
    """Check that a study of shipped machines has no settings and parts.

    Raises:
        InputError: there are settings or parts.
    """
    if options["parts"] or options["settings"]:
        raise InputError(f"{subject} of machines as they ship: no --set and no --part")


def costs(machines: Iterable[str], tell: Callable[[str], None]) -> list[CostFigure]:
    """Return the figures of machines; of all machines if none is named."""
    selected = set(machines)
    rows = [
        row
        for cost in _published_costs()
        if not selected or cost.machine in selected
        for row in _compare(cost, tell)
    ]
    mint = load(MINT.configuration, MINT.shipped, name=MINT.name)
    return [*rows, *(_variant_figures(mint) if not selected or "mint" in selected else ())]


def published(machine: str, quantity: Quantity) -> PublishedCost | None:
    """Return the first published value of this kind of a machine."""
    return next(
        (cost for cost in _published_costs() if (cost.machine, cost.what) == (machine, quantity)), None
    )


def _published_costs() -> tuple[PublishedCost, ...]:
    return read_table(FILE, PublishedCosts, "study").figures


def _compare(cost: PublishedCost, tell: Callable[[str], None]) -> Iterator[CostFigure]:
    """Yield the value compared with ours; nothing without the real matrix."""
    operands = " ".join(cost.operands)
    if not (is_gemm(operands) or load_available(operands, surrogates=False, is_required=False, tell=tell)):
        return
    tell(f"{cost.machine}: {operands}")
    report = _report(cost)
    parts, apart, missing = _select_parts(cost, report)
    total = CostInterval.sum_of(parts)
    scale = {"area, mm2": 1e-6, "power, W": 1e-12 / (report.seconds or 1.0), "energy, mJ": 1e-9}[cost.what]
    yield CostFigure(
        cost.machine,
        cost.what,
        f"{operands}, {cost.model}" if cost.model else operands,
        cost.published,
        total.known * scale,
        None if total.upper is None else total.upper * scale,
        apart,
        missing,
        cost.source,
        cost.settled,
    )


def _report(cost: PublishedCost) -> Report:
    """Run the machine with the settings of the published run, or its specification."""
    if cost.machine not in accelerators.names():
        return refuse_interrupted(model(cost.machine, *cost.operands))
    settings: Mapping[str, str | int] = {}
    if cost.model is not None:
        publication = read_published(accelerators.find(cost.machine))
        settings = publication.runs(cost.operands[0])[cost.model]
    return simulate_to_end(cost.machine, *cost.operands, settings=settings)


def _select_parts(
    cost: PublishedCost, report: Report
) -> tuple[list[AreaPart | EnergyPart], tuple[str, ...], tuple[str, ...]]:
    """Return the compared parts, the names of our additional parts, and the names of missing parts."""
    if cost.what == "area, mm2":
        assert report.area is not None
        areas = [part for part in report.area.parts if _is_compared(cost, part)]
        missing = tuple(part.name for part in areas if part.basis == "none")
        return [*areas], cost.apart, (*missing, *cost.lacks)
    assert report.energy is not None
    kinds = KINDS[cost.what] if cost.kinds is None else cost.kinds
    energies = [part for part in report.energy.parts if part.kind in kinds and _is_compared(cost, part)]
    excluded_kinds = [kind for kind in KINDS["energy, mJ"] if kind not in kinds]
    unpriced = Energy.from_parts(energies).without
    missing = tuple(
        name for name in unpriced if name not in (STATIC[kind] for kind in excluded_kinds if kind in STATIC)
    )
    return [*energies], (*cost.apart, *excluded_kinds), (*missing, *cost.lacks)


def _is_compared(cost: PublishedCost, part: AreaPart | EnergyPart) -> bool:
    names = (part.component, part.name)
    return not any(fnmatchcase(name, pattern) for name in names for pattern in cost.apart)


def _variant_figures(parameters: MintParameters) -> Iterator[CostFigure]:
    """Yield the areas of the blocks of each variant."""
    scale = compute_area_factor(LIBRARIES[PRICED].nanometres, MINT_NM)
    netlists = {
        kind: estimate_logic_area(area.um2, area.upper, area.basis, area.source).times(scale)
        for kind, (block, block_parameters) in twins(parameters).items()
        if (area := find_netlist_area(call_of(block, asdict(block_parameters)))) is not None
    }
    prices = price_machine(read_cost_file(MINT_COSTS), values(parameters), MINT.name)
    priced = {kind: area for kind, part in prices.parts.items() for area in part.areas.values()}
    areas = {**priced, **netlists}
    for variant in VARIANTS:
        counts_by_kind = instances(variant)
        counts = {kind: count for kind, count in counts_by_kind.items() if kind in areas}
        known, upper = sum_intervals(areas[kind].times(count / 1e6) for kind, count in counts.items())
        missing = tuple(kind for kind in counts_by_kind if kind not in areas)
        source = "MINT, IPDPS 2021, 28 nm"
        upper_total = None if missing else upper
        yield CostFigure(
            variant, "area, mm2", "", PUBLISHED_MM2[variant], known, upper_total, (), missing, source
        )


def _table(rows: Sequence[CostFigure]) -> Table:
    """Return a row for each published value."""
    numbers = ("Published", "Ours", "Up to", "Error")
    notes = ("Published is", "Only in ours", "Only in the published", "Source")
    columns = ("Of", "Quantity", "Run", *numbers, *notes)
    table = Table("Areas, powers and energies", columns, labels=3, notes=len(notes))
    for row in rows:
        upper = "" if row.upper is None else f"{row.upper:.4g}"
        error = "" if row.error is None else format_percent(row.error)
        values = (f"{row.published:.4g}", f"{row.ours:.4g}", upper, error)
        parts = (_shorten(row.apart), _shorten(row.missing))
        table.add(row.machine, row.figure, row.run, *values, row.interval_position, *parts, row.source)
    return table


def _shorten(names: Sequence[str]) -> str:
    hidden = len(names) - MAX_NAMED
    return ", ".join(name.lstrip("*") for name in names[:MAX_NAMED]) + (
        f" and {hidden} more" if hidden > 0 else ""
    )
