"""A run in numbers: what each component did in each Einsum, how long it took, what ran together.

Nothing is timed event by event. A component takes its count over what it can do in a second; the Einsums of a
block run together, so that of a block the component that takes longest counts.

Source: TeAAL, MICRO 2023, Section 4.3, and what the public tool counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from fiberscope.models.trace.evaluate import Attachment, CascadeRun, EinsumRun, Prepared
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

__all__ = ["Model", "block_seconds", "blocks", "exchanges", "swaps"]

Counts = dict[str, Any]
TEAAL = Effects()  # nothing beside


def blocks(einsums: Sequence[Einsum]) -> list[list[str]]:
    """Einsums that run together, by name: as many in a row as can.

    One joins those before it if it has their configuration and their loops up to the first in space, and
    needs no functional unit of theirs. As in the public tool, units of a block's first Einsum do not count.
    """
    together: list[list[str]] = []
    used: set[str] = set()
    before: Einsum | None = None
    for einsum in einsums:
        if before is None or _outer(einsum) != _outer(before) or used & _units(einsum):
            together.append([])
            used = set()
        else:
            used |= _units(einsum)
        together[-1].append(einsum.name)
        before = einsum
    return together


def block_seconds(metrics: Sequence[Mapping[str, Any]]) -> float:
    """Return the seconds of a block of Einsums: those of the component that takes longest for all of them."""
    components = dict.fromkeys(name for each in metrics for name in each)
    totals = [sum(each[name]["time"] for each in metrics if name in each) for name in components]
    return max(totals, default=0.0)


def _outer(einsum: Einsum) -> tuple[str, tuple[str, ...]]:
    return einsum.bindings.config, outside_of_space(einsum)


def outside_of_space(einsum: Einsum) -> tuple[str, ...]:
    """The loops up to the first in space."""
    space = {each.rank for each in einsum.spacetime.space} if einsum.spacetime else set[str]()
    return tuple(takewhile(lambda rank: rank not in space, einsum.loop_order))


def _units(einsum: Einsum) -> set[str]:
    bound = einsum.bindings
    lists = (bound.compute, bound.intersectors, bound.sequencers)
    return {each.component for bindings in lists for each in bindings}


def swaps(tree: FiberTree, final: Sequence[str], merger: Component) -> int:
    """Steps of the mergers that bring a tree's ranks into another order.

    When two ranks change places, for every fiber of the upper one the fibers below it are merged. Orders that
    are more than one such exchange apart take one after the other, as few as there can be.

    Args:
        tree: in the order at first.
        final: names of its ranks in the order that is wanted.
        merger: with a bound on its inputs an element takes one step; else heads are kept sorted by insertion.
    """
    steps, radix, sums = 0, merger.radix, merger.reduces
    for depth in exchanges(tree.names, final):
        segments, starts = tree.segments[depth], tree.segments[depth + 1]
        coordinates = tree.coordinates[depth + 1]
        steps += (
            sort_steps(segments, starts, coordinates, radix, sums=sums)
            if merger.inputs is None
            else merge_steps(segments, starts, radix, coordinates if sums else None)
        )
        names = list(tree.names)
        names[depth : depth + 2] = names[depth + 1], names[depth]
        tree = tree.swizzle(names) if tuple(names) != tuple(final) else tree
    return steps


def exchanges(initial: Sequence[str], final: Sequence[str]) -> Iterator[int]:
    """Depths at which a rank changes places with the one below it, in turn, from one order to the other."""
    names = list(initial)
    for depth, name in enumerate(final):
        place = names.index(name)
        yield from range(place - 1, depth - 1, -1)
        names.insert(depth, names.pop(place))


class Model:
    """Counts of the public TeAAL tool for a cascade, and the additions of ``effects``.

    ``run(specification, tensors, model.observe)`` runs the cascade and tells the model; ``metrics`` then says
    what it was told.

    Args:
        specification: the specification of the cascade.
        effects: what is counted beside what the public tool counts.
    """

    def __init__(self, specification: Specification, effects: Effects = TEAAL) -> None:
        self.specification = specification
        self.effects = effects
        self.storages: list[Storage | None] = []
        self.imbalances: list[Imbalance | None] = []

    def observe(self, prepared: Prepared) -> Sequence[Attachment]:
        """The recorders for an Einsum that is about to run; what the last one moved is counted before."""
        if self.storages and self.storages[-1] is not None:
            self.storages[-1].traffic()
        configuration = self._configuration(prepared)
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
        """Counts and seconds: by Einsum and component, then the blocks, and the time of all.

        Traffic is in bits, times are in seconds. Of an Einsum that ran in several rounds all are added up;
        one that was interrupted has no run, and is left out.
        """
        metrics: dict[str, Any] = {}
        for run, storage, imbalance in zip(outcome.runs, self.storages, self.imbalances, strict=False):
            if storage is not None:
                counted = dict(self._counted(run, storage, imbalance, outcome))
                _add(metrics.setdefault(run.prepared.einsum.name, {}), counted)
        measured = [einsum for einsum in self.specification.einsums if einsum.name in metrics]
        together = blocks(measured)
        seconds = sum(block_seconds([metrics[name] for name in block]) for block in together)
        return metrics | {"blocks": together, "time": seconds}

    def _configuration(self, prepared: Prepared) -> Configuration | None:
        return self.specification.configurations.get(prepared.einsum.bindings.config)

    def _counted(
        self, run: EinsumRun, storage: Storage, imbalance: Imbalance | None, outcome: CascadeRun
    ) -> Iterator[tuple[str, Counts]]:
        """The components that did something, with what it was and how long it takes."""
        configuration = self._configuration(run.prepared)
        assert configuration is not None  # a storage was made of it
        output = run.prepared.einsum.output
        for name, tensors in storage.traffic().items():
            counts: Counts = {}
            for tensor, traffic in tensors.items():
                counts[tensor] = {"read": traffic.read}
                if tensor == output:
                    counts[tensor]["write"] = traffic.write
            bits = sum(sum(each.values()) for each in counts.values())
            yield name, counts | _memory_time(configuration.components[name], bits)
        for name, counts in self._work(run, outcome).items():
            component = configuration.components[name]
            rate = configuration.clock_frequency * component.instances
            seconds = sum(counts.values()) / rate
            factor = imbalance.factor(component.instances) if imbalance else 1
            yield name, counts | {"time": seconds * factor}

    def _work(self, run: EinsumRun, outcome: CascadeRun) -> dict[str, Counts]:
        """Return the counts of functional units and mergers, by component."""
        bindings, done = run.prepared.einsum.bindings, dict[str, Counts]()
        for merged in bindings.mergers:
            name = f"{merged.tensor}_{''.join(merged.init_ranks)}"
            done.setdefault(merged.component, {})[name] = self._swaps(run, merged, outcome)
        for compute in bindings.compute:
            names = _counted_as(run.prepared.einsum, compute.operation)
            count = sum(run.operations.get(name, 0) for name in names)
            done.setdefault(compute.component, {})[compute.operation] = count
        for intersected in bindings.intersectors:
            counts = done.setdefault(intersected.component, {"intersect": 0})
            counts["intersect"] += self._intersections(run, intersected.component, intersected.rank)
        for sequenced in bindings.sequencers:
            done.setdefault(sequenced.component, {})[sequenced.rank] = run.bodies[sequenced.rank]
        return done

    def _component(self, run: EinsumRun, name: str) -> Component:
        configuration = self._configuration(run.prepared)
        assert configuration is not None
        return configuration.components[name]

    def _intersections(self, run: EinsumRun, name: str, rank: str) -> int:
        if rank not in run.intersections:
            return 0
        counted = run.intersections[rank]
        kind = self._component(run, name).intersection
        return {
            "two-finger": counted.two_finger,
            "skip-ahead": counted.skip_ahead,
            "leader-follower": counted.leader_follower,
        }[kind or "two-finger"]

    def _swaps(self, run: EinsumRun, merged: MergerBinding, outcome: CascadeRun) -> int:
        tree = _before(run, merged, outcome)
        return swaps(tree, merged.final_ranks, self._component(run, merged.component))


def _counted_as(einsum: Einsum, function: str) -> set[str]:
    """The names that an Einsum counts a function by: those of the operators that compute it, and its own."""
    names = {OPERATORS[operator] for operator, computed in einsum.operators.items() if computed == function}
    return names | ({function} - set(OPERATORS.values()))


def _before(run: EinsumRun, merged: MergerBinding, outcome: CascadeRun) -> FiberTree:
    """The tensor as it comes to a merger."""
    for earlier in reversed(outcome.runs[: outcome.runs.index(run)]):
        if earlier.prepared.einsum.output == merged.tensor and earlier.stored.names == merged.init_ranks:
            return earlier.stored
    return run.prepared.trees[merged.tensor].tree.swizzle(merged.init_ranks)


def _memory_time(component: Component, bits: int) -> Counts:
    """Seconds that a memory takes; without a bandwidth, none."""
    if component.bandwidth is None:
        return {"time": 0.0}
    return {"time": bits / (component.bandwidth * component.instances)}


def _add(total: dict[str, Any], further: dict[str, Any]) -> None:
    """Add numbers to those that stand in the same places."""
    for name, value in further.items():
        if isinstance(value, dict):
            _add(total.setdefault(name, {}), value)
        else:
            total[name] = total.get(name, 0) + value
