"""Report of a cascade's run in the common format."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from fiberscope.accelerators.machine import CachedTraffic
from fiberscope.models.trace.area import price_chip_parts
from fiberscope.models.trace.energy import Energy
from fiberscope.models.trace.evaluate import CascadeRun
from fiberscope.models.trace.memory_entries import DRAM_ONLY, OTHER_ORDER, MemoryEntry, find_unmoved_tensors
from fiberscope.models.trace.operands import CascadeOperand, convert_tree
from fiberscope.models.trace.options import Options
from fiberscope.models.trace.specification import Specification
from fiberscope.models.trace.verify import UNCHECKED
from fiberscope.results.costs.run_costs import RunActivity, iterate_area_items, iterate_static_items
from fiberscope.results.report import costs, parts
from fiberscope.results.report.document import Report
from fiberscope.results.report.frame import build_report, collect_traffic_by_tensor, verification, workload
from fiberscope.results.report.host import Timing
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.verification import Comparison

# Names of the report for functions of the specification; every other function keeps its name.
_OPERATIONS = {"mul": "multiply", "add": "add"}
_DIRECTIONS = ("read", "write")  # keys of a store's counts of bits


@dataclass(frozen=True)
class ProblemAnswer:
    """The answer of a solved problem.

    Args:
        title: title of the problem.
        reference: description of its reference.
        comparison: comparison of the answer with the reference.
    """

    title: str
    reference: str
    comparison: Comparison


@dataclass(frozen=True)
class ModelledRun:
    """A run with its counts.

    Args:
        specification: the cascade and its machine.
        operands: the operands by name of the input.
        options: options of the model.
        outcome: the outcome of the loop nests.
        metrics: counts by Einsum and component; also ``blocks``, the names of the Einsums that run at the
            same time, and ``time``, the seconds of the run.
        energy: the energy of the counted actions.
        choices: descriptions of the symbols that the machine chose for these operands.
        solved: the problem of the operands; None without a problem.
        cached: traffic behind the machine's cache; None without ``functional_cache``.
    """

    specification: Specification
    operands: Mapping[str, CascadeOperand]
    options: Options
    outcome: CascadeRun
    metrics: Mapping[str, Any]
    energy: Energy
    choices: tuple[str, ...] = ()
    solved: ProblemAnswer | None = None
    cached: CachedTraffic | None = None


def report(modelled: ModelledRun, timing: Timing, source: parts.Source | None = None) -> Report:
    """Return the report of a run, whether its result is right or wrong.

    An interrupted run also has a report; it lacks the product and holds no answer.

    Args:
        modelled: the run with its counts.
        timing: seconds on the host.
        source: provenance of the request and the sources; None for a report without it.
    """
    specification, seconds = modelled.specification, float(modelled.metrics["time"])
    operations = _count_operations(modelled)
    cycles = _convert_to_cycles(specification, seconds)
    return build_report(
        timing,
        operations.get("multiply"),
        fidelity="trace",
        accelerator=specification.name,
        complete=not modelled.outcome.interrupted,
        ending="interrupted" if modelled.outcome.interrupted else "done",
        workload=_describe_workload(modelled),
        problem=parts.Problem(kind="cascade", title=_format_title(modelled)),
        config=_describe_config(modelled),
        chosen=modelled.choices,
        cycles=cycles,
        seconds=seconds,
        operations=operations,
        traffic=_count_traffic(modelled),
        cached=_describe_cached(modelled.cached),
        unmoved=_list_unmoved(modelled),
        product=_build_product(modelled),
        verification=_summarize_verification(modelled),
        bottleneck=describe_bottleneck(modelled.metrics),
        teaal=_describe_teaal(modelled),
        source=source,
        **_estimate_costs(modelled, cycles, seconds),
    ).holding(None if modelled.outcome.interrupted else _answer(modelled))


def _estimate_costs(modelled: ModelledRun, cycles: int, seconds: float) -> dict[str, Any]:
    """Return the fields of the report for energy and area."""
    chip = price_chip_parts(modelled.specification)
    # the clock and the leakage of the parts; without counters, a part has all cycles of the run, none busy
    static = iterate_static_items(chip, RunActivity({}, {}, {}, cycles, seconds))
    energy = costs.build_energy_fields([*modelled.energy.items, *static], seconds)
    return {**energy, **costs.build_area_fields(iterate_area_items(chip))}


def _answer(modelled: ModelledRun) -> SparseTensor:
    """Return the last output with its ranks in declared order."""
    name = modelled.specification.einsums[-1].output
    return convert_tree(modelled.outcome.tensors[name], modelled.specification.tensors[name].ranks)


def _describe_workload(modelled: ModelledRun) -> parts.Workload:
    """Return the operands in the order of declaration; of two equal operands, the second is left out.

    Of three or more operands, all are kept.
    """
    workloads = [modelled.operands[name].workload for name in modelled.specification.inputs]
    first, *others = workloads
    if [workload.digest for workload in others] == [first.digest]:  # two operands alike
        others = []
    return workload([first, *others], modelled.specification.inputs[: 1 + len(others)])


def _format_title(modelled: ModelledRun) -> str:
    einsums = modelled.specification.einsums
    if len(einsums) == 1:
        return einsums[0].equation.text
    cascade = f"cascade of {', '.join(einsum.name for einsum in einsums)}"
    return f"{modelled.solved.title}, by a {cascade}" if modelled.solved else cascade


def _describe_config(modelled: ModelledRun) -> dict[str, Any]:
    """Return the machine's parameters by section, symbols, options, and a digest of the specification."""
    nested: dict[str, Any] = {}
    for key, value in modelled.specification.parameters.items():
        *sections, leaf = key.split(".")
        branch = nested
        for section in sections:
            branch = branch.setdefault(section, {})
        branch[leaf] = value
    digest = sha256(repr(modelled.specification).encode()).hexdigest()
    return {
        "specification": digest,
        "model": modelled.options.model_dump(mode="json"),
        "symbols": dict(modelled.specification.symbols),
        **nested,
    }


