"""The number of instances of a stage: copies in the architecture, or iterations of its loops in space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from fiberscope.models.from_spec.stages import Stage, build_stages, refuse
from fiberscope.models.trace.plan import LoopPlan
from fiberscope.models.trace.specification import Follow, Specification, UniformOccupancy


def check_instances(specification: Specification, limit: int, lanes: int = 0) -> None:
    """Raise an error if a stage has too many instances of a level of the architecture.

    Stages with ``places`` always pass: they have one instance here, and ``place_instances`` may limit them.

    Args:
        specification, lanes: arguments of ``build_stages``.
        limit: largest number of instances.

    Raises:
        ConfigurationError: a stage has more instances; ``build_stages`` raises it too.
    """
    for stage in build_stages(specification, lanes):
        if stage.instances > limit:
            instances = f"it has {stage.instances:,} instances of {stage.level}"
            raise refuse(specification, f"{instances}; timing.most is {limit:,}")


def place_instances(stage: Stage, plan: LoopPlan, limit: int | None) -> Stage:
    """Return a stage with an instance for each iteration of its loops in space, up to a limit.

    The new ``basis`` explains the number. With fewer instances than iterations, iterations share instances.

    Args:
        stage: the stage; without loops in ``places`` it is returned unchanged.
        plan: plan of the loops of its first Einsum, with the shapes of ranks.
        limit: largest number of instances; a stage with more iterations has this number. None for no limit.
    """
    if not stage.places:
        return stage
    count = math.prod(count_iterations(plan, loop) for loop in stage.places)
    loops = f"places of {' x '.join(stage.places)}"
    if limit is not None and count > limit:
        return replace(stage, instances=limit, basis=f"{count:,} {loops}, more than timing.places")
    return replace(stage, instances=count, basis=loops)


def count_iterations(plan: LoopPlan, loop: str) -> int:
    """Return the number of iterations of a loop in full ranks: coordinates, or pieces of a rank.

    It is the largest number, except if a piece by occupancy is split again by shape: its elements are then
    taken to be adjacent, and scattered elements lie in more pieces.

    Args:
        plan: plan of the Einsum's loops, with the shapes of ranks.
        loop: name of the loop.

    Returns:
        The number, at least 1. For pieces by occupancy, as many pieces as elements of a full rank make.
    """
    for partition in plan.einsum.partitioning:
        # a follower is cut where its leader is, so it has the pieces of the leader
        if isinstance(partition, Follow) and loop in partition.names:
            return count_iterations(plan, plan.splits[partition.leader].names[partition.names.index(loop)])
    split = next((split for split in plan.splits.values() if loop in split.names), None)
    if split is None and loop in plan.flattened:
        return math.prod(count_iterations(plan, rank) for rank in plan.flattened[loop].ranks)
    if split is None:
        return max(1, plan.shapes[loop])
    # sizes[n]: coordinates or elements that one run of the loop ``split.names[n]`` covers; a loop over pieces
    # has an iteration for each piece of the next size, and the last loop is over single coordinates, size 1
    sizes = [count_iterations(plan, split.rank)]
    for directive in split.directives:
        # pieces by ways divide the size around them; others have their own size, at most the size around them
        pieces = 0 if isinstance(directive, UniformOccupancy) else directive.ways
        sizes.append(min(math.ceil(sizes[-1] / pieces) if pieces else directive.size, sizes[-1]))
    position = split.names.index(loop)
    return math.ceil(sizes[position] / [*sizes, 1][position + 1])


def describe_instances(stages: Sequence[Stage]) -> tuple[str, ...]:
    """Return notes on the stages: the number of instances where ``basis`` explains it, and the lanes."""
    texts = []
    for stage in stages:
        name = f"{stage.einsums[-1].name}: " if len(stages) > 1 else ""
        if stage.basis:
            texts.append(f"{name}{_count(stage.instances, 'instance')}: {stage.basis}")
        if stage.lanes:
            loops = " x ".join(stage.einsums[-1].loop_order[-stage.vectors :])
            suffix = " in each instance" if stage.instances > 1 else ""
            texts.append(f"{name}{_count(stage.lanes, 'lane')}{suffix}: {loops}")
    return tuple(texts)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' if number > 1 else ''}"
