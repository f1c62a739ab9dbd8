"""Through which stores what a specification binds is moved, and how long the one beside a leaf keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from fiberscope.models.from_spec.stage_graph import base_name
from fiberscope.models.from_spec.stages import Stage, is_shared
from fiberscope.models.trace.specification import RankFormat, Specification, StorageBinding

__all__ = ["Chain", "Chains", "chains_of"]


@dataclass(frozen=True)
class Chain:
    """Path of the coordinates, the payloads or the elements of a rank from memory.

    Args:
        format: the format of the rank.
        bits: the bits of an entry.
        width: bits of a line of the store next to memory.
        shared: the store that instances share, if one is on the way.
        copies: the copies of this store: one, or as many as its level has.
        cached: whether that is a cache, which takes what is written.
        kept: whether a buffer of the instance keeps what has come.
        buffer: that buffer, and the bits that it holds; None if it has no bound.
        lingers: whether it does so until the next task has ended, too.
        evict_on: the loop whose iterations let it go; empty if none does.
    """

    format: RankFormat
    bits: int
    width: int
    shared: str
    cached: bool
    kept: bool
    evict_on: str
    copies: int = 1
    lingers: bool = False
    buffer: tuple[str, int] | None = None

    def at_instances(self, task: str) -> Chain:
        """Return the chain of an instance: data from a buffer above stays with it until the next task ends.

        Args:
            task: the loop whose coordinates are tasks.
        """
        if self.cached or not self.shared:
            return self
        return replace(self, kept=True, evict_on=task, lingers=True)

    def in_front(self) -> Chain:
        """Return the chain of the blocks before the cut, which are above all copies of a store.

        A buffer above the instances is beside these blocks, and a cache is if it is not one for all.
        """
        if not self.shared or (self.cached and self.copies == 1):
            return self
        return replace(self, kept=True, shared="", cached=False, copies=1)


Chains: TypeAlias = Mapping[tuple[str, str, str], Chain]  # by tensor, rank and kind


def chains_of(specification: Specification, stage: Stage, orders: Mapping[str, tuple[str, ...]]) -> Chains:
    """The chains of a stage, by tensor, rank and kind (``coord``, ``payload``, ``elem``).

    What is bound to memory alone, or to none, is not moved, as in the trace; nor is a tensor that is read or
    written in another order than its format's.

    Args:
        specification: that the stage is of.
        stage: what runs.
        orders: of each tensor, by the names that the graph has for it, its ranks as its tree has them.
    """
    storage_bindings: dict[tuple[str, str, str], list[StorageBinding]] = {}
    bindings = [binding for einsum in stage.einsums for binding in einsum.bindings.storage]
    for name, order in orders.items():
        for binding in bindings:
            stored = specification.tensors[binding.tensor].formats[binding.format]
            if binding.tensor == base_name(name) and stored.rank_order == order:
                storage_bindings.setdefault((name, binding.rank, binding.kind), []).append(binding)
    chains = {what: _chain(specification, stage, bindings) for what, bindings in storage_bindings.items()}
    return {what: chain for what, chain in chains.items() if chain is not None and chain.bits}


def _chain(specification: Specification, stage: Stage, bindings: list[StorageBinding]) -> Chain | None:
    configuration = specification.configurations[stage.einsums[0].bindings.config]
    components = configuration.components
    by_name = {binding.component: binding for binding in reversed(bindings)}
    path = [component for name, component in components.items() if name in by_name]
    if path[0].name not in configuration.memories or len(path) == 1:
        return None
    first = bindings[0]
    stored = specification.tensors[first.tensor].formats[first.format].ranks[first.rank]
    last, beside = by_name[path[-1].name], path[-1]
    kept = not is_shared(beside, stage)
    shared = next((component for component in reversed(path[1:]) if is_shared(component, stage)), None)
    return Chain(
        format=stored,
        bits=stored.entry_bits(first.kind),
        width=path[1].width,
        shared=shared.name if shared else "",
        copies=shared.all_instances if shared else 1,
        cached=any(component.kind == "Cache" for component in path),
        kept=kept,
        evict_on="" if last.evict_on in (None, "root") else str(last.evict_on),
        buffer=(beside.name, beside.depth * beside.width) if kept and beside.depth is not None else None,
    )