def _convert_to_cycles(specification: Specification, seconds: float) -> int:
    """Return the time in cycles of the fastest clock, rounded up; 0 without an architecture."""
    clocks = [architecture.clock_frequency for architecture in specification.configurations.values()]
    # without ``round``, an error of the product of floats could add a cycle
    return math.ceil(round(seconds * max(clocks, default=0.0), 6))


def _count_operations(modelled: ModelledRun) -> dict[str, int]:
    """Return the number of operations by name, of the functions and of bound intersectors and mergers."""
    counts: dict[str, int] = {}
    for run in modelled.outcome.runs:
        for name, count in run.operations.items():
            operation = _OPERATIONS.get(name, name)
            counts[operation] = counts.get(operation, 0) + count
    # intersectors and mergers count only where they are bound; compute units are counted above, bound or not
    for name, components in _list_einsum_metrics(modelled.metrics).items():
        kinds = _list_component_kinds(modelled.specification, name)
        for component, component_counts in components.items():
            kind = {"Intersector": "intersect", "Merger": "merge"}.get(kinds.get(component, ""))
            if kind:
                total = sum(count for name_, count in component_counts.items() if name_ != "time")
                counts[kind] = counts.get(kind, 0) + total
    return counts


def _list_einsum_metrics(metrics: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the metrics of each Einsum, by component, without ``blocks`` and ``time`` of the whole run."""
    return {name: counts for name, counts in metrics.items() if isinstance(counts, Mapping)}


def _list_component_kinds(specification: Specification, einsum: str) -> dict[str, str]:
    """Return the class of each component of an Einsum's configuration."""
    config = next(
        candidate.bindings.config for candidate in specification.einsums if candidate.name == einsum
    )
    return {
        name: component.kind for name, component in specification.configurations[config].components.items()
    }


def _count_traffic(modelled: ModelledRun) -> dict[str, parts.TensorTraffic]:
    """Return the bytes of each tensor at DRAM, rounded down; without DRAM, at the Einsum's first store."""
    bits: dict[str, dict[str, int]] = {}
    for einsum, components in _list_einsum_metrics(modelled.metrics).items():
        kinds = _list_component_kinds(modelled.specification, einsum)
        # the counts of a store are by tensor and direction, those of other components are numbers
        stores = [
            name for name in components if any(isinstance(v, Mapping) for v in components[name].values())
        ]
        memories = [name for name in stores if kinds[name] == "DRAM"] or stores[:1]
        for tensor, counts in [item for name in memories for item in components[name].items()]:
            if isinstance(counts, Mapping):
                total = bits.setdefault(tensor, dict.fromkeys(_DIRECTIONS, 0))
                for direction in _DIRECTIONS:
                    total[direction] += counts.get(direction, 0)
    return {
        tensor: parts.TensorTraffic(read_bytes=total["read"] // 8, write_bytes=total["write"] // 8)
        for tensor, total in bits.items()
    }


def _describe_cached(cached: CachedTraffic | None) -> parts.Cached | None:
    if cached is None:
        return None
    return parts.Cached(traffic=collect_traffic_by_tensor(cached.traffic), in_flight=cached.in_flight)


def _list_unmoved(modelled: ModelledRun) -> dict[str, str]:
    """Return tensors and ranks with a binding to memory that no buffer loads, with the reason.

    The result is empty after an interrupt, since tensors may not have moved yet.
    """
    einsums = _list_einsum_metrics(modelled.metrics)

    def reason(entry: MemoryEntry) -> str:
        if not entry.is_buffered:
            return DRAM_ONLY
        moved_tensors = einsums.get(entry.einsum, {}).get(entry.memory, {})
        # a buffered entry without traffic: the format has another order of ranks than the loops
        return "" if entry.tensor in moved_tensors else OTHER_ORDER

    return {} if modelled.outcome.interrupted else find_unmoved_tensors(modelled.specification, reason)


def _build_product(modelled: ModelledRun) -> parts.Product | None:
    """Return the shape and the nonzeros of the last output; None after an interrupt."""
    specification = modelled.specification
    output = specification.tensors[specification.einsums[-1].output]
    tree: FiberTree | None = modelled.outcome.tensors.get(output.name)
    if tree is None or modelled.outcome.interrupted:
        return None
    shapes = {rank.name: rank.shape for rank in tree.ranks}
    return parts.Product(shape=tuple(shapes[rank] for rank in output.ranks), nonzeros=tree.nonzeros)


def _summarize_verification(modelled: ModelledRun) -> parts.Verification:
    """Return the worst comparison of all Einsums; the answer's comparison replaces missing ones.

    ``passed`` is None if no Einsum is wrong, but an Einsum was not compared or the run was interrupted.
    """
    outcome, solved = modelled.outcome, modelled.solved
    checks = [run.verification for run in outcome.runs]
    references = dict.fromkeys(check.reference for check in checks)
    compared: list[Comparison] = [*checks]
    if solved is not None:
        references = {solved.reference: None, **references}
        references.pop(UNCHECKED, None)  # the answer's comparison stands for the Einsums without one
        compared.append(solved.comparison)
    verified = verification(" and ".join(references), compared)
    unknown = outcome.wrong is None and (UNCHECKED in references or outcome.interrupted)
    return verified.model_copy(update={"passed": None}) if unknown and verified.passed else verified


def describe_bottleneck(metrics: Mapping[str, Any]) -> str:
    """Describe the slowest component of each block, and its share of the time of all blocks.

    The Einsums of a block run at the same time, so a component's times in these Einsums add up. Blocks that
    take no time are left out; without others, the text is empty.
    """
    phrases, einsums = [], _list_einsum_metrics(metrics)
    for block in metrics["blocks"]:
        times: dict[str, float] = {}
        for name in block:
            for component, counts in einsums.get(name, {}).items():
                times[component] = times.get(component, 0.0) + counts["time"]
        if any(times.values()):
            longest = max(times, key=times.__getitem__)
            share = times[longest] / metrics["time"]
            phrases.append(f"{longest} limits {' and '.join(block)} ({share:.0%} of the time)")
    return "; ".join(phrases)


def _describe_teaal(modelled: ModelledRun) -> parts.Teaal:
    """Return the entries of the report that only cascades have: counts by Einsum, over all rounds."""
    return parts.Teaal(
        semantics=modelled.options.semantics,
        expressions=tuple(einsum.equation.text for einsum in modelled.specification.einsums),
        rounds=modelled.outcome.rounds,
        bodies=_count_bodies(modelled.outcome),
        elements=_count_elements(modelled.outcome),
        zero_sums=sum(run.zero_sums for run in modelled.outcome.runs),
        metrics=dict(modelled.metrics),
        energy=modelled.energy.report_fields,
    )


def _count_bodies(outcome: CascadeRun) -> dict[str, dict[str, int]]:
    """Return the number of bodies of each loop of each Einsum, over all rounds."""
    counts_by_body: dict[str, dict[str, int]] = {}
    for run in outcome.runs:
        counts = counts_by_body.setdefault(run.prepared.einsum.name, {})
        for rank, bodies in run.bodies.items():
            counts[rank] = counts.get(rank, 0) + bodies
    return counts_by_body


def _count_elements(outcome: CascadeRun) -> dict[str, int]:
    """Return the number of elements of each Einsum's output, summed over all rounds."""
    elements: dict[str, int] = {}
    for run in outcome.runs:
        name = run.prepared.einsum.name
        elements[name] = elements.get(name, 0) + run.stored.nonzeros
    return elements
