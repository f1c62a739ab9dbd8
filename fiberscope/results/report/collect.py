"""Construction of a report from a finished model, its kernel and its checked answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from fiberscope.accelerators.machine import Accelerator, Model
from fiberscope.accelerators.user_parts import origin
from fiberscope.base.collector import pause_collector
from fiberscope.results.costs.prices import Prices
from fiberscope.results.costs.run_costs import RunActivity
from fiberscope.results.report import costs, parts
from fiberscope.results.report.document import Report
from fiberscope.results.report.families import bottleneck
from fiberscope.results.report.frame import (
    build_report,
    collect_traffic_by_tensor,
    describe_problem,
    summarize_memory,
    verification,
    workload,
)
from fiberscope.results.report.host import Timing
from fiberscope.results.report.timeline import Watch
from fiberscope.sim import Component, ComponentStatistics, Kernel, Run
from fiberscope.workloads import Problem
from fiberscope.workloads.verification import Comparison


@dataclass(frozen=True)
class RunInputs:
    """Facts about a run for its report that the model does not know, and the prices of its costs.

    Args:
        fidelity: the name of the model.
        replaced: factories of the user's components, by the replaced part.
        source: provenance of the sources; None for a run within another run.
        prices: energy and area of actions and parts; None for a machine without prices.
    """

    fidelity: str
    replaced: Mapping[str, Callable[..., Component]]
    source: parts.Source | None
    prices: Prices | None


@dataclass(frozen=True)
class CheckedAnswer:
    """An answer and its comparison with the reference.

    Args:
        answer: the answer in its public form.
        outline: shape and number of nonzeros; None for an answer that is no tensor.
        comparison: the result of the comparison.
    """

    answer: object
    outline: tuple[tuple[int, ...], int] | None
    comparison: Comparison

    @classmethod
    def compare(cls, problem: Problem, answer: object) -> CheckedAnswer:
        """Compute the reference of the problem and compare the answer of a model with the reference.

        Args:
            problem: the problem.
            answer: the answer, as ``Model.result`` returns it.
        """
        return cls(problem.solution(answer), problem.outline(answer), problem.check(answer))


@pause_collector()
def report(
    accelerator: Accelerator[Any],
    problem: Problem,
    model: Model,
    run: Run,
    checked: CheckedAnswer | None,
    timing: Timing,
    watch: Watch | None,
    inputs: RunInputs,
) -> Report:
    """Return the report of a run, complete or not, with its answer; garbage collection pauses meanwhile.

    Args:
        accelerator, problem, model, run: the machine, its problem, the model after the run, and its end.
        checked: the compared answer; None without an answer, or if the run is incomplete.
        timing, watch: seconds on the host; samples over time, None for a model without components.
        inputs: fidelity, replaced parts, sources and prices.
    """
    kernel: Kernel | None = getattr(model, "kernel", None)  # a model without components has none
    operations, traffic = dict(model.operations()), collect_traffic_by_tensor(model.traffic())
    components = list_components(kernel) if kernel else {}
    memory = summarize_memory(model.memory(), traffic, run.seconds)
    comparisons = [checked.comparison] if checked else []
    activity = costs.count_activity(components, traffic, operations, run.cycles, run.seconds)
    return build_report(
        timing,
        operations.get("multiply"),
        kernel.ticks if kernel else None,
        fidelity=cast(parts.Fidelity, inputs.fidelity),
        accelerator=accelerator.name,
        parts={name: origin(factory) for name, factory in inputs.replaced.items()},
        workload=workload(problem.operands.values(), problem.operands),
        problem=describe_problem(problem),
        config=model.parameters.model_dump(mode="json"),
        chosen=accelerator.chosen(model),
        operations=operations,
        traffic=traffic,
        memory=memory,
        product=_summarize_product(checked),
        verification=verification(problem.reference, comparisons, problem.tolerance),
        bottleneck=_describe_bottleneck(accelerator, model, components, memory),
        components=components,
        stages=_count_stage_cycles(accelerator.stage_begins(model), run.cycles),
        iterations=tuple(parts.Iteration(**asdict(iteration)) for iteration in accelerator.iterations(model)),
        source=inputs.source,
        traffic_minimum_bytes=model.traffic_minimum_bytes(),
        unmoved=accelerator.unmoved(model),
        **_run_fields(run, watch),
        **_collect_costs(accelerator, model, inputs, activity),
    ).holding(checked.answer if checked else None)


def _run_fields(run: Run, watch: Watch | None) -> dict[str, Any]:
    """Return the end and the length of a run, and the samples of a model with components."""
    end = {"complete": run.complete, "ending": run.reason, "cycles": run.cycles, "seconds": run.seconds}
    samples = {"timeline": watch.timeline(run.cycles), "occupancies": watch.occupancies()} if watch else {}
    return end | samples


def _count_stage_cycles(starts: Mapping[str, int], cycles: int) -> dict[str, int]:
    """Return the cycles of each stage, by name. A stage ends when the next begins, the last with the run.

    ``starts`` has the first cycle of each stage in ascending order. Cycles before the first stage belong to
    no stage.
    """
    ends = [*list(starts.values())[1:], cycles]
    # not strict: without stages, ``ends`` has one element all the same
    return {name: end - start for (name, start), end in zip(starts.items(), ends, strict=False)}


def _collect_costs(
    accelerator: Accelerator[Any], model: Model, inputs: RunInputs, activity: RunActivity
) -> dict[str, Any]:
    chip = accelerator.chip_parts(model) if accelerator.chip_parts else None
    return costs.build_cost_fields(inputs.prices, activity, chip)


def _summarize_product(checked: CheckedAnswer | None) -> parts.Product | None:
    if checked is None or checked.outline is None:
        return None
    shape, nonzeros = checked.outline
    return parts.Product(shape=shape, nonzeros=nonzeros)


def _describe_bottleneck(
    accelerator: Accelerator[Any],
    model: Model,
    components: dict[str, parts.Component],
    memory: parts.Memory | None,
) -> str:
    utilization = memory.utilization if memory else None
    return bottleneck(accelerator, components, utilization, accelerator.explained(model))


def list_components(kernel: Kernel) -> dict[str, parts.Component]:
    """Return the cycle accounting and the counters of all components of a kernel, by name."""
    return {name: _build_component(part) for name, part in kernel.statistics().items()}


def _build_component(statistics: ComponentStatistics) -> parts.Component:
    return parts.Component(
        cycles=statistics.cycles,
        busy=statistics.busy,
        input_stall=sum(statistics.input_stall.values()),
        output_stall=sum(statistics.output_stall.values()),
        idle=statistics.idle,
        input_stall_by_port=statistics.input_stall,
        output_stall_by_port=statistics.output_stall,
        counters=statistics.counters,
    )
