"""Translate a specification and its tensors into the stream graphs of its machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from fiberscope.models.from_spec.instances import place_instances
from fiberscope.models.from_spec.lowering import lower_stage
from fiberscope.models.from_spec.operands import prepare_loops
from fiberscope.models.from_spec.rounds import round_begins
from fiberscope.models.from_spec.stage_graph import StageGraph
from fiberscope.models.from_spec.stages import Stage, build_stages
from fiberscope.models.trace.evaluate import select_next_inputs
from fiberscope.models.trace.plan import LoopPlan
from fiberscope.models.trace.specification import Specification
from fiberscope.workloads.fibertree import FiberTree

Trees = Mapping[str, FiberTree]


def build_graphs(
    specification: Specification,
    tensors: Trees,
    intermediate: Callable[[], Trees] | None = None,
    max_instances: int | None = None,
    lanes: int = 0,
    *,
    banked: bool = False,
) -> list[tuple[Stage, StageGraph]]:
    """Translate each stage of a specification into a stream graph.

    Args:
        specification: a complete specification: Einsums, ranks and mapping.
        tensors: fibertrees of the input tensors, by name.
        intermediate: returns the fibertree that each Einsum writes, by name of the Einsum. It is called once,
            and only if there are several stages. Without it, ``tensors`` must hold the intermediate tensors
            too. A cascade that repeats needs it: an intermediate tensor differs from round to round.
        max_instances: largest number of instances of a stage without a number in the specification; None
            for no limit.
        lanes: lanes of each instance, see ``build_stages``.
        banked: whether the coordinate of a task determines its instance, see ``Stage.banked``.

    Returns:
        The stages in the order in which they run, each with its graph.

    Raises:
        ConfigurationError: the specification uses a feature from which no machine can be built.
        InputError: the tensors do not fit the specification.
    """
    stages = build_stages(specification, lanes)
    outputs = intermediate() if intermediate is not None and len(stages) > 1 else {}
    trees, graphs, begins = dict(tensors), list[tuple[Stage, StageGraph]](), round_begins(specification)
    sources = dict.fromkeys(trees, "")
    for stage in stages:
        # a new round reads the results of the round before in place of its inputs
        if stage.einsums[0].name in begins:
            trees |= select_next_inputs(specification, trees)
            assert specification.iteration is not None  # it has rounds
            sources |= {name: sources[source] for name, source in specification.iteration.carry.items()}
        # without a loop before the cut there is a single task, and no coordinate
        by_coordinate = banked and bool(stage.outer)
        placed_stage, graph = _build_graph(
            specification, replace(stage, banked=by_coordinate), trees, max_instances
        )
        # a copy of the sources, since later stages replace versions
        graphs.append((placed_stage, replace(graph, sources=dict(sources))))
        # later stages read these versions; an Einsum that writes a tensor again replaces its earlier version
        trees |= {einsum.output: outputs[einsum.name] for einsum in stage.einsums if einsum.name in outputs}
        sources |= {einsum.output: einsum.name for einsum in stage.einsums}
    return graphs


def _build_graph(
    specification: Specification, stage: Stage, tensors: Trees, max_instances: int | None
) -> tuple[Stage, StageGraph]:
    """Return a stage with its number of instances, and the graph of the stage."""
    trees, reads = dict(tensors), []
    merged_name = stage.einsums[0].output if stage.merger else ""
    for einsum in stage.einsums:
        reads.append(prepare_loops(specification, einsum, trees, stage.outer, merged_name))
        if einsum.output == merged_name and merged_name not in trees:
            trees[einsum.output] = _build_empty_output(specification, reads[-1].plan)
    # all Einsums of a stage have the same loops before the cut, so the first plan counts the instances
    stage = place_instances(stage, reads[0].plan, max_instances)
    return stage, lower_stage(specification, stage, reads)


def _build_empty_output(specification: Specification, plan: LoopPlan) -> FiberTree:
    """Return an empty output with the shape of its ranks.

    The graph reads only the shape of a tensor that a merger hands over: the merger provides the elements.
    """
    output = plan.equation.output
    declared = specification.tensors[output.tensor].ranks
    sizes = [plan.shape(str(index.rank)) for index in output.indices]
    return FiberTree.from_coo(dict(zip(declared, sizes, strict=True)), [[] for _ in declared], [])
