"""Linked lists in memory: the ranks with heads and nodes, and the places of the nodes."""

from __future__ import annotations

from fiberscope.models.from_spec.arrays import number_nodes
from fiberscope.models.from_spec.stage_graph import StageGraph, strip_primes
from fiberscope.models.from_spec.stages import Stage
from fiberscope.models.trace.specification import Specification
from fiberscope.workloads.canonical import Integers


def find_linked_ranks(specification: Specification, stage: Stage, tensor: str) -> tuple[str, ...]:
    """Return the ranks of the heads and of the nodes of a tensor's linked lists; empty without such lists.

    Args:
        specification: the specification of the stage.
        stage: the stage, whose bindings name the format of the tensor.
        tensor: name of the tensor.
    """
    formats = specification.tensors[tensor].formats
    bindings = (binding for einsum in stage.einsums for binding in einsum.bindings.storage)
    candidates = (formats[binding.format].linked for binding in bindings if binding.tensor == tensor)
    return next((linked for linked in candidates if linked), ())


def order_nodes(
    specification: Specification, stage: Stage, graph: StageGraph, tensor: str, number: int
) -> Integers | None:
    """Return for each position of a level its number in the order in which an Einsum has appended the nodes.

    Args:
        specification, stage: arguments of ``find_linked_ranks``.
        graph: graph of the stage, with the tensors that it reads.
        tensor: name of the tensor in the graph.
        number: number of the level, from 0 at the root.

    Returns:
        The numbers; None above the nodes, without linked lists, and for a tensor that no Einsum writes.
    """
    name, ranks = strip_primes(tensor), graph.orders[tensor]
    linked = find_linked_ranks(specification, stage, name)
    writing = next((einsum for einsum in specification.einsums if einsum.output == name), None)
    if not linked or number < len(linked) - 1 or writing is None:
        return None
    order = [ranks.index(loop) for loop in writing.loop_order if loop in linked]
    return number_nodes(graph.tensors[tensor], number, [*order, *range(len(linked), number + 1)])
