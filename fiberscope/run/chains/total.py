"""Report of a chain: totals over its products, and the report of each product."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fiberscope.accelerators.machine import MemoryUse
from fiberscope.results.report import costs, parts
from fiberscope.results.report.document import Report
from fiberscope.results.report.frame import add_counts, build_report, memory_of, verification, workload
from fiberscope.results.report.host import Timing
from fiberscope.run.chains.chain import Chain, Product
from fiberscope.run.configure import ResolvedRun
from fiberscope.run.execute import RunOptions
from fiberscope.workloads import Workload
from fiberscope.workloads.verification import Comparison

_CYCLES = {"cycles", "busy", "input_stall", "output_stall", "idle"}
_ROWS = ("row_hits", "row_misses", "row_conflicts")


@dataclass
class ChainRun:
    """State of a chain's run.

    Args:
        ready: the machine with its chain.
        chain: the chain.
        options: the options of each product.
        tensors: the operands, and the results of finished products, by name in the chain.
        steps: the reports of finished products, by name of the product.
        written: conversions of results to their formats in memory, by name of the product.
    """

    ready: ResolvedRun
    chain: Chain
    options: RunOptions
    tensors: dict[str, Workload]
    steps: dict[str, Report] = field(default_factory=dict)
    written: dict[str, parts.Conversion] = field(default_factory=dict)


def total_report(
    run: ChainRun,
    operands: Mapping[str, Workload],
    comparison: Comparison | None,
    seconds: float,
    provenance: parts.Source | None,
) -> Report:
    """Return a report with the totals of all finished products and the report of each product.

    Args:
        run: the chain with the reports of its finished products.
        operands: matrices by name.
        comparison: the comparison of the result with scipy; None for an incomplete chain.
        seconds: host time of the whole chain.
        provenance: the sources of the run.
    """
    steps = list(run.steps.values())
    reference = f"{steps[-1].verification.reference}, and the whole chain"
    last, simulated = steps[-1], sum(step.host.simulation_seconds for step in steps)
    operations = add_counts(step.operations for step in steps)
    hosts = [step.host for step in steps]
    ticks = [host.ticks_per_second * host.simulation_seconds for host in hosts if host.ticks_per_second]
    traffic, length = _traffic(run), sum(step.seconds for step in steps)
    return build_report(
        Timing(seconds, simulated),
        operations.get("multiply"),
        round(sum(ticks)) if ticks else None,
        fidelity=last.fidelity,
        accelerator=last.accelerator,
        parts=last.parts,
        complete=comparison is not None,
        ending=last.ending,
        workload=workload(operands.values()),
        problem=parts.Problem(kind="chain", title=str(run.chain)),
        config=run.ready.configured.model_dump(mode="json"),
        chosen=tuple(f"{name}: {choice}" for name, report in run.steps.items() for choice in report.chosen),
        cycles=sum(step.cycles for step in steps),
        seconds=length,
        operations=operations,
        traffic=traffic,
        traffic_minimum_bytes=sum(step.traffic_minimum_bytes or 0 for step in steps) or None,
        memory=memory_of(_memory_use([step.memory for step in steps if step.memory]), traffic, length),
        product=last.product if comparison else None,
        verification=verification(reference, [comparison] if comparison else []),
        bottleneck=_longest(run.steps),
        components=_components(steps),
        chain=_chain(run),
        source=provenance,
        **_costs(steps, length),
    ).holding(last.result)


def _costs(steps: list[Report], seconds: float) -> dict[str, Any]:
    """Return the energy of all products and the machine's area; empty if a product has no energy.

    The energy of conversions is not included.
    """
    energies = [step.energy for step in steps if step.energy]
    if len(energies) < len(steps):
        return {}
    area = {"area": steps[-1].area, "area_um2": steps[-1].area_um2, "rtl_clock": steps[-1].rtl_clock}
    return {**costs.add_energies(energies, seconds), **area}


def _traffic(run: ChainRun) -> dict[str, parts.TensorTraffic]:
    """Return the traffic of all products by the chain's names; other tensors of the machine keep theirs."""
    first, second = run.ready.maker.kind.tensors[:2]
    moved_by_tensor: dict[str, list[parts.TensorTraffic]] = {}
    for product in (product_ for product_ in run.chain.products if product_.name in run.steps):
        names = {first: product.left, second: product.right, "Z": product.name}
        for name, moved in run.steps[product.name].traffic.items():
            moved_by_tensor.setdefault(names.get(name, name), []).append(moved)
    return {name: _sum_traffic(moved) for name, moved in moved_by_tensor.items()}


