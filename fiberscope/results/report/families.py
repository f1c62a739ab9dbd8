"""Families of similar components: ``gamma.pe00.merger`` belongs to the family ``pe.merger``."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fiberscope.accelerators.machine import Accelerator
from fiberscope.results.report.parts import Component
from fiberscope.sim.names import family_name, family_or_parent

SATURATED = 0.8  # from this utilization on, a resource is the bottleneck
NEVER_WITHOUT_REQUEST = 0.95  # from this share of busy cycles on, a memory channel always holds a request
MOSTLY_MOVING = 0.5  # below this share of the bandwidth, a busy channel may only wait for a latency


@dataclass(frozen=True)
class Family:
    """The sums of the cycles of all components of a family, and its busiest member.

    Args:
        name: name of the family.
        count: number of components.
        cycles, busy, input_stall, output_stall, idle: cycles of all components, in total and by state.
        busiest: instance name of the component with the largest busy share.
        max_busy_share: busy share of this component, from 0 to 1.
    """

    name: str
    count: int
    cycles: int
    busy: int
    input_stall: int
    output_stall: int
    idle: int
    busiest: str
    max_busy_share: float

    @property
    def label(self) -> str:
        """Return the name with the number of members."""
        return f"{self.name} x{self.count}" if self.count > 1 else self.name

    def share(self, cycles: int) -> float:
        """Return ``cycles`` as a fraction of all members' cycles; 0 for a family without cycles."""
        return cycles / self.cycles if self.cycles else 0.0


def list_members(family: str, components: Mapping[str, Component]) -> list[Component]:
    """Return the components of a family.

    Args:
        family: name of the family.
        components: all components of the run, by instance name.
    """
    return [component for name, component in components.items() if family_name(name) == family]


def group_families(components: Mapping[str, Component]) -> dict[str, Family]:
    """Return the families of a machine's components by name, in the order of their first members."""
    components_by_family: dict[str, dict[str, Component]] = {}
    for name, component in components.items():
        components_by_family.setdefault(family_name(name), {})[name] = component
    return {name: _sum_family(name, members) for name, members in components_by_family.items()}


def _sum_family(name: str, members: Mapping[str, Component]) -> Family:
    busiest = max(members, key=lambda member: _compute_busy_share(members[member]))
    return Family(
        name=name,
        count=len(members),
        cycles=sum(member.cycles for member in members.values()),
        busy=sum(member.busy for member in members.values()),
        input_stall=sum(member.input_stall for member in members.values()),
        output_stall=sum(member.output_stall for member in members.values()),
        idle=sum(member.idle for member in members.values()),
        busiest=busiest,
        max_busy_share=_compute_busy_share(members[busiest]),
    )


def _compute_busy_share(component: Component) -> float:
    """Return the fraction of a component's cycles in which the component is busy."""
    return component.busy / component.cycles if component.cycles else 0.0


def choose_pacing_family(workers: str, kinds: Container[str]) -> str:
    """Return the family that sets the pace of a worker family: its lanes if it has lanes, else the workers.

    Args:
        workers: name of the worker family.
        kinds: names of the families of the run.
    """
    lanes = f"{workers.rpartition('.')[0]}.lanes"
    return lanes if lanes in kinds else workers


def find_busiest_stage(stages: Iterable[str], kinds: Mapping[str, Family]) -> Family | None:
    """Return the worker family whose busiest member has the largest busy share, the first of equal ones.

    A family of lanes stands for its workers (``choose_pacing_family``). A stage without a family is skipped.

    Args:
        stages: names of families, one for each stage.
        kinds: families of a run by name; without any of the stages, None is returned.
    """
    workers = [
        kinds[name]
        for stage in stages
        if (name := family_or_parent(choose_pacing_family(stage, kinds), kinds)) in kinds
    ]
    return max(workers, key=lambda family: family.max_busy_share, default=None)


