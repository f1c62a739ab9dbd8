"""From a specification and its tensors to the graphs that its machine is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fiberscope.models.from_spec.lowering import Lowered, lowered
from fiberscope.models.from_spec.operands import walked
from fiberscope.models.from_spec.stages import Stage, stages_of
from fiberscope.models.trace.plan import Mapped
from fiberscope.models.trace.specification import Specification
from fiberscope.workloads.fibertree import FiberTree

__all__ = ["graphs_of"]

Trees = Mapping[str, FiberTree]


def graphs_of(
    specification: Specification, tensors: Trees, intermediate: Callable[[], Trees] | None = None
) -> list[tuple[Stage, Lowered]]:
    """The stages of a specification with their graphs.

    Args:
        specification: complete.
        tensors: its inputs by name.
        made: gives all tensors, also those that a stage hands to a later one; they are all among ``tensors``
            if it is left out.

    Raises:
        ConfigurationError: no machine is built of it.
        InputError: tensors do not fit the specification.
    """
    stages = stages_of(specification)
    trees = intermediate() if intermediate is not None and len(stages) > 1 else tensors
    return [(stage, _graph(specification, stage, trees)) for stage in stages]


def _graph(specification: Specification, stage: Stage, tensors: Trees) -> Lowered:
    trees, reads = dict(tensors), []
    handed = stage.einsums[0].output if stage.merger else ""
    for einsum in stage.einsums:
        reads.append(walked(specification, einsum, trees, stage.outer, handed))
        if einsum.output == handed and handed not in trees:
            trees[einsum.output] = _empty(specification, reads[-1].mapped)
    return lowered(specification, stage, reads)


def _empty(specification: Specification, mapped: Mapped) -> FiberTree:
    """An output without an element: what is handed over is read nowhere, and its sizes are."""
    output = mapped.equation.output
    declared = specification.tensors[output.tensor].ranks
    sizes = [mapped.shape(str(index.rank)) for index in output.indices]
    return FiberTree.from_coo(dict(zip(declared, sizes, strict=True)), [[] for _ in declared], [])
