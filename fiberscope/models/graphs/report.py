"""The common report of a graph's run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from fiberscope.models.graphs.machine import GraphMachine
from fiberscope.models.graphs.settings import GraphParameters
from fiberscope.results.report import parts
from fiberscope.results.report.collect import components_of
from fiberscope.results.report.document import Report
from fiberscope.results.report.frame import framed, verification, workload
from fiberscope.results.report.host import Timing
from fiberscope.results.report.timeline import Watch
from fiberscope.sim import Run
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.verification import Comparison

if TYPE_CHECKING:
    from fiberscope.models.graphs.prepared import Prepared

__all__ = ["Ran", "report"]

REFERENCE = "the graph's expression, by joins of coordinates"


@dataclass(frozen=True)
class Ran:
    """A graph that has run.

    Args:
        machines: of its phases, as far as they ran.
        ended: how the last one ended.
        comparisons: of what was written with the reference, by tensor.
        results: what was written, by tensor; None where it has no place for each value.
        watch: of the last machine.
        timing: of the host.
        source: what it was made by.
    """

    machines: Sequence[GraphMachine]
    ended: Run
    comparisons: Mapping[str, Comparison]
    results: Mapping[str, SparseTensor | None]
    watch: Watch | None
    timing: Timing
    source: parts.Source | None = None


def report(ready: Prepared, parameters: GraphParameters, ran: Ran) -> Report:
    """The report of a run, whether its result is right or wrong."""
    cycles = _cycles(ready, ran)
    operations = _operations(ran)
    components = _components(ran)
    return framed(
        ran.timing,
        operations.get("multiply"),
        sum(machine.kernel.ticks for machine in ran.machines),
        accelerator=ready.name,
        complete=ran.ended.complete,
        ending=cast(parts.Ending, ran.ended.reason),
        workload=workload(ready.operands.values()),
        formats={name: stored.text for name, stored in ready.formats.items()},
        problem=parts.Problem(kind="graph", title=ready.title),
        config=parameters.model_dump(mode="json"),
        chosen=tuple(ready.graph.notes),
        cycles=cycles,
        seconds=float(cycles / parameters.clock),
        operations=operations,
        traffic={},
        product=_product(ran),
        verification=_verification(ready, ran),
        bottleneck=busiest(components),
        components=components,
        timeline=ran.watch.timeline(ran.machines[-1].kernel.cycle + 1) if ran.watch else None,
        occupancies=ran.watch.occupancies() if ran.watch else {},
        source=ran.source,
    ).holding(list(ran.results.values())[-1] if ran.ended.complete else None)


def _cycles(ready: Prepared, ran: Ran) -> int:
    """Cycles of the phases that count; of a run that ended early those so far."""
    counted = ready.graph.counted or ready.graph.phases
    ended_early = not ran.ended.complete
    return sum(
        machine.kernel.cycle if ended_early and machine is ran.machines[-1] else machine.cycles
        for machine in ran.machines
        if machine.phase in counted
    )


def _operations(ran: Ran) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for machine in ran.machines:
        counts.update(machine.operations())
    return dict(counts)


def _components(ran: Ran) -> dict[str, parts.Component]:
    """All blocks; of several phases those of each under its number."""
    components = {}
    for machine in ran.machines:
        for name, component in components_of(machine.kernel).items():
            scope, _, block = name.partition(".")
            phase = f"phase{machine.phase}." if len(ran.machines) > 1 else ""
            components[f"{scope}.{phase}{block}"] = component
    return components


def busiest(components: Mapping[str, parts.Component]) -> str:
    """The block that is busy most of the time, in a sentence."""
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
    rest = max(shares, key=shares.__getitem__)
    share = f"{shares[rest] / component.cycles:.0%}"
    others = "" if share == "0%" else f", {rest} {share}"
    busy = f"busy {component.busy / component.cycles:.0%} of the time"
    return f"{name.partition('.')[2]} is the busiest block: {busy}{others}."


def _product(ran: Ran) -> parts.Product | None:
    product = next((result for result in reversed(list(ran.results.values())) if result is not None), None)
    return None if product is None else parts.Product(shape=product.shape, nonzeros=product.nonzeros)


def _verification(ready: Prepared, ran: Ran) -> parts.Verification:
    if not ready.meant:
        return verification(f"none: no expression can be read ({ready.unread})", [])
    return verification(REFERENCE, [*ran.comparisons.values()] if ran.ended.complete else [])
