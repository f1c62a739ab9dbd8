"""Report of a graph's run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from fiberscope.models.graphs.machine import GraphMachine
from fiberscope.models.graphs.settings import GraphParameters
from fiberscope.results.costs.cost import UNKNOWN
from fiberscope.results.costs.run_costs import CHANNELS, DYNAMIC, MEMORY, AreaItem, EnergyItem
from fiberscope.results.report import parts
from fiberscope.results.report.collect import list_components
from fiberscope.results.report.costs import build_area_fields, build_energy_fields
from fiberscope.results.report.document import Report
from fiberscope.results.report.frame import (
    add_counts,
    add_traffic,
    build_report,
    collect_traffic_by_tensor,
    verification,
    workload,
)
from fiberscope.results.report.host import Timing
from fiberscope.results.report.timeline import Watch
from fiberscope.sim import Run
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.verification import Comparison

if TYPE_CHECKING:
    from fiberscope.models.graphs.prepared import PreparedGraph

_BEGIN = Run(True, "done", 0, 0, 0.0)  # before the first phase
BLOCKS = "blocks"  # name of the blocks of a graph among the parts of its costs
REFERENCE = "the graph's expression, by joins of coordinates"


@dataclass
class GraphRun:
    """A run of a graph, as far as its phases have run.

    Args:
        prepared: the graph with its operands.
        parameters: parameters of its machines.
        source: provenance of the sources, for the report; None for a run within another one.
        machines: the machine of each phase that has run.
        last_run: end of the last of these phases.
        comparisons: comparison of each written tensor with its reference, by name of the tensor.
        results: written tensors by name; None for a tensor with values that have no coordinates.
        watch: samples of the last machine; None before the first phase.
        timing: seconds on the host; set before ``report`` is called.
    """

    prepared: PreparedGraph
    parameters: GraphParameters
    source: parts.Source | None = None
    machines: list[GraphMachine] = field(default_factory=list)
    last_run: Run = _BEGIN
    comparisons: dict[str, Comparison] = field(default_factory=dict)
    results: dict[str, SparseTensor | None] = field(default_factory=dict)
    watch: Watch | None = None
    timing: Timing = field(init=False)


def report(run: GraphRun) -> Report:
    """Return the report of a run, whether its result is right or wrong.

    The report holds the tensor that was written last as the answer of the run; None for an incomplete run.
    """
    prepared, cycles, components = run.prepared, _count_cycles(run), _list_components(run)
    seconds = float(cycles / run.parameters.clock)
    operations = add_counts(machine.operations() for machine in run.machines)
    return build_report(
        run.timing,
        operations.get("multiply"),
        sum(machine.kernel.ticks for machine in run.machines),
        accelerator=prepared.name,
        complete=run.last_run.complete,
        ending=cast(parts.Ending, run.last_run.reason),
        workload=workload(prepared.operands.values()),
        formats={name: format.text for name, format in prepared.formats.items()},
        problem=parts.Problem(kind="graph", title=prepared.title),
        config=run.parameters.model_dump(mode="json"),
        chosen=tuple(prepared.graph.notes),
        cycles=cycles,
        seconds=seconds,
        operations=operations,
        traffic=collect_traffic_by_tensor(add_traffic(machine.traffic() for machine in run.machines)),
        traffic_minimum_bytes=sum(machine.traffic_minimum_bytes() for machine in run.machines) or None,
        product=_summarize_product(run),
        verification=_summarize_verification(run),
        bottleneck=describe_busiest(components),
        components=components,
        timeline=run.watch.timeline(run.machines[-1].kernel.cycle + 1) if run.watch else None,
        occupancies=run.watch.occupancies() if run.watch else {},
        source=run.source,
        **_collect_costs(run, seconds),
    ).holding(list(run.results.values())[-1] if run.last_run.complete else None)


def _count_cycles(run: GraphRun) -> int:
    """Return the cycles of the phases that count; of a run that ended early, the cycles so far."""
    # the cycles of a machine are those of its last writer, which an interrupted machine does not have yet
    counted = run.prepared.graph.counted or run.prepared.graph.phases
    is_incomplete = not run.last_run.complete
    return sum(
        machine.kernel.cycle if is_incomplete and machine is run.machines[-1] else machine.cycles
        for machine in run.machines
        if machine.phase in counted
    )


def _list_components(run: GraphRun) -> dict[str, parts.Component]:
    """Return all blocks; with several phases, each phase under its number."""
    components = {}
    for machine in run.machines:
        for name, component in list_components(machine.kernel).items():
            scope, _, block = name.partition(".")
            components[f"{scope}.{_format_phase_prefix(run, machine)}{block}"] = component
    return components


def _collect_costs(run: GraphRun, seconds: float) -> dict[str, Any]:
    """Return the energy and area of the memories of tiles; empty without such memories.

    Blocks and off-chip memory have no figures.
    """
    costs = [
        memory
        for machine in run.machines
        for memory in machine.tile_costs(seconds, _format_phase_prefix(run, machine))
    ]
    if not costs:
        return {}
    energy = [item for memory in costs for item in memory.energy]
    # entries without figures keep the totals from appearing complete
    energy += [EnergyItem(BLOCKS, "", DYNAMIC, UNKNOWN), EnergyItem(CHANNELS, "", MEMORY, UNKNOWN)]
    area = [item for memory in costs for item in memory.area]
    return {
        **build_energy_fields(energy, seconds),
        **build_area_fields([*area, AreaItem(BLOCKS, "", UNKNOWN)]),
    }


def _format_phase_prefix(run: GraphRun, machine: GraphMachine) -> str:
    """Return the prefix of the names of a phase's components; empty for a run of a single phase."""
    return f"phase{machine.phase}." if len(run.machines) > 1 else ""


def describe_busiest(components: Mapping[str, parts.Component]) -> str:
    """Describe the busiest block in a sentence: the block with the largest share of busy cycles.

    Args:
        components: statistics by name; names begin with the name of the machine and a dot.

    Returns:
        The sentence; empty if no component has run.
    """
    blocks = {name: component for name, component in components.items() if component.cycles}
    if not blocks:
        return ""
    name = max(blocks, key=lambda name: blocks[name].busy / blocks[name].cycles)
    component = blocks[name]
    shares = {
        "waiting for input": component.input_stall,
        "waiting for output": component.output_stall,
        "with nothing to do": component.idle,
    }
    reason = max(shares, key=shares.__getitem__)
    share = f"{shares[reason] / component.cycles:.0%}"
    stalls = "" if share == "0%" else f", {reason} {share}"
    busy = f"busy {component.busy / component.cycles:.0%} of the time"
    return f"{name.partition('.')[2]} is the busiest block: {busy}{stalls}."


def _summarize_product(run: GraphRun) -> parts.Product | None:
    """Return shape and nonzeros of the last result with coordinates; None without such a result."""
    product = next((result for result in reversed(list(run.results.values())) if result is not None), None)
    return None if product is None else parts.Product(shape=product.shape, nonzeros=product.nonzeros)


def _summarize_verification(run: GraphRun) -> parts.Verification:
    if not run.prepared.assignments:
        return verification(f"none: no expression can be read ({run.prepared.unreadable_reason})", [])
    # an incomplete run has compared the results of its complete phases only
    return verification(REFERENCE, [*run.comparisons.values()] if run.last_run.complete else [])