def list_rounds_of_stages(cycles: Mapping[str, int], omitted: str = "") -> dict[str, list[int]]:
    """Return the cycles of each stage by round; in a repeated cascade, ``X@2`` is X in the second round.

    A cascade is repeated if every name has an ``@``. In any other run, each name is a stage of one round.

    Args:
        cycles: cycles by name; without repetition, ``Z@2`` is a later Einsum with the output Z.
        omitted: a name to leave out.
    """
    repeats = all("@" in name for name in cycles)
    rounds: dict[str, list[int]] = {}
    for name, count in cycles.items():
        if name != omitted:
            rounds.setdefault(name.rpartition("@")[0] if repeats else name, []).append(count)
    return rounds


def bottleneck(
    accelerator: Accelerator[Any],
    components: Mapping[str, Component],
    memory_utilization: float | None,
    explanation: str = "",
) -> str:
    """Describe the bottleneck of a run with its numbers; empty without components.

    A machine with several stages is described by the stage with the busiest component. Workers without any
    cycle had nothing to do. Else the first that applies is returned: saturated memory bandwidth, saturated
    workers, another saturated component of ``accelerator.limits``, memory channels that almost always hold a
    request while at least half of the bandwidth is used; otherwise the largest loss of the workers, with the
    explanation.

    Args:
        accelerator: the machine.
        components: the components of the run, by name.
        memory_utilization: the utilization of the memory bandwidth; None if unknown.
        explanation: the accelerator's own sentence on its losses.
    """
    if not components:
        return ""
    kinds, known_utilization = group_families(components), memory_utilization or 0.0
    workers = find_busiest_stage(accelerator.worker_families, kinds)
    if workers is None or workers.cycles == 0:
        return "There was nothing to do."
    # A saturated resource explains the losses of all others, which therefore come last.
    if known_utilization >= SATURATED:
        return f"Memory bandwidth is the limit: {known_utilization:.0%} of the peak is used."
    if workers.share(workers.busy) >= SATURATED:
        busy = _format_percent(workers, workers.busy)
        return f"Computation is the limit: {_describe_subject(workers)} busy {busy} of the time."
    limits = (family_or_parent(name, kinds) for name in accelerator.limits)
    for kind in (kinds[name] for name in limits if name in kinds):
        if kind.max_busy_share >= SATURATED:
            return f"{kind.busiest} is the limit: it is busy {kind.max_busy_share:.0%} of the time."
    channels = kinds.get(accelerator.channels)
    if channels and known_utilization >= MOSTLY_MOVING:
        share = channels.share(channels.busy)
        if share >= NEVER_WITHOUT_REQUEST:
            return (
                f"Memory is probably the limit: its channels hold requests {share:.0%} of the time and reach "
                f"{known_utilization:.0%} of the peak bandwidth."
            )
    return f"{_describe_largest_loss(workers, memory_utilization)} {explanation}".rstrip()


def _describe_largest_loss(workers: Family, memory_utilization: float | None) -> str:
    losses = {
        "waiting for input": workers.input_stall,
        "waiting for output": workers.output_stall,
        "without work": workers.idle,
    }
    name = max(losses, key=losses.__getitem__)
    memory = "" if memory_utilization is None else f" (memory {memory_utilization:.0%})"
    busiest_text = ""
    # the busiest member shows whether the load is unbalanced
    if name == "without work" and workers.count > 1:
        busiest_text = f" (the busiest, {workers.busiest}, is busy {workers.max_busy_share:.0%})"
    return (
        f"No part is near its peak{memory}: "
        f"{_describe_subject(workers)} {name} {_format_percent(workers, losses[name])} of the time"
        f"{busiest_text}."
    )


def _describe_subject(workers: Family) -> str:
    return f"the {workers.count} {workers.name} are" if workers.count > 1 else f"{workers.name} is"


def _format_percent(family: Family, cycles: int) -> str:
    return f"{family.share(cycles):.0%}"
