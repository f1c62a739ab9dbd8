"""Published areas, powers and energies beside those of our runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from fiberscope import accelerators
from fiberscope.converters.configuration import MintParameters
from fiberscope.converters.variants import VARIANTS, instances
from fiberscope.explore.tables import load_available, read_table, simulate_to_end
from fiberscope.models.trace.api import model
from fiberscope.results.costs.netlists import LIBRARY_NM, call_of, netlist_area
from fiberscope.results.costs.scaling import area_factor
from fiberscope.results.report.document import Report
from fiberscope.workloads import is_gemm
from published.mint import PUBLISHED_MM2, twins

__all__ = ["Cost", "Figure", "costs", "published"]

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


class Figure(_Row):
    """A published figure, and the run whose own is laid beside it."""

    machine: str
    what: What
    published: float = Field(gt=0)
    operands: tuple[str, ...]
    source: str = Field(min_length=5)


class Figures(_Row):
    """All of them."""

    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Cost:
    """A published figure beside ours.

    Args:
        machine, what, source: of the figure.
        run: on what ours is of.
        published, ours: both in the unit that ``what`` says.
        without: families of components and the like that ours leaves out.
    """

    machine: str
    what: str
    run: str
    published: float
    ours: float
    without: int
    source: str

    @property
    def error(self) -> float:
        """Ours over the published, less 1."""
        return self.ours / self.published - 1.0


def costs(machines: Iterable[str], mint: MintParameters, tell: Callable[[str], None]) -> list[Cost]:
    """The figures of some machines, of all if none is named; ``mint`` are the variants of a converter."""
    wanted = set(machines)
    rows = [row for one in _figures() if not wanted or one.machine in wanted for row in _run(one, tell)]
    return [*rows, *(_variants(mint) if not wanted or "mint" in wanted else ())]


def published(machine: str, what: What) -> Figure | None:
    """The first published figure of this kind of a machine."""
    return next((one for one in _figures() if (one.machine, one.what) == (machine, what)), None)


def _figures() -> tuple[Figure, ...]:
    return read_table(FILE, Figures, "study").figures


def _run(figure: Figure, tell: Callable[[str], None]) -> Iterator[Cost]:
    """The figure beside ours; nothing if its matrix is not at hand, as a stand-in's energy is another's."""
    operands = " ".join(figure.operands)
    known = is_gemm(operands) or load_available(operands, surrogates=False, demanded=False, tell=tell)
    if not known:
        return
    tell(f"{figure.machine}: {operands}")
    ran = simulate_to_end if figure.machine in accelerators.names() else model
    report = ran(figure.machine, *figure.operands)
    assert report.area is not None
    assert report.energy is not None
    without = report.area.without if figure.what == "area, mm2" else report.energy.without
    ours = _OURS[figure.what](report)
    yield Cost(figure.machine, figure.what, operands, figure.published, ours, len(without), figure.source)


def _variants(given: MintParameters) -> Iterator[Cost]:
    """The netlists of each variant's blocks; those that were not measured are left out."""
    areas = {kind: netlist_area(call_of(block, asdict(one))) for kind, (block, one) in twins(given).items()}
    for variant in VARIANTS:
        parts = instances(variant)
        um2 = sum(count * (areas.get(kind) or 0.0) for kind, count in parts.items())
        ours = um2 * area_factor(LIBRARY_NM, MINT_NM) / 1e6
        left = sum(areas.get(kind) is None for kind in parts)
        yield Cost(variant, "area, mm2", "", PUBLISHED_MM2[variant], ours, left, "MINT, IPDPS 2021, 28 nm")


def _picojoules(report: Report) -> float:
    assert report.energy is not None
    return report.energy.total_pj
