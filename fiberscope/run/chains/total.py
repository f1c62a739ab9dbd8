"""Report of a chain: totals over its products, and the report of each product."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fiberscope.accelerators.machine import MemoryUse
from fiberscope.results.report import costs, parts
from fiberscope.results.report.document import Report
from fiberscope.results.report.frame import add_counts, build_report, summarize_memory, verification, workload
from fiberscope.results.report.host import Timing
from fiberscope.run.chains.chain import Chain, Product
from fiberscope.run.configure import ResolvedRun
from fiberscope.run.execute import RunOptions
from fiberscope.workloads import Workload
from fiberscope.workloads.verification import Comparison

# Fields of a component that can be added over products; counters are of one product only.
_CYCLES = {"cycles", "busy", "input_stall", "output_stall", "idle"}
_ROWS = ("row_hits", "row_misses", "row_conflicts")


@dataclass
class ChainRun:
    """State of a chain's run, to which each finished product adds its result.

    Args:
        resolved: the machine with its chain.
        chain: the chain of ``resolved``.
        options: the options of each product.
        tensors: the operands, and the results of finished products, by name in the chain.
        reports: the reports of products that ran, by name; the last report may be of an incomplete product.
        conversions: conversions of results to their formats in memory, by name of the product.
        is_interrupted: whether the run was interrupted outside of the simulation of a product.
    """

    resolved: ResolvedRun
    chain: Chain
    options: RunOptions
    tensors: dict[str, Workload]
    reports: dict[str, Report] = field(default_factory=dict)
    conversions: dict[str, parts.Conversion] = field(default_factory=dict)
    is_interrupted: bool = False


def build_chain_report(
    run: ChainRun,
    operands: Mapping[str, Workload],
    comparison: Comparison | None,
    host_seconds: float,
    provenance: parts.Source | None,
) -> Report:
    """Return a report with the totals of all products that ran and the report of each product.

    Args:
        run: the chain with the reports of its products, at least one.
        operands: matrices by name.
        comparison: the comparison of the result with scipy; None for an incomplete chain.
        host_seconds: host time of the whole chain in seconds.
        provenance: the sources of the run.
    """
    reports = list(run.reports.values())
    last, simulation_seconds = reports[-1], sum(report.host.simulation_seconds for report in reports)
    reference = f"{last.verification.reference}, and the whole chain"
    operations = add_counts(report.operations for report in reports)
    hosts = [report.host for report in reports]
    ticks = [host.ticks_per_second * host.simulation_seconds for host in hosts if host.ticks_per_second]
    traffic, seconds = _sum_traffic_by_tensor(run), sum(report.seconds for report in reports)
    return build_report(
        Timing(host_seconds, simulation_seconds),
        operations.get("multiply"),
        round(sum(ticks)) if ticks else None,
        fidelity=last.fidelity,
        accelerator=last.accelerator,
        parts=last.parts,
        complete=comparison is not None,
        ending="interrupted" if run.is_interrupted else last.ending,
        workload=workload(operands.values()),
        problem=parts.Problem(kind="chain", title=str(run.chain)),
        config=run.resolved.configured.model_dump(mode="json"),
        chosen=tuple(f"{name}: {choice}" for name, report in run.reports.items() for choice in report.chosen),
        cycles=sum(report.cycles for report in reports),
        seconds=seconds,
        operations=operations,
        traffic=traffic,
        traffic_minimum_bytes=sum(report.traffic_minimum_bytes or 0 for report in reports) or None,
        memory=summarize_memory(_sum_memory_use(reports), traffic, seconds),
        product=last.product if comparison else None,
        verification=verification(reference, [comparison] if comparison else []),
        bottleneck=_describe_longest(run.reports),
        components=_sum_components(reports),
        chain=_build_chain(run),
        source=provenance,
        **_sum_costs(reports, seconds),
    ).holding(last.result)


def _sum_costs(reports: list[Report], seconds: float) -> dict[str, Any]:
    """Return the energy of all products and the machine's area; empty if a product has no energy.

    The energy of conversions is not included.
    """
    # A sum without one product would look like the energy of the whole chain.
    energies = [report.energy for report in reports if report.energy]
    if len(energies) < len(reports):
        return {}
    area = {"area": reports[-1].area, "area_um2": reports[-1].area_um2, "rtl_clock": reports[-1].rtl_clock}
    return {**costs.add_energies(energies, seconds), **area}


def _sum_traffic_by_tensor(run: ChainRun) -> dict[str, parts.TensorTraffic]:
    """Return the traffic of all products by the chain's names.

    Other tensors of the machine keep their names, followed by ``of the machine`` if the chain has them too.
    """
    # The machine's factors have the first two names; its result is always Z.
    first, second = run.resolved.maker.kind.tensors[:2]
    own_names = {name: f"{name} of the machine" for name in run.chain.names}
    moved_by_tensor: dict[str, list[parts.TensorTraffic]] = {}
    for product in (finished for finished in run.chain.products if finished.name in run.reports):
        names = own_names | {first: product.left, second: product.right, "Z": product.name}
        for name, moved in run.reports[product.name].traffic.items():
            moved_by_tensor.setdefault(names.get(name, name), []).append(moved)
    return {name: _sum_traffic(moved) for name, moved in moved_by_tensor.items()}


def _sum_traffic(traffic: Iterable[parts.TensorTraffic]) -> parts.TensorTraffic:
    """Return the sum of each field; None for a field that is unknown for one of the products."""
    sections = list(traffic)

    def total(key: str) -> int | None:
        values = [getattr(section, key) for section in sections]
        return None if None in values else sum(values)

    return parts.TensorTraffic.model_validate({key: total(key) for key in parts.TensorTraffic.model_fields})


def _sum_moved_bytes(traffic: Iterable[parts.TensorTraffic]) -> int:
    return sum(tensor.moved_bytes for tensor in traffic)


def _sum_memory_use(reports: Iterable[Report]) -> MemoryUse | None:
    """Add the memory statistics of all products, which share one memory; None if there are none."""
    uses = [report.memory for report in reports if report.memory]
    if not uses:
        return None
    rows = {name: sum(getattr(memory, name) for memory in uses) for name in _ROWS}
    counters = add_counts(memory.counters for memory in uses)
    return MemoryUse(**rows, peak_bytes_per_second=uses[0].peak_bytes_per_second, counters=counters)


def _sum_components(reports: Iterable[Report]) -> dict[str, parts.Component]:
    """Return the cycles of each component over all products; counters are only in the reports of products."""
    counts: dict[str, list[dict[str, int]]] = {}
    for report in reports:
        for name, component in report.components.items():
            counts.setdefault(name, []).append(component.model_dump(include=_CYCLES))
    return {
        name: parts.Component.model_validate(add_counts(cycle_counts))
        for name, cycle_counts in counts.items()
    }


def _describe_longest(reports: Mapping[str, Report]) -> str:
    """Describe the longest product, by simulated seconds, and its bottleneck."""
    name = max(reports, key=lambda name: reports[name].seconds)
    share = reports[name].seconds / (sum(report.seconds for report in reports.values()) or 1.0)
    return f"{name} takes {share:.0%} of the time. {reports[name].bottleneck}"


def _build_chain(run: ChainRun) -> parts.Chain:
    """Return the report's section of the chain, whose seconds and bytes include all conversions."""
    moved = sum(_sum_moved_bytes(report.traffic.values()) for report in run.reports.values())
    conversions = [*run.conversions.values()]
    conversions += [
        conversion
        for report in run.reports.values()
        if report.conversions
        for conversion in report.conversions.operands.values()
    ]
    return parts.Chain(
        text=str(run.chain),
        operands=run.chain.operands,
        steps=dict(run.reports),
        written=run.conversions,
        seconds=sum(
            _sum_seconds(run, product) for product in run.chain.products if product.name in run.reports
        ),
        traffic_bytes=moved + sum(conversion.moved_bytes for conversion in conversions),
    )