def _sum_traffic(traffic: Iterable[parts.TensorTraffic]) -> parts.TensorTraffic:
    parts_ = list(traffic)

    def total(key: str) -> int | None:
        values = [getattr(section, key) for section in parts_]
        return None if None in values else sum(values)

    return parts.TensorTraffic.model_validate({key: total(key) for key in parts.TensorTraffic.model_fields})


def _moved_bytes(traffic: Iterable[parts.TensorTraffic]) -> int:
    return sum(tensor.moved_bytes for tensor in traffic)


def _memory_use(uses: list[parts.Memory]) -> MemoryUse | None:
    """Add the memory statistics of all products."""
    if not uses:
        return None
    rows = {name: sum(getattr(memory, name) for memory in uses) for name in _ROWS}
    counters = add_counts(memory.counters for memory in uses)
    return MemoryUse(**rows, peak_bytes_per_second=uses[0].peak_bytes_per_second, counters=counters)


def _components(steps: Iterable[Report]) -> dict[str, parts.Component]:
    """Return the cycles of each component over all products; counters are only in the reports of products."""
    counts: dict[str, list[dict[str, int]]] = {}
    for step in steps:
        for name, component in step.components.items():
            counts.setdefault(name, []).append(component.model_dump(include=_CYCLES))
    return {
        name: parts.Component.model_validate(add_counts(cycle_counts))
        for name, cycle_counts in counts.items()
    }


def _longest(steps: Mapping[str, Report]) -> str:
    """Describe the longest product and its bottleneck."""
    name, longest = max(steps.items(), key=lambda step: step[1].seconds)
    share = longest.seconds / (sum(step.seconds for step in steps.values()) or 1.0)
    return f"{name} takes {share:.0%} of the time. {longest.bottleneck}"


def _chain(run: ChainRun) -> parts.Chain:
    moved = sum(_moved_bytes(step.traffic.values()) for step in run.steps.values())
    conversions = [*run.written.values()]
    conversions += [
        conversion
        for step in run.steps.values()
        if step.conversions
        for conversion in step.conversions.operands.values()
    ]
    return parts.Chain(
        text=str(run.chain),
        operands=run.chain.operands,
        steps=dict(run.steps),
        written=run.written,
        seconds=sum(
            _seconds_with_conversions(run, product)
            for product in run.chain.products
            if product.name in run.steps
        ),
        traffic_bytes=moved + sum(conversion.moved_bytes for conversion in conversions),
    )


def _seconds_with_conversions(run: ChainRun, product: Product) -> float:
    """Return the seconds of a product with its conversions.

    The conversions of the left factor, which the machine reads row by row, and of the result overlap the
    product unless they share hardware with the machine. The overlapped time is the maximum of all durations
    and of the time that memory needs for all bytes. The right factor is converted before the product.
    """
    step, written = run.steps[product.name], run.written.get(product.name)
    pending = dict(step.conversions.operands) if step.conversions else {}
    left_conversions = [] if product.left == product.right else [pending.pop("A", None)]
    edge_conversions = [conversion for conversion in (*left_conversions, written) if conversion is not None]
    overlapped = [conversion for conversion in edge_conversions if not conversion.waits_for]
    sequential = [*pending.values(), *(conversion for conversion in edge_conversions if conversion.waits_for)]
    moved = _moved_bytes(step.traffic.values()) + sum(conversion.moved_bytes for conversion in overlapped)
    peak = step.memory.peak_bytes_per_second if step.memory else math.inf
    overlapped_seconds = (
        max(step.seconds, *(conversion.seconds for conversion in overlapped), moved / peak)
        if overlapped
        else step.seconds
    )
    return overlapped_seconds + sum(conversion.seconds for conversion in sequential)
