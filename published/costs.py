"""Published areas, powers and energies beside those of our runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fiberscope import accelerators
from fiberscope.accelerators.configuration import load
from fiberscope.base.errors import InputError
from fiberscope.converters.configuration import MintParameters
from fiberscope.converters.mint import MINT
from fiberscope.converters.variants import VARIANTS, instances
from fiberscope.explore.tables import load_available, read_table, simulate_to_end
from fiberscope.models.trace.api import model
from fiberscope.results.costs.laws import find_netlist_area
from fiberscope.results.costs.netlists import LIBRARIES, PRICED, call_of
from fiberscope.results.costs.scaling import area_factor
from fiberscope.results.report.document import Report
from fiberscope.results.report.table import Table
from fiberscope.workloads import is_gemm
from published.figures import Figure, as_data, figure_table
from published.mint import PUBLISHED_MM2, twins

__all__ = ["PublishedCost", "PublishedCosts", "costs", "published", "refuse_options", "study"]

FILE = Path(__file__).parent / "published_costs.yaml"
MINT_NM = 28
What = Literal["area, mm2", "power, W", "energy, mJ"]
_OURS: dict[What, Callable[[Report], float]] = {
    "area, mm2": lambda report: (report.area_um2 or 0.0) / 1e6,
    "power, W": lambda report: _picojoules(report) * 1e-12 / report.seconds,
    "energy, mJ": lambda report: _picojoules(report) / 1e9,
}


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PublishedCost(_Row):
    """A published value, and the operands of the run that ours is of."""

    machine: str
    what: What
    published: float = Field(gt=0)
    operands: tuple[str, ...]
    source: str = Field(min_length=5)


class PublishedCosts(_Row):
    """The file of them."""

    figures: tuple[PublishedCost, ...]


def study(machines: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """Return areas, powers and energies beside the published ones, as data and as tables."""
    refuse_options("costs are", options)
    rows = costs(machines, options["tell"])
    title = "Areas, powers and energies"
    return as_data(rows), [figure_table(title, rows, "Known", "TeAAL's error")]


def refuse_options(subject: str, options: Mapping[str, Any]) -> None:
    """Refuse settings and parts in a study of machines as they ship.

    Raises:
        InputError: there are some.
    """
    if options["parts"] or options["settings"]:
        raise InputError(f"{subject} of machines as they ship: no --set and no --part")


def costs(machines: Iterable[str], tell: Callable[[str], None]) -> list[Figure]:
    """Return the figures of some machines, of all if none is named."""
    wanted = set(machines)
    rows = [row for cost in _on_file() if not wanted or cost.machine in wanted for row in _run(cost, tell)]
    mint = load(MINT.configuration, MINT.shipped, name=MINT.name)
    return [*rows, *(_variants(mint) if not wanted or "mint" in wanted else ())]


def published(machine: str, what: What) -> PublishedCost | None:
    """Return the first published value of this kind of a machine."""
    return next((cost for cost in _on_file() if (cost.machine, cost.what) == (machine, what)), None)


def _on_file() -> tuple[PublishedCost, ...]:
    return read_table(FILE, PublishedCosts, "study").figures


def _run(cost: PublishedCost, tell: Callable[[str], None]) -> Iterator[Figure]:
    """The value beside ours; nothing if its matrix is not at hand, as a stand-in's energy is another's."""
    operands = " ".join(cost.operands)
    if not (is_gemm(operands) or load_available(operands, surrogates=False, demanded=False, tell=tell)):
        return
    tell(f"{cost.machine}: {operands}")
    simulate = simulate_to_end if cost.machine in accelerators.names() else model
    report = simulate(cost.machine, *cost.operands)
    assert report.area is not None
    assert report.energy is not None
    without = report.area.without if cost.what == "area, mm2" else report.energy.without
    ours = _OURS[cost.what](report)
    yield _figure(cost.machine, cost.what, operands, cost.published, ours, len(without), cost.source)


def _variants(parameters: MintParameters) -> Iterator[Figure]:
    """The netlists of each variant's blocks; those that were not measured are left out."""
    areas = {
        kind: area.um2
        for kind, (block, block_parameters) in twins(parameters).items()
        if (area := find_netlist_area(call_of(block, asdict(block_parameters)))) is not None
    }
    for variant in VARIANTS:
        parts = instances(variant)
        um2 = sum(count * (areas.get(kind) or 0.0) for kind, count in parts.items())
        ours = um2 * area_factor(LIBRARIES[PRICED].nanometres, MINT_NM) / 1e6
        left = sum(areas.get(kind) is None for kind in parts)
        source = "MINT, IPDPS 2021, 28 nm"
        yield _figure(variant, "area, mm2", "", PUBLISHED_MM2[variant], ours, left, source)


def _figure(
    machine: str, what: What, run: str, theirs: float, ours: float, without: int, source: str
) -> Figure:
    settings = f"{without} parts excluded" if without else ""
    return Figure(machine, what, run, theirs, ours, settings, source=source)


def _picojoules(report: Report) -> float:
    assert report.energy is not None
    return report.energy.total_pj
