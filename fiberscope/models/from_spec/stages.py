"""Stages of a specification: groups of Einsums that run together, with their loops cut at one place.

The loops before the cut make tasks, and the instances of an architecture level run the loops after it. The
package docstring (``fiberscope.models.from_spec``) defines these terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.hw.streams.operations import BINARY
from fiberscope.models.from_spec import PREFIX
from fiberscope.models.from_spec.lanes import list_lane_loops, register_entries
from fiberscope.models.trace.model import group_blocks
from fiberscope.models.trace.specification import Component, Einsum, Specification, Stamp
from fiberscope.workloads.expressions.expression import accesses

MAX_LANES = 1 << 16  # lanes that share a step, at most: a channel between blocks must have space for a step


@dataclass(frozen=True)
class Stage:
    """Einsums that run together: a single Einsum, or two with a merger between them.

    Args:
        einsums: the Einsums, in order.
        outer: loops before the cut, the outermost first; all Einsums of the stage have them.
        level: level of the architecture to whose instances tasks are dispatched.
        instances: number of instances of the level.
        basis: text that explains the number of instances if bound stores or loops in space determine it;
            else empty.
        places: loops in space whose iterations are the instances, if no component is bound.
        merger: merger that passes the output of the first Einsum to the second; None for a single Einsum.
        rounds: number of outer loops up to the loop that evicts the output from a shared buffer; 0 if no loop
            does.
        eager: whether an evicted output is read back by groups of all points with a task's coordinates. If
            not, it is read back point by point.
        lanes: elements per cycle in the innermost loops, if they are in space and their number of lanes is
            known; else 0.
        vectors: number of innermost loops that run on lanes.
        banked: whether the coordinate of the last outer loop determines the instance of a task.
    """

    einsums: tuple[Einsum, ...]
    outer: tuple[str, ...]
    level: str
    instances: int
    basis: str = ""
    places: tuple[str, ...] = ()
    merger: Component | None = None
    rounds: int = 0
    eager: bool = False
    lanes: int = 0
    vectors: int = 0
    banked: bool = False

    @property
    def of_elements(self) -> bool:
        """Return whether each task is a single element, because no loop is after the cut."""
        return len(self.outer) == len(self.einsums[0].loop_order)

    @property
    def reduces(self) -> bool:
        """Return whether the merger stores partial fibers that are already scaled and summed."""
        return self.merger is not None and self.merger.reduces


def refuse(specification: Specification, reason: str) -> ConfigurationError:
    """Return the error that explains why no machine can be built from a specification.

    Args:
        specification: the specification; its name begins the message.
    """
    return ConfigurationError(f"{PREFIX}{specification.name}: {reason}")


def build_stages(specification: Specification, lanes: int = 0) -> list[Stage]:
    """Return the stages of a specification, in the order in which they run.

    Args:
        specification: a complete specification.
        lanes: lanes of each instance, for stages whose innermost loops are in space. 0: the number of entries
            in a line of the register file, if it is above 1.

    Raises:
        ConfigurationError: no machine can be built from the specification; the message gives the reason.
    """
    for einsum in specification.einsums:
        _check_einsum(specification, einsum)
    by_name = {einsum.name: einsum for einsum in specification.einsums}
    stages: list[Stage] = []
    for names in group_blocks(specification.einsums):  # only Einsums of one block can share a stage
        remaining = [by_name[name] for name in names]
        while remaining:
            stage = _build_first_stage(specification, remaining, lanes)
            stages.append(stage)
            remaining = remaining[len(stage.einsums) :]
    # Different tensors, such as ``T`` and ``t``, can have the same stage name.
    tensor_by_stage: dict[str, str] = {}
    for name in (stage.einsums[-1].name for stage in stages):
        earlier = tensor_by_stage.setdefault(find_stage_name(name), name)
        if earlier != name:
            reason = (
                f"the blocks of {earlier} and of {name} would have the same names; rename one of the tensors"
            )
            raise refuse(specification, reason)
    return stages


def find_stage_name(einsum: str) -> str:
    """Return the name of the stage whose last Einsum has this name, the prefix of the names of its blocks."""
    return einsum.lower().replace("@", "_")


def list_skipped_loops(specification: Specification, einsum: Einsum) -> frozenset[str]:
    """Return the loops of an Einsum whose intersector is bound and skips ahead.

    Args:
        specification: the specification, whose architecture gives the type of the intersector.
        einsum: an Einsum of the specification.
    """
    bound = einsum.bindings
    if not bound.intersectors:
        return frozenset()
    units = specification.configurations[bound.config].components
    kinds = {
        intersector.rank: units[intersector.component].intersection for intersector in bound.intersectors
    }
    return frozenset(rank for rank, kind in kinds.items() if kind == "skip-ahead")


def _check_einsum(specification: Specification, einsum: Einsum) -> None:
    """Raise ``ConfigurationError`` for an Einsum from which no machine can be built."""
    name, equation = einsum.name, einsum.computed
    for operator, meaning in einsum.operators.items():
        if meaning not in BINARY:
            raise refuse(specification, f"{name}: {operator} means {meaning}, and no block computes that")
    output = equation.output
    if not any(accesses(equation.expression)):
        reason = f"{name}: {equation.text} reads no tensor, and no block begins its loops"
        raise refuse(specification, f"{reason}; give the values as a tensor, and read that")
    if len(set(output.ranks)) < len(output.indices):
        raise refuse(specification, f"{name}: {output.tensor} has the same index twice")


def _build_first_stage(specification: Specification, einsums: Sequence[Einsum], lanes: int) -> Stage:
    """Return the stage of the first Einsum; the stage also has the second one if a merger joins the two."""
    outer = _find_outer_loops(einsums[0])
    merger = _find_merger(specification, einsums, outer) if len(einsums) > 1 else None
    together = tuple(einsums[: 2 if merger else 1])
    stage = replace(_build_stage(specification, together, outer), merger=merger)
    if merger is None:
        stage = _assign_lanes(specification, stage, lanes)
    # Lanes can change the outer loops and the number of instances, which decide what is evicted.
    return replace(stage, **_find_rounds(specification, stage))


def _assign_lanes(specification: Specification, stage: Stage, lanes: int) -> Stage:
    """Return the stage with its innermost loops on lanes, if they are in space and have a number of lanes.

    If no other loop is in space, all instances and their lanes share each step.
    """
    einsum = stage.einsums[0]
    loops = list_lane_loops(einsum)
    entries = register_entries(specification, einsum) if loops else 0
    lanes = lanes or (entries if entries > 1 else 0)
    if not (loops and lanes):
        return stage
    outer_order = einsum.loop_order[: -len(loops)]
    outer = _find_outer_loops(replace(einsum, loop_order=outer_order))
    if outer:
        places = tuple(loop for loop in stage.places if loop not in loops)
        return replace(stage, outer=outer, places=places, lanes=lanes, vectors=len(loops))
    # No loop distributes tasks, so one instance stands for all and has the lanes of all.
    together = min(lanes * stage.instances, MAX_LANES)
    return replace(
        stage, outer=outer_order, instances=1, basis="", places=(), lanes=together, vectors=len(loops)
    )


def is_shared(component: Component, stage: Stage) -> bool:
    """Return whether instances share a store: a cache, or a buffer with fewer copies than instances.

    Args:
        component: the store.
        stage: the stage whose instances are meant.
    """
    is_shared_buffer = component.kind == "Buffet" and component.all_instances < stage.instances
    return component.kind == "Cache" or is_shared_buffer


def _find_rounds(specification: Specification, stage: Stage) -> dict[str, Any]:
    """Return the fields ``rounds`` and ``eager`` of a stage; empty if no outer loop evicts the output."""
    einsum = stage.einsums[-1]
    for binding in einsum.bindings.storage:
        component = specification.configurations[einsum.bindings.config].components[binding.component]
        evicts = is_shared(component, stage) and binding.evict_on in stage.outer
        if binding.tensor == einsum.output and evicts:
            return {"rounds": stage.outer.index(str(binding.evict_on)) + 1, "eager": binding.style == "eager"}
    return {}


def _find_outer_loops(einsum: Einsum) -> tuple[str, ...]:
    """Return the loops up to the last loop in space; empty if no loop is in space."""
    space = {loop.rank for loop in einsum.spacetime.space} if einsum.spacetime else set[str]()
    last = max((position for position, rank in enumerate(einsum.loop_order) if rank in space), default=-1)
    return einsum.loop_order[: last + 1]


def _find_merger(
    specification: Specification, einsums: Sequence[Einsum], outer: tuple[str, ...]
) -> Component | None:
    """Return the merger that passes the output of the first Einsum to the second; None without one."""
    first, second = einsums[:2]
    # A task runs both Einsums, so both must have the same loops before the cut.
    if _find_outer_loops(second) != outer or first.output not in second.inputs:
        return None
    bound = next((merger for merger in second.bindings.mergers if merger.tensor == first.output), None)
    if bound is None:
        return None
    return specification.configurations[second.bindings.config].components[bound.component]


def _build_stage(specification: Specification, einsums: Sequence[Einsum], outer: tuple[str, ...]) -> Stage:
    """Return a stage at the level with the most copies among its bound units or, without units, stores.

    Without any bound component, the stage has ``places``, which later give the number of instances.
    """
    units: list[Component] = []
    stores: list[Component] = []
    for einsum in einsums:
        bound = einsum.bindings
        if bound.config:
            components = specification.configurations[bound.config].components
            lists = (bound.compute, bound.intersectors, bound.mergers)
            units += [components[binding.component] for bindings in lists for binding in bindings]
            stores += [components[binding.component] for binding in bound.storage]
            stores += [components[binding.component] for binding in bound.sequencers]
    if not (units or stores):
        spacetime = einsums[0].spacetime
        return Stage(tuple(einsums), outer, "pe", 1, places=_rank_names(spacetime.space) if spacetime else ())
    widest = max(units or stores, key=lambda component: component.all_instances)
    # A path ends with the component; the name before it is the level.
    basis = f"{widest.path[-2]}, the widest level of a bound component"
    # Without a loop before the cut, the stage is a single task.
    copies = widest.all_instances if outer else 1
    return Stage(tuple(einsums), outer, widest.path[-2].lower(), copies, "" if units or not outer else basis)


def _rank_names(ranks: Sequence[Stamp]) -> tuple[str, ...]:
    return tuple(rank.rank for rank in ranks)