def _sum_seconds(run: ChainRun, product: Product) -> float:
    """Return the seconds of a product with its conversions.

    The conversions of the left factor, which the machine reads row by row, and of the result overlap the
    product unless they share hardware with the machine. The overlapped time is the maximum of all durations
    and of the time that memory needs for all bytes. The right factor is converted before the product; in a
    square, so is the left factor, which is the same matrix.
    """
    report, written_conversion = run.reports[product.name], run.conversions.get(product.name)
    pending = dict(report.conversions.operands) if report.conversions else {}  # not yet assigned
    left_conversions = [] if product.left == product.right else [pending.pop("A", None)]
    streamed = [
        conversion for conversion in (*left_conversions, written_conversion) if conversion is not None
    ]
    overlapped = [conversion for conversion in streamed if not conversion.waits_for]
    sequential = [*pending.values(), *(conversion for conversion in streamed if conversion.waits_for)]
    moved = _sum_moved_bytes(report.traffic.values()) + sum(
        conversion.moved_bytes for conversion in overlapped
    )
    # Without a memory, the bytes take no time.
    peak = report.memory.peak_bytes_per_second if report.memory else math.inf
    overlapped_seconds = (
        max(report.seconds, *(conversion.seconds for conversion in overlapped), moved / peak)
        if overlapped
        else report.seconds
    )
    return overlapped_seconds + sum(conversion.seconds for conversion in sequential)
