"""Counts and times of a run: the work of each component in each Einsum, its time, and fused Einsums.

Time is not simulated event by event. A component's time is its count divided by its rate. The Einsums of a
block run concurrently, so the slowest component of a block determines the time of the block.

Source: TeAAL, MICRO 2023, Section 4.3, and counts of the public tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from fiberscope.models.trace.evaluate import Attachment, BodyAttachment, CascadeRun, EinsumRun, Prepared
from fiberscope.models.trace.options import Effects
from fiberscope.models.trace.sorted_heads import merge_steps, sort_steps
from fiberscope.models.trace.spacetime import Imbalance
from fiberscope.models.trace.specification import (
    OPERATORS,
    Component,
    Configuration,
    Einsum,
    MergerBinding,
    Specification,
)
from fiberscope.models.trace.storage import Storage
from fiberscope.workloads.fibertree import FiberTree

Counts = dict[str, Any]
TEAAL = Effects()


def group_blocks(einsums: Sequence[Einsum]) -> list[list[str]]:
    """Group consecutive Einsums that run concurrently, by name.

    An Einsum joins the block before it if both have the same configuration and the same loops up to the first
    loop in space, and no functional unit in common. As in the public tool, units of the first Einsum of a
    block do not count.
    """
    groups: list[list[str]] = []
    used_units: set[str] = set()
    previous: Einsum | None = None
    for einsum in einsums:
        if previous is None or _fuse_key(einsum) != _fuse_key(previous) or used_units & _find_units(einsum):
            groups.append([])
            used_units = set()  # as in the public tool, without the units of this Einsum
        else:
            used_units |= _find_units(einsum)
        groups[-1].append(einsum.name)
        previous = einsum
    return groups


def block_seconds(metrics: Sequence[Mapping[str, Any]]) -> float:
    """Return the seconds of a block of Einsums: the largest total of a component over all Einsums.

    Args:
        metrics: for each Einsum of the block, the counts by component, with the seconds under ``time``.

    Returns:
        The seconds; 0 if no component is active.
    """
    components = dict.fromkeys(name for block_metrics in metrics for name in block_metrics)
    totals = [
        sum(block_metrics[name]["time"] for block_metrics in metrics if name in block_metrics)
        for name in components
    ]
    return max(totals, default=0.0)


def _fuse_key(einsum: Einsum) -> tuple[str, tuple[str, ...]]:
    return einsum.bindings.config, find_loops_outside_space(einsum)


def find_loops_outside_space(einsum: Einsum) -> tuple[str, ...]:
    """Return the loops outside of the first loop in space."""
    space = {loop.rank for loop in einsum.spacetime.space} if einsum.spacetime else set[str]()
    return tuple(takewhile(lambda rank: rank not in space, einsum.loop_order))


def _find_units(einsum: Einsum) -> set[str]:
    """Return the functional units of an Einsum; mergers do not count."""
    bindings = einsum.bindings
    lists = (bindings.compute, bindings.intersectors, bindings.sequencers)
    return {binding.component for unit_bindings in lists for binding in unit_bindings}


def count_swap_steps(tree: FiberTree, final: Sequence[str], merger: Component) -> int:
    """Return the steps of the mergers that reorder a tree's ranks.

    To exchange two adjacent ranks, the fibers below every fiber of the upper rank are merged. Another order
    takes the fewest such exchanges, one after the other.

    Args:
        tree: the tree in its initial order.
        final: names of the ranks in the final order.
        merger: if its inputs are bounded, a round of merging takes a step for each element and each list
            (``merge_steps``). If not, insertion keeps the heads sorted (``sort_steps``).
    """
    steps, radix, sums = 0, merger.radix, merger.reduces
    for depth in list_exchanges(tree.names, final):
        segments, starts = tree.segments[depth], tree.segments[depth + 1]
        coordinates = tree.coordinates[depth + 1]
        steps += (
            sort_steps(segments, starts, coordinates, radix, sums=sums)
            if merger.inputs is None
            else merge_steps(segments, starts, radix, coordinates if sums else None)
        )
        names = list(tree.names)
        names[depth : depth + 2] = names[depth + 1], names[depth]
        # the last exchange is counted above; its tree is not needed
        tree = tree.swizzle(names) if tuple(names) != tuple(final) else tree
    return steps


def list_exchanges(initial: Sequence[str], final: Sequence[str]) -> Iterator[int]:
    """Yield the depths at which a rank is exchanged with the rank below to reach the final order.

    Args:
        initial, final: the same ranks, from the root, in the initial and in the final order.
    """
    names = list(initial)
    # as an insertion sort: one exchange for each pair of ranks in the wrong order, which is the fewest
    for depth, name in enumerate(final):
        position = names.index(name)
        yield from range(position - 1, depth - 1, -1)
        names.insert(depth, names.pop(position))


class Model:
    """Counts of the public TeAAL tool for a cascade, and the additions of ``effects``.

    ``run(specification, tensors, model.observe)`` runs the cascade with the model's recorders. ``metrics``
    then returns the counts.

    Args:
        specification: the specification of the cascade.
        effects: effects to count in addition to those of the public tool.
    """

    def __init__(self, specification: Specification, effects: Effects = TEAAL) -> None:
        self.specification = specification
        self.effects = effects
        self.storages: list[Storage | None] = []
        self.imbalances: list[Imbalance | None] = []

    def observe(self, prepared: Prepared) -> Sequence[Attachment | BodyAttachment]:
        """Return the recorders for an Einsum before its run; complete the counts of the previous Einsum.

        ``run`` calls this method once for each run of an Einsum, in order. An Einsum without bindings has no
        recorders and no counts.
        """
        # the previous run has ended: its traffic is counted now, to release its recorded accesses
        if self.storages and self.storages[-1] is not None:
            self.storages[-1].traffic()
        configuration = self._find_configuration(prepared)
        if configuration is None:
            self.storages.append(None)
            self.imbalances.append(None)
            return ()
        storage = Storage(prepared, configuration, self.specification.tensors, self.effects)
        imbalance = Imbalance.create(prepared, configuration) if self.effects.imbalance else None
        self.storages.append(storage)
        self.imbalances.append(imbalance)
        return (*storage.attachments(), *(imbalance.attachments() if imbalance else ()))

    def metrics(self, outcome: CascadeRun) -> dict[str, Any]:
        """Return counts and seconds by Einsum and component, then the blocks and the total time.

        Traffic is in bits, times are in seconds. The counts and seconds of an Einsum add up over all rounds
        of an iteration. An interrupted Einsum, and an Einsum without bindings, are left out.
        """
        metrics: dict[str, Any] = {}
        # after an interrupt there is a storage without a run
        for run, storage, imbalance in zip(outcome.runs, self.storages, self.imbalances, strict=False):
            if storage is not None:
                counts = dict(self._count_components(run, storage, imbalance, outcome))
                _add(metrics.setdefault(run.prepared.einsum.name, {}), counts)
        measured = [einsum for einsum in self.specification.einsums if einsum.name in metrics]
        groups = group_blocks(measured)
        seconds = sum(block_seconds([metrics[name] for name in block]) for block in groups)
        return metrics | {"blocks": groups, "time": seconds}

    def _find_configuration(self, prepared: Prepared) -> Configuration | None:
        return self.specification.configurations.get(prepared.einsum.bindings.config)

    def _count_components(
        self, run: EinsumRun, storage: Storage, imbalance: Imbalance | None, outcome: CascadeRun
    ) -> Iterator[tuple[str, Counts]]:
        """Yield the active components with their counts and seconds."""
        configuration = self._find_configuration(run.prepared)
        assert configuration is not None
        output = run.prepared.einsum.output
        for name, tensors in storage.traffic().items():
            counts: Counts = {}
            for tensor, traffic in tensors.items():
                counts[tensor] = {"read": traffic.read}
                if tensor == output:
                    counts[tensor]["write"] = traffic.write
            bits = sum(sum(directions.values()) for directions in counts.values())
            yield name, counts | _compute_memory_time(configuration.components[name], bits)
        for name, counts in self._work(run, outcome).items():
            component = configuration.components[name]
            rate = configuration.clock_frequency * component.instances  # an instance does one action a cycle
            seconds = sum(counts.values()) / rate
            factor = imbalance.factor(component.instances) if imbalance else 1
            yield name, counts | {"time": seconds * factor}

    def _work(self, run: EinsumRun, outcome: CascadeRun) -> dict[str, Counts]:
        """Return the counts of functional units and mergers, by component."""
        bindings, work = run.prepared.einsum.bindings, dict[str, Counts]()
        for merger in bindings.mergers:
            name = f"{merger.tensor}_{''.join(merger.init_ranks)}"
            work.setdefault(merger.component, {})[name] = self._swap_steps(run, merger, outcome)
        for compute in bindings.compute:
            names = _list_counter_names(run.prepared.einsum, compute.operation)
            count = sum(run.operations.get(name, 0) for name in names)
            work.setdefault(compute.component, {})[compute.operation] = count
        for intersector in bindings.intersectors:
            counts = work.setdefault(intersector.component, {"intersect": 0})
            counts["intersect"] += self._count_intersection_steps(
                run, intersector.component, intersector.rank
            )
        for sequencer in bindings.sequencers:
            work.setdefault(sequencer.component, {})[sequencer.rank] = run.bodies[sequencer.rank]
        return work

    def _find_component(self, run: EinsumRun, name: str) -> Component:
        configuration = self._find_configuration(run.prepared)
        assert configuration is not None
        return configuration.components[name]

    def _count_intersection_steps(self, run: EinsumRun, name: str, rank: str) -> int:
        if rank not in run.intersections:
            return 0
        counts = run.intersections[rank]
        kind = self._find_component(run, name).intersection
        return {
            "two-finger": counts.two_finger,
            "skip-ahead": counts.skip_ahead,
            "leader-follower": counts.leader_follower,
        }[kind or "two-finger"]

    def _swap_steps(self, run: EinsumRun, binding: MergerBinding, outcome: CascadeRun) -> int:
        tree = _build_merger_input(run, binding, outcome)
        return count_swap_steps(tree, binding.final_ranks, self._find_component(run, binding.component))


def _list_counter_names(einsum: Einsum, function: str) -> set[str]:
    """Return the counters of a function: its operators' counters, and its own name."""
    names = {OPERATORS[operator] for operator, computed in einsum.operators.items() if computed == function}
    return names | ({function} - set(OPERATORS.values()))


def _build_merger_input(run: EinsumRun, binding: MergerBinding, outcome: CascadeRun) -> FiberTree:
    """Return the tensor in the order in which a merger reads it.

    An output of an earlier Einsum in this order is read as it was stored. Otherwise the Einsum's own tree,
    which is partitioned, is reordered.
    """
    # backwards: in an iteration, the output of the latest round counts
    for earlier in reversed(outcome.runs[: outcome.runs.index(run)]):
        if earlier.prepared.einsum.output == binding.tensor and earlier.stored.names == binding.init_ranks:
            return earlier.stored
    return run.prepared.trees[binding.tensor].tree.swizzle(binding.init_ranks)


def _compute_memory_time(component: Component, bits: int) -> Counts:
    """Return the seconds of a memory, from its bits a second and instance; 0 without a bandwidth."""
    if component.bandwidth is None:
        return {"time": 0.0}
    return {"time": bits / (component.bandwidth * component.instances)}


def _add(total: dict[str, Any], addend: dict[str, Any]) -> None:
    """Add the numbers of a nested mapping to those of another mapping, key by key."""
    for name, value in addend.items():
        if isinstance(value, dict):
            _add(total.setdefault(name, {}), value)
        else:
            total[name] = total.get(name, 0) + value
