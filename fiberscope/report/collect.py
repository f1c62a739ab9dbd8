"""Gathers the report of a run from the model, its kernel and the comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from fiberscope import __version__
from fiberscope.accelerators import configuration
from fiberscope.accelerators.machine import Accelerator, MemoryUse, Model
from fiberscope.parts import origin
from fiberscope.report import host, parts
from fiberscope.report.bottleneck import bottleneck
from fiberscope.report.document import Report
from fiberscope.report.environment import environment
from fiberscope.report.timeline import Watch
from fiberscope.sim import Component, ComponentStatistics, Kernel, Run, mode
from fiberscope.workloads import Operand, Problem
from fiberscope.workloads.verification import Comparison

__all__ = ["Checked", "Made", "Timing", "components_of", "of_host", "operand", "report"]


@dataclass(frozen=True)
class Timing:
    """Wall-clock seconds: from the loaded operands to the checked answer, and of the simulation alone."""

    seconds: float
    simulation_seconds: float


@dataclass(frozen=True)
class Made:
    """How a run was made: which of the models ran, with which blocks that a user put into it, and by what."""

    fidelity: str
    replaced: Mapping[str, Callable[..., Component]]
    source: parts.Source | None


@dataclass(frozen=True)
class Checked:
    """An answer that was compared with the reference; the answer itself may be large and is not kept."""

    outline: tuple[tuple[int, ...], int] | None
    comparison: Comparison

    @classmethod
    def of(cls, problem: Problem, answer: object) -> Checked:
        """Compare an answer with what the problem asks for."""
        return cls(problem.outline(answer), problem.check(answer))


def report(
    accelerator: Accelerator[Any],
    problem: Problem,
    model: Model,
    run: Run,
    checked: Checked | None,
    timing: Timing,
    watch: Watch | None,
    made: Made,
) -> Report:
    """The report of a run, complete or not.

    Args:
        accelerator, problem, model, run, made: what ran, and how it ended; ``model`` has the counts.
        checked, timing: its answer, None if there is none that could be checked; that of the host.
        watch: what was seen of the components over time, None of a model without components.
    """
    operations, traffic = dict(model.operations()), _traffic(model)
    kernel: Kernel | None = getattr(model, "kernel", None)
    components = components_of(kernel) if kernel else {}
    memory = _memory(model.memory(), traffic, run.seconds)
    return Report(
        fidelity=cast(parts.Fidelity, made.fidelity),
        version=__version__,
        accelerator=accelerator.name,
        parts={name: origin(factory) for name, factory in made.replaced.items()},
        complete=run.complete,
        ending=cast(parts.Ending, run.reason),
        workload=_workload(problem),
        problem=_problem(problem),
        config=model.parameters.model_dump(mode="json"),
        chosen=accelerator.chosen(model),
        config_digest=configuration.digest(model.parameters),
        cycles=run.cycles,
        seconds=run.seconds,
        operations=operations,
        traffic=traffic,
        traffic_minimum_bytes=model.traffic_minimum_bytes(),
        memory=memory,
        product=_product(checked),
        verification=_verification(problem, checked.comparison if checked else None),
        bottleneck=_bottleneck(accelerator, model, components, memory),
        components=components,
        timeline=watch.timeline(run.cycles) if watch else None,
        iterations=tuple(parts.Iteration(**asdict(one)) for one in accelerator.iterations(model)),
        occupancies=watch.occupancies() if watch else {},
        source=made.source,
        environment=environment(),
        host=of_host(kernel.ticks if kernel else None, run.cycles, operations.get("multiply"), timing),
    )


def _traffic(model: Model) -> dict[str, parts.TensorTraffic]:
    return {name: parts.TensorTraffic(**asdict(part)) for name, part in model.traffic().items()}


def _problem(problem: Problem) -> parts.Problem:
    parameters = problem.parameters.model_dump(mode="json")
    return parts.Problem(kind=problem.kind, parameters=parameters, title=problem.title)


def _product(checked: Checked | None) -> parts.Product | None:
    if checked is None or checked.outline is None:
        return None
    shape, nonzeros = checked.outline
    return parts.Product(shape=shape, nonzeros=nonzeros)


def _workload(problem: Problem) -> parts.Workload:
    """The operands, the first of them with the others beside it."""
    first, *others = (operand(given) for given in problem.operands.values())
    beside = [parts.Operand(**other) for other in others]
    return parts.Workload(**first, b=beside[0] if beside else None, more=tuple(beside[1:]))


def operand(given: Operand) -> dict[str, Any]:
    """The fields of an operand."""
    return {
        "name": given.name,
        "source": given.source,
        "origin": given.origin,
        "digest": given.digest,
        "shape": given.shape,
        "nonzeros": given.nonzeros,
        "notice": given.notice,
    }


def _memory(
    use: MemoryUse | None, traffic: dict[str, parts.TensorTraffic], seconds: float
) -> parts.Memory | None:
    if use is None:
        return None
    moved = sum(part.read_bytes + part.write_bytes for part in traffic.values())
    rate = moved / seconds if seconds else 0.0
    return parts.Memory(
        row_hits=use.row_hits,
        row_misses=use.row_misses,
        row_conflicts=use.row_conflicts,
        bytes_per_second=rate,
        peak_bytes_per_second=use.peak_bytes_per_second,
        utilization=rate / use.peak_bytes_per_second,
        counters=dict(use.counters),
    )


def _bottleneck(
    accelerator: Accelerator[Any],
    model: Model,
    components: dict[str, parts.Component],
    memory: parts.Memory | None,
) -> str:
    used = memory.utilization if memory else None
    return bottleneck(accelerator, components, used, accelerator.explained(model))


def _verification(problem: Problem, comparison: Comparison | None) -> parts.Verification:
    if comparison is None:
        return parts.Verification(reference=problem.reference, passed=None, tolerance=problem.tolerance)
    error = comparison.max_relative_error
    return parts.Verification(
        reference=problem.reference,
        passed=comparison.passed,
        max_relative_error=error if math.isfinite(error) else None,
        tolerance=problem.tolerance,
        missing=comparison.missing,
        extra=comparison.extra,
    )


def components_of(kernel: Kernel) -> dict[str, parts.Component]:
    """The accounting and the counters of all components of a kernel, by name."""
    return {name: _component(part) for name, part in kernel.statistics().items()}


def _component(given: ComponentStatistics) -> parts.Component:
    return parts.Component(
        cycles=given.cycles,
        busy=given.busy,
        input_stall=sum(given.input_stall.values()),
        output_stall=sum(given.output_stall.values()),
        idle=given.idle,
        input_stall_by_port=given.input_stall,
        output_stall_by_port=given.output_stall,
        counters=given.counters,
    )


def of_host(ticks: int | None, cycles: int, multiplies: int | None, timing: Timing) -> parts.Host:
    """What the host took for a run of so many cycles."""
    seconds = max(timing.simulation_seconds, 1e-9)
    rate = None if multiplies is None else multiplies / seconds
    hertz = host.hertz()
    return parts.Host(
        seconds=timing.seconds,
        simulation_seconds=timing.simulation_seconds,
        ticks_per_second=None if ticks is None else ticks / seconds,
        cycles_per_second=cycles / seconds,
        multiplies_per_second=rate,
        computes_per_host_cycle=rate / hertz if hertz and rate is not None else None,
        hertz=hertz,
        peak_memory_bytes=host.peak_memory_bytes(),
        compiled=mode.compiled(),
    )
