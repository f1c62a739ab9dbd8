"""The report of a chain: totals over its products, beside the report of each."""

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

__all__ = ["ChainRun", "total_report"]

_CYCLES = {"cycles", "busy", "input_stall", "output_stall", "idle"}
_ROWS = ("row_hits", "row_misses", "row_conflicts")


@dataclass
class ChainRun:
    """The state of a chain's run: matrices by name, and the reports of finished products."""

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
    """Return a report with the totals of all finished products and the report of each.

    Args:
        run: the chain with the reports of its finished products.
        operands: matrices by name.
        comparison: the comparison of the result with scipy; None if the chain did not reach its end.
        seconds: time of the host for the whole chain.
        provenance: the sources that were used.
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
    """Energy of all products, and the machine's area; conversions are in neither."""
    energies = [step.energy for step in steps if step.energy]
    if len(energies) < len(steps):
        return {}
    area = {"area": steps[-1].area, "area_um2": steps[-1].area_um2, "rtl_clock": steps[-1].rtl_clock}
    return {**costs.add_energies(energies, seconds), **area}


def _traffic(run: ChainRun) -> dict[str, parts.TensorTraffic]:
    """Bytes by the chain's names; what a machine moves besides operands and product under its own name."""
    first, second = run.ready.maker.kind.tensors[:2]
    moved_by_tensor: dict[str, list[parts.TensorTraffic]] = {}
    for product in (product_ for product_ in run.chain.products if product_.name in run.steps):
        names = {first: product.left, second: product.right, "Z": product.name}
        for name, moved in run.steps[product.name].traffic.items():
            moved_by_tensor.setdefault(names.get(name, name), []).append(moved)
    return {name: _together(moved) for name, moved in moved_by_tensor.items()}


def _together(moved: Iterable[parts.TensorTraffic]) -> parts.TensorTraffic:
    all_of_it = list(moved)

    def total(key: str) -> int | None:
        values = [getattr(section, key) for section in all_of_it]
        return None if None in values else sum(values)

    return parts.TensorTraffic.model_validate({key: total(key) for key in parts.TensorTraffic.model_fields})


def _moved(traffic: Iterable[parts.TensorTraffic]) -> int:
    return sum(tensor.moved_bytes for tensor in traffic)


def _memory_use(used: list[parts.Memory]) -> MemoryUse | None:
    """Add up the uses of the memory by all products."""
    if not used:
        return None
    rows = {name: sum(getattr(memory, name) for memory in used) for name in _ROWS}
    counters = add_counts(memory.counters for memory in used)
    return MemoryUse(**rows, peak_bytes_per_second=used[0].peak_bytes_per_second, counters=counters)


def _components(steps: Iterable[Report]) -> dict[str, parts.Component]:
    """The cycles of each component over all products; its counters stand with each product alone."""
    counts: dict[str, list[dict[str, int]]] = {}
    for step in steps:
        for name, component in step.components.items():
            counts.setdefault(name, []).append(component.model_dump(include=_CYCLES))
    return {name: parts.Component.model_validate(add_counts(all_of_it)) for name, all_of_it in counts.items()}


def _longest(steps: Mapping[str, Report]) -> str:
    """The product that takes longest, and what limits that one."""
    name, longest = max(steps.items(), key=lambda step: step[1].seconds)
    share = longest.seconds / (sum(step.seconds for step in steps.values()) or 1.0)
    return f"{name} takes {share:.0%} of the time. {longest.bottleneck}"


def _chain(run: ChainRun) -> parts.Chain:
    moved = sum(_moved(step.traffic.values()) for step in run.steps.values())
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
            _with_conversions(run, product) for product in run.chain.products if product.name in run.steps
        ),
        traffic_bytes=moved + sum(conversion.moved_bytes for conversion in conversions),
    )


def _with_conversions(run: ChainRun, product: Product) -> float:
    """Seconds of a product with the conversions at its ends.

    That of its left factor, whose rows the machine takes in order, and that of what it writes go on beside
    it, if they borrow none of its units: then all take as long as the longest, and as memory takes to move
    all their bytes. Its right factor is converted before.
    """
    step, written = run.steps[product.name], run.written.get(product.name)
    waiting = dict(step.conversions.operands) if step.conversions else {}
    streams = [] if product.left == product.right else [waiting.pop("A", None)]
    ends = [conversion for conversion in (*streams, written) if conversion is not None]
    beside = [conversion for conversion in ends if not conversion.waits_for]
    before = [*waiting.values(), *(conversion for conversion in ends if conversion.waits_for)]
    moved = _moved(step.traffic.values()) + sum(conversion.moved_bytes for conversion in beside)
    peak = step.memory.peak_bytes_per_second if step.memory else math.inf
    together = (
        max(step.seconds, *(conversion.seconds for conversion in beside), moved / peak)
        if beside
        else step.seconds
    )
    return together + sum(conversion.seconds for conversion in before)
