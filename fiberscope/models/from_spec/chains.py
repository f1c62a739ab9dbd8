"""The stores through which the data of a bound rank moves, and how long an instance's buffer keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from fiberscope.models.from_spec.stage_graph import strip_primes
from fiberscope.models.from_spec.stages import Stage, is_shared
from fiberscope.models.trace.specification import Specification, StorageBinding
from fiberscope.models.trace.storage_format import RankFormat


@dataclass(frozen=True)
class Chain:
    """The path of the coordinates, payloads or elements of a rank between memory and an instance.

    Args:
        format: format of the rank.
        bits: bits of an entry.
        width: bits of a line of the store next to memory.
        shared: name of the store on the path that instances share; empty if there is none.
        copies: number of copies of the shared store: 1, or the number of copies of its level.
        cached: whether the path contains a cache, which also accepts writes.
        kept: whether a buffer of the instance keeps the data that has arrived.
        buffer: name of the instance's buffer and its capacity in bits; None if the capacity has no bound, or
            if the store nearest to the instance is not its own.
        lingers: whether the buffer keeps the data of a task until the next task has ended.
        evict_on: loop whose next iteration evicts the data from the buffer; empty if no loop does.
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

    def instance_chain(self, task: str) -> Chain:
        """Return the chain of an instance, which keeps data of a shared buffer until its next task ends.

        A chain with a cache, or without a shared buffer, is returned unchanged.

        Args:
            task: the innermost loop before the cut; each iteration is a task.
        """
        if self.cached or not self.shared:
            return self
        return replace(self, kept=True, evict_on=task, lingers=True)

    def outer_chain(self) -> Chain:
        """Return the chain of the blocks before the cut, which use the shared buffers as their own.

        Only a cache with a single copy stays shared between these blocks and the instances.
        """
        if not self.shared or (self.cached and self.copies == 1):
            return self
        return replace(self, kept=True, shared="", cached=False, copies=1)


Chains: TypeAlias = Mapping[tuple[str, str, str], Chain]  # by tensor, rank and kind


def build_chains(specification: Specification, stage: Stage, orders: Mapping[str, tuple[str, ...]]) -> Chains:
    """Return the chains of a stage, by tensor, rank and kind (``coord``, ``payload``, ``elem``).

    Data that is bound to memory alone, or not bound, is not moved, as in the trace. Entries of 0 bits are not
    moved. A tensor whose ranks are read or written in another order than its format accepts is not moved
    either.

    Args:
        specification: the specification of the stage.
        orders: for each tensor, by its name in the graph, the ranks of its fibertree from the root.
    """
    storage_bindings: dict[tuple[str, str, str], list[StorageBinding]] = {}
    bindings = [binding for einsum in stage.einsums for binding in einsum.bindings.storage]
    for name, order in orders.items():
        for binding in bindings:
            format = specification.tensors[binding.tensor].formats[binding.format]
            fits = format.accepts(order) if name == stage.einsums[-1].output else format.rank_order == order
            if binding.tensor == strip_primes(name) and fits:
                storage_bindings.setdefault((name, binding.rank, binding.kind), []).append(binding)
    chains = {key: _build_chain(specification, stage, bindings) for key, bindings in storage_bindings.items()}
    return {key: chain for key, chain in chains.items() if chain is not None and chain.bits}


def _build_chain(specification: Specification, stage: Stage, bindings: list[StorageBinding]) -> Chain | None:
    """Return the chain of equal data, from its bindings; None if the data does not move.

    Data moves only if memory binds it, and at least one further store.
    """
    configuration = specification.configurations[stage.einsums[0].bindings.config]
    components = configuration.components
    # reversed, so that the first of several bindings to a store counts
    bindings_by_store = {binding.component: binding for binding in reversed(bindings)}
    # components are listed from the root of the architecture down
    path = [component for name, component in components.items() if name in bindings_by_store]
    if path[0].name not in configuration.memories or len(path) == 1:
        return None
    first_binding = bindings[0]
    rank_format = (
        specification.tensors[first_binding.tensor].formats[first_binding.format].ranks[first_binding.rank]
    )
    last_binding, nearest = bindings_by_store[path[-1].name], path[-1]  # the store nearest to the instance
    is_own_buffer = not is_shared(nearest, stage)
    shared = next((component for component in reversed(path[1:]) if is_shared(component, stage)), None)
    return Chain(
        format=rank_format,
        bits=rank_format.count_entry_bits(first_binding.kind),
        width=path[1].width,
        shared=shared.name if shared else "",
        copies=shared.all_instances if shared else 1,
        cached=any(component.kind == "Cache" for component in path),
        kept=is_own_buffer,
        evict_on="" if last_binding.evict_on in (None, "root") else str(last_binding.evict_on),
        buffer=(nearest.name, nearest.depth * nearest.width)
        if is_own_buffer and nearest.depth is not None
        else None,
    )
