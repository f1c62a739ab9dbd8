"""Components of one kind taken together: ``gamma.pe00.merger`` and its likes are the family ``pe.merger``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fiberscope.report.parts import Component
from fiberscope.sim.names import family_name

__all__ = ["Family", "families"]


@dataclass(frozen=True)
class Family:
    """The cycles of all components of a kind, added up, and the busiest of them."""

    name: str
    count: int
    cycles: int
    busy: int
    input_stall: int
    output_stall: int
    idle: int
    busiest: str
    most_busy: float

    @property
    def label(self) -> str:
        """The name with the number of members."""
        return f"{self.name} x{self.count}" if self.count > 1 else self.name

    def share(self, cycles: int) -> float:
        """Cycles as a part of all, from 0 to 1."""
        return cycles / self.cycles if self.cycles else 0.0


def families(components: Mapping[str, Component]) -> dict[str, Family]:
    """The families of a machine's components by name, in the order of their first members."""
    members: dict[str, dict[str, Component]] = {}
    for name, component in components.items():
        members.setdefault(family_name(name), {})[name] = component
    return {name: _family(name, kin) for name, kin in members.items()}


def _family(name: str, members: Mapping[str, Component]) -> Family:
    busiest = max(members, key=lambda member: _busy_share(members[member]))
    return Family(
        name=name,
        count=len(members),
        cycles=sum(member.cycles for member in members.values()),
        busy=sum(member.busy for member in members.values()),
        input_stall=sum(member.input_stall for member in members.values()),
        output_stall=sum(member.output_stall for member in members.values()),
        idle=sum(member.idle for member in members.values()),
        busiest=busiest,
        most_busy=_busy_share(members[busiest]),
    )


def _busy_share(component: Component) -> float:
    return component.busy / component.cycles if component.cycles else 0.0
