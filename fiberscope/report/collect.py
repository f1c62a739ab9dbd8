"""Gathers the report of a run from the machine, the kernel and the comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from accelerators import configuration
from accelerators.machine import Accelerator, Machine
from fiberscope import __version__
from fiberscope.report import document as parts
from fiberscope.report import host
from fiberscope.report.bottleneck import bottleneck
from fiberscope.report.timeline import Watch
from sim import Component, ComponentStatistics, Kernel, Run, mode
from workloads import Workload
from workloads.canonical import CsrArray
from workloads.verification import TOLERANCE, Comparison, compare

__all__ = ["Checked", "Timing", "report", "workload"]

REFERENCE = "scipy"


@dataclass(frozen=True)
class Timing:
    """Wall-clock seconds: from the loaded operands to the verified product, and of the simulation alone."""

    seconds: float
    simulation_seconds: float


@dataclass(frozen=True)
class Checked:
    """A product that was compared with the reference; the product itself may be large and is not kept."""

    product: parts.Product
    comparison: Comparison

    @classmethod
    def of(cls, a: CsrArray, b: CsrArray, product: CsrArray) -> Checked:
        """Compare a product of ``a`` and ``b``."""
        rows, columns = product.shape
        shape = (int(rows), int(columns))
        return cls(parts.Product(shape=shape, nonzeros=int(product.nnz)), compare(a, b, product))


def report(
    accelerator: Accelerator[Any],
    operands: parts.Workload,
    machine: Machine,
    run: Run,
    checked: Checked | None,
    timing: Timing,
    watch: Watch,
    replaced: Mapping[str, Callable[..., Component]],
) -> parts.Report:
    """The report of a run, complete or not; ``replaced`` are the blocks that a user put into the machine."""
    traffic = {name: parts.TensorTraffic(**asdict(part)) for name, part in machine.traffic().items()}
    operations = dict(machine.operations())
    components = {name: _component(part) for name, part in machine.kernel.statistics().items()}
    memory = _memory(machine, traffic, run.seconds)
    return parts.Report(
        version=__version__,
        accelerator=accelerator.name,
        parts={name: _origin(factory) for name, factory in replaced.items()},
        complete=run.complete,
        ending=cast(parts.Ending, run.reason),
        workload=operands,
        config=machine.parameters.model_dump(mode="json"),
        config_digest=configuration.digest(machine.parameters),
        cycles=run.cycles,
        seconds=run.seconds,
        operations=operations,
        traffic=traffic,
        traffic_minimum_bytes=machine.traffic_minimum_bytes(),
        memory=memory,
        product=checked.product if checked else None,
        verification=_verification(checked.comparison if checked else None),
        bottleneck=bottleneck(accelerator, components, memory.utilization),
        components=components,
        timeline=watch.timeline(run.cycles),
        occupancies=watch.occupancies(),
        host=_host(machine.kernel, run, operations.get("multiply", 0), timing),
    )


def _origin(factory: Callable[..., Component]) -> str:
    name = getattr(factory, "__qualname__", type(factory).__qualname__)
    return f"{factory.__module__}.{name}"


def workload(first: Workload, second: Workload | None) -> parts.Workload:
    """The operands of a run; ``second`` only where it is not the first one again."""
    b = parts.Operand(**_operand(second)) if second is not None else None
    return parts.Workload(**_operand(first), b=b)


def _operand(given: Workload) -> dict[str, Any]:
    rows, columns = given.matrix.shape
    return {
        "name": given.name,
        "source": given.source,
        "origin": given.origin,
        "digest": given.digest,
        "shape": (int(rows), int(columns)),
        "nonzeros": int(given.matrix.nnz),
        "notice": given.notice,
    }


def _memory(machine: Machine, traffic: dict[str, parts.TensorTraffic], seconds: float) -> parts.Memory:
    use = machine.memory()
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


def _verification(comparison: Comparison | None) -> parts.Verification:
    if comparison is None:
        return parts.Verification(reference=REFERENCE, passed=None, tolerance=TOLERANCE)
    error = comparison.max_relative_error
    return parts.Verification(
        reference=REFERENCE,
        passed=comparison.passed,
        max_relative_error=error if math.isfinite(error) else None,
        tolerance=TOLERANCE,
        missing=comparison.missing,
        extra=comparison.extra,
    )


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


def _host(kernel: Kernel, run: Run, multiplies: int, timing: Timing) -> parts.Host:
    seconds = max(timing.simulation_seconds, 1e-9)
    hertz = host.hertz()
    return parts.Host(
        seconds=timing.seconds,
        simulation_seconds=timing.simulation_seconds,
        ticks_per_second=kernel.ticks / seconds,
        cycles_per_second=run.cycles / seconds,
        multiplies_per_second=multiplies / seconds,
        computes_per_host_cycle=multiplies / seconds / hertz if hertz else None,
        hertz=hertz,
        peak_memory_bytes=host.peak_memory_bytes(),
        compiled=mode.compiled(),
    )
