"""Energy and area of a run, as parts of a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

from fiberscope.results.costs.cost import Basis, sum_ends
from fiberscope.results.costs.run_costs import CLOCK, CLOCK_TREE, DYNAMIC, LEAKAGE, MEMORY, Kind
from fiberscope.results.report.origin import ReportPart


class CostInterval(ReportPart):
    """Interval of a cost in um2 or pJ: the known amount, a lower bound, and its upper end.

    The upper end is null if a part has no upper end.
    """

    known: float
    upper: float | None

    @classmethod
    def sum_of(cls, parts: Iterable[AreaPart | EnergyPart]) -> Self:
        """Return the sum of parts; its upper end is null if any part has no upper end."""
        lower, upper = sum_ends((part.known, part.upper) for part in parts)
        return cls(known=lower, upper=upper)


class AreaPart(ReportPart):
    """The area in um2 of one part of all components of a family.

    ``part`` is an SRAM, a netlist or ``arithmetic``; empty for a component without a listed area. ``basis``
    is ``none`` if the area is unknown.
    """

    component: str
    part: str
    known: float
    upper: float | None
    basis: Basis
    source: str = ""

    @property
    def name(self) -> str:
        """Return the component with its part."""
        return f"{self.component}: {self.part}" if self.part else self.component


class Area(ReportPart):
    """The areas of all components of each family, in um2, and the parts without a known area."""

    known: float
    upper: float | None
    by_component: dict[str, float]
    parts: tuple[AreaPart, ...] = ()
    without: tuple[str, ...] = ()

    @classmethod
    def from_parts(cls, parts: Iterable[AreaPart]) -> Self:
        """Return the area of ``parts``."""
        listed = tuple(parts)
        by_component: dict[str, float] = {}
        for part in listed:
            if part.basis != "none":  # a family of unknown parts is missing, instead of 0
                by_component[part.component] = by_component.get(part.component, 0.0) + part.known
        total = CostInterval.sum_of(listed)
        return cls(
            known=total.known,
            upper=total.upper,
            by_component=by_component,
            parts=listed,
            without=tuple(part.name for part in listed if part.basis == "none"),
        )


class RtlClock(ReportPart):
    """An estimated upper bound of the clock of a machine's RTL, and the clock that the run assumes.

    ``part`` is the family with the longest path of logic in cells of 45 nm, ``path_ns``, without wires and
    flip-flops. ``hertz``, the bound, is the inverse of this path. ``basis`` is ``law`` if the netlist was
    measured in a smaller size or in other cells. ``without`` are the families without a measurement.
    """

    part: str
    path_ns: float
    hertz: float
    assumed_hertz: float
    basis: Basis
    source: str
    without: tuple[str, ...] = ()


class EnergyPart(ReportPart):
    """The energy in pJ of one action of all components of a family, of their clock or of their leakage.

    ``action`` is empty for a component without a listed energy. The kind ``memory`` is off-chip.
    """

    component: str
    action: str
    kind: Kind
    known: float
    upper: float | None
    basis: Basis
    source: str = ""

    @property
    def name(self) -> str:
        """Return the component with its action."""
        return f"{self.component}.{self.action}" if self.action else self.component


class Energy(ReportPart):
    """Energy of a run, in pJ: by kind, by family and action, and the parts without a known cost.

    ``total_pj`` is the sum of the known energies. In reports of earlier releases ``parts`` is empty and the
    kinds are null.
    """

    total_pj: float
    upper_pj: float | None = None
    dynamic: CostInterval | None = None
    clock: CostInterval | None = None
    leakage: CostInterval | None = None
    memory: CostInterval | None = None
    on_chip: CostInterval | None = None
    by_component: dict[str, dict[str, float]]
    parts: tuple[EnergyPart, ...] = ()
    without: tuple[str, ...] = ()

    @classmethod
    def from_parts(cls, parts: Iterable[EnergyPart]) -> Self:
        """Return the energy of ``parts``."""
        listed = tuple(parts)
        by_component: dict[str, dict[str, float]] = {}
        for part in listed:
            if part.basis != "none":
                actions = by_component.setdefault(part.component, {})
                actions[part.action] = actions.get(part.action, 0.0) + part.known
        total = CostInterval.sum_of(listed)
        by_kind = {
            kind: CostInterval.sum_of(part for part in listed if part.kind == kind)
            for kind in (DYNAMIC, CLOCK, LEAKAGE, MEMORY)
        }
        return cls(
            total_pj=total.known,
            upper_pj=total.upper,
            on_chip=CostInterval.sum_of(part for part in listed if part.kind != MEMORY),
            by_component=by_component,
            parts=listed,
            without=tuple(dict.fromkeys(_iterate_unknown_names(listed))),
            dynamic=by_kind[DYNAMIC],
            clock=by_kind[CLOCK],
            leakage=by_kind[LEAKAGE],
            memory=by_kind[MEMORY],
        )


def _iterate_unknown_names(parts: Iterable[EnergyPart]) -> Iterator[str]:
    """Yield the names of the parts without a known energy; a name can occur several times.

    A component without any known energy has only its name, without an action. A kind (clock, leakage) that is
    wholly unknown is named once, also if no part is of this kind.
    """
    listed = list(parts)
    unknown_names = {CLOCK: CLOCK_TREE, LEAKAGE: LEAKAGE}
    unknown_kinds = [
        kind for kind in unknown_names if all(part.basis == "none" for part in listed if part.kind == kind)
    ]
    yield from (unknown_names[kind] for kind in unknown_kinds)
    # the parts of a kind that is wholly unknown would only repeat the name of the kind
    missing = [part for part in listed if part.basis == "none" and part.kind not in unknown_kinds]
    unknown_components = {part.component for part in missing if not part.action}
    unknown_components -= {part.component for part in listed if part.basis != "none"}
    yield from (part.component if part.component in unknown_components else part.name for part in missing)
