"""Report of an evaluation in the common format, with tables of levels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from fiberscope.models.analytic.actions import Access, FormatAccess
from fiberscope.models.analytic.arrays import Numbers
from fiberscope.models.analytic.cost import LevelCost
from fiberscope.models.analytic.evaluate import Evaluation
from fiberscope.models.analytic.inputs import Case
from fiberscope.models.analytic.mapping import Mapping as NamedMapping
from fiberscope.results.costs.cost import UNKNOWN, Cost
from fiberscope.results.costs.run_costs import DYNAMIC, LEAKAGE, MEMORY, NO_WIRES, EnergyItem, Kind
from fiberscope.results.report import costs, parts
from fiberscope.results.report import levels as level_parts
from fiberscope.results.report.document import Report
from fiberscope.results.report.frame import build_report, verification, workload
from fiberscope.results.report.host import Timing

OFF_CHIP = ("DRAM", "MainMemory", "HBM2")  # classes of off-chip levels in energy tables
# names of densities in the public tools; other classes have their own names in lower case
_NAMES = {"FixedStructured": "fixed-structured", "Uniform": "hypergeometric"}


@dataclass(frozen=True)
class Levels:
    """Entries of a report for one mapping of an evaluation; ``row`` is the index of the mapping."""

    evaluation: Evaluation
    row: int = 0

    def all(self) -> dict[str, level_parts.StorageLevel]:
        """Return the levels of storage by name, outermost first; containers (loops alone) are left out."""
        levels = self.evaluation.design.architecture.levels
        return {level.name: self._level(number) for number, level in enumerate(levels) if level.stores}

    def _level(self, number: int) -> level_parts.StorageLevel:
        """Return the entry of a level: cycles, energy, leakage and its tensors."""
        cost, problem = self.evaluation.cost.levels[number], self.evaluation.design.problem
        cycles = self._select_value(cost.cycles)
        tensors = [
            tensor
            for tensor in range(len(problem.tensors))
            if (number, tensor) in self.evaluation.counts.actions
        ]
        return level_parts.StorageLevel(
            cycles=math.ceil(cycles),
            # the cycles of a level are at least those of compute: 1.0 if the level does not slow compute down
            throttling=self._select_value(self.evaluation.cost.compute_cycles) / max(cycles, 1.0),
            energy_pj=self._select_value(cost.total_pj),
            leak_pj=self._select_value(cost.leak_pj),
            tensors={
                problem.tensors[tensor].name: self._describe_tensor(number, tensor, cost)
                for tensor in tensors
            },
        )

    def _describe_tensor(self, number: int, tensor: int, cost: LevelCost) -> level_parts.LevelTensor:
        """Return the entry of a tensor at a level."""
        evaluation, key = self.evaluation, (number, tensor)
        problem, actions = evaluation.design.problem, evaluation.counts.actions[key]
        stored_tile, dense = evaluation.counts.stored_tiles[key], evaluation.traffic.dense[key]
        kind = evaluation.design.features.formats.get(key)
        density = type(problem.densities[tensor]).__name__
        energy = self._select_value(cost.energy_pj[tensor])
        accesses = sum(
            self._select_value(access.actual) for access in (actions.reads, actions.fills, actions.updates)
        )
        average = self._select_value(cost.instances[tensor])
        # not strict: without a format, a tensor has no accesses to metadata
        directions = zip(("reads", "fills", "updates"), actions.formats, strict=False)
        formats: dict[str, Any] = {
            f"format_{direction}": self._describe_formats(access) for direction, access in directions
        }
        largest = stored_tile.largest
        return level_parts.LevelTensor(
            tile=tuple(
                int(self._select_value(extent))
                for extent in problem.extents(tensor, evaluation.traffic.nest.tile(number))
            ),
            density=_NAMES.get(density, density.lower()),
            words=self._select_value(stored_tile.words),
            format=str(kind) if kind else "none",
            format_words=()
            if largest is None
            else self._pair_bits(np.ceil(largest.metadata), np.ceil(largest.payload)),
            instances=level_parts.Instances(
                maximal=int(evaluation.traffic.instances[self.row, number]), average=average
            ),
            reads=self._describe_accesses(dense.reads, actions.reads),
            fills=self._describe_accesses(dense.fills, actions.fills),
            updates=self._describe_accesses(dense.updates, actions.updates),
            **formats,
            temporal_reductions=self._select_value(actions.reductions),
            address_generations=accesses,
            energy_per_access_pj=energy / accesses if accesses else 0.0,
            energy_per_instance_pj=energy,
            energy_pj=energy * average,
            **self._describe_bandwidths(
                cost, tensor, average / evaluation.traffic.instances[self.row, number]
            ),
        )

    def _describe_bandwidths(self, cost: LevelCost, tensor: int, used_share: float) -> dict[str, Any]:
        """Return the words a cycle in each direction and the share of metadata in these words.

        ``used_share`` is the share of the used instances that get tiles, so the words are means over the used
        instances.
        """
        cycles = max(self._select_value(self.evaluation.cycles), 1.0)
        columns: dict[str, Any] = {}
        for direction in ("read", "write"):
            words = self._select_value(getattr(cost, f"{direction}_words")[tensor])
            metadata = self._select_value(getattr(cost, f"format_{direction}_words")[tensor])
            columns[f"{direction}_bandwidth"] = words * used_share / cycles
            columns[f"{direction}_format_share"] = metadata / words if words else 0.0
        return columns

    def _describe_accesses(self, dense: Numbers | np.ndarray, access: Access) -> level_parts.Accesses:
        return level_parts.Accesses(
            algorithmic=self._select_value(dense),
            actual=self._select_value(access.actual),
            gated=self._select_value(access.gated),
            skipped=self._select_value(access.skipped),
        )

    def _describe_formats(self, access: FormatAccess) -> level_parts.FormatAccesses:
        units = access.metadata, access.payload
        return level_parts.FormatAccesses(
            actual=self._pair_bits(*(access.actual for access in units)),
            gated=self._pair_bits(*(access.gated for access in units)),
            skipped=self._pair_bits(*(access.skipped for access in units)),
        )

    def _pair_bits(self, metadata: Numbers, payload: Numbers) -> tuple[tuple[float, float], ...]:
        """Return the numbers of metadata and of payloads by rank, from the innermost."""
        return tuple(
            (float(metadata_count), float(payload_count))
            for metadata_count, payload_count in zip(metadata[self.row], payload[self.row], strict=True)
        )

    def _select_value(self, numbers: Numbers | np.ndarray) -> float:
        """Return the value of this mapping; an array of length 1 has the same value for all mappings."""
        return float(numbers[self.row if len(numbers) > 1 else 0])


def report(case: Case, evaluation: Evaluation, timing: Timing, source: parts.Source | None = None) -> Report:
    """Return the report of the first mapping of an evaluation, as if it were valid.

    Seconds assume a clock of 1 GHz.

    Args:
        case: the inputs, for the name, the notes and the mapping.
        evaluation: the evaluation; mappings after the first are ignored.
        timing: host times.
        source: the provenance of the sources, if known.
    """
    levels = Levels(evaluation).all()
    cycles, energy = math.ceil(float(evaluation.cycles[0])), float(evaluation.energy_pj[0])
    computes, seconds = _describe_computes(evaluation), cycles * 1e-9  # 1 ns a cycle
    return build_report(
        timing,
        round(computes.actual),
        fidelity="analytical",
        accelerator=case.name,
        complete=True,
        ending="done",
        workload=workload(_describe_operands(evaluation)),
        problem=parts.Problem(kind="loop nest", title=_format_title(evaluation)),
        config=_describe_config(case, evaluation),
        cycles=cycles,
        seconds=seconds,
        operations={"compute": round(computes.actual)},
        traffic=_count_traffic(evaluation, levels),
        verification=verification("none", [], 0.0),
        bottleneck=describe_bottleneck(evaluation),
        **costs.build_energy_fields(_list_energies(evaluation, levels, computes), seconds),
        levels=levels,
        analytical=_summarize(case, evaluation, levels, computes, cycles, energy),
        source=source,
    )


def _list_energies(
    evaluation: Evaluation, levels: Mapping[str, level_parts.StorageLevel], computes: level_parts.Computes
) -> Iterator[EnergyItem]:
    """Yield the energies by level and tensor, and of the computes."""
    kinds = {level.name: level.kind for level in evaluation.design.architecture.levels}
    for name, level in levels.items():
        kind: Kind = MEMORY if kinds[name] in OFF_CHIP else DYNAMIC
        for tensor, energy in level.tensors.items():
            yield EnergyItem(name, tensor, kind, Cost.exact(energy.energy_pj, "published"))
        # tables without an entry for leakage give 0, which does not mean that nothing leaks
        leakage = Cost.exact(level.leak_pj, "published") if level.leak_pj else UNKNOWN
        yield EnergyItem(name, "leakage", LEAKAGE, leakage)
    compute = Cost.exact(computes.energy_pj, "published")
    yield EnergyItem(format_computes_name(evaluation), "compute", DYNAMIC, compute)
    yield NO_WIRES


def _summarize(
    case: Case,
    evaluation: Evaluation,
    levels: Mapping[str, level_parts.StorageLevel],
    computes: level_parts.Computes,
    cycles: int,
    energy: float,
) -> level_parts.Analytical:
    """Return the figures of the whole run, with energies divided by the number of computes."""
    shares = {
        format_computes_name(evaluation): computes.energy_pj,
        **{name: picojoules.energy_pj for name, picojoules in levels.items()},
    }
    shares["total"] = energy  # all of these in pJ for the whole run
    mapping = NamedMapping.from_batch(evaluation.mappings, 0)
    design = evaluation.design
    moved_bytes = sum(picojoules.moved_bytes for picojoules in _count_traffic(evaluation, levels).values())
    return level_parts.Analytical(
        mode=design.options.mode,
        compute=computes,
        utilization=computes.actual / max(cycles * design.architecture.compute.instances, 1),
        edp=energy * 1e-12 * cycles,
        pj_per_algorithmic_compute={
            name: picojoules / computes.algorithmic for name, picojoules in shares.items()
        },
        pj_per_actual_compute={
            name: picojoules / max(computes.actual, 1.0) for name, picojoules in shares.items()
        },
        intensity=computes.actual / moved_bytes if moved_bytes else None,
        loop_nest=mapping.nest(design.architecture, design.problem, describe_tiles(evaluation)),
        notes=case.notes,
    )


def format_computes_name(evaluation: Evaluation) -> str:
    """Return the name of the compute unit, under which computes appear beside the levels."""
    return evaluation.design.architecture.compute.name


def _describe_computes(evaluation: Evaluation) -> level_parts.Computes:
    """Return the computes of the first mapping; actual, gated and skipped computes are expected values."""
    computes = evaluation.counts.computes
    return level_parts.Computes(
        algorithmic=float(evaluation.traffic.computes[0]),
        actual=float(computes.actual[0]),
        gated=float(computes.gated[0]),
        skipped=float(computes.skipped[0]),
        units=int(evaluation.traffic.instances[0, -1]),
        cycles=math.ceil(float(evaluation.cost.compute_cycles[0])),
        energy_pj=float(evaluation.cost.compute_pj[0]),
    )


def _describe_operands(evaluation: Evaluation) -> Iterator[parts.Operand]:
    """Yield the operands; they have no values, and their digests are of their descriptions."""
    problem = evaluation.design.problem
    for number in problem.operands:
        tensor, density, shape = problem.tensors[number], problem.densities[number], problem.shape(number)
        kind = type(density).__name__
        description = f"{kind}, density {density.density:g}"
        yield parts.Operand(
            name=tensor.name,
            source="real" if kind == "Actual" else "generated",
            origin=description,
            digest=sha256(f"{description} {density.exact!r} {shape}".encode()).hexdigest(),
            shape=shape,
            nonzeros=round(density.exact * density.elements),
        )


def _format_title(evaluation: Evaluation) -> str:
    problem = evaluation.design.problem
    bounds = zip(problem.dimensions, problem.bounds, strict=True)
    return f"{problem.name} of {', '.join(f'{name}={bound:,}' for name, bound in bounds)}"


def _describe_config(case: Case, evaluation: Evaluation) -> dict[str, Any]:
    """Return the machine, the options and the mapping; of features a digest."""
    design = evaluation.design
    return {
        "options": design.options.model_dump(mode="json"),
        # without the folder, which differs by installation for a design that ships
        "energies": Path(design.energies.source).name,
        "levels": {
            level.name: {
                key: value for key, value in vars(level).items() if isinstance(value, int | float | str)
            }
            for level in design.architecture.levels
        },
        "features": sha256(repr(design.features).encode()).hexdigest(),
        "mapping": case.mapping.as_yaml(design.architecture, design.problem) if case.mapping else "",
    }


def _count_traffic(
    evaluation: Evaluation, levels: Mapping[str, level_parts.StorageLevel]
) -> dict[str, parts.TensorTraffic]:
    """Return the bytes of each tensor at one instance of the outermost level, with metadata, rounded up."""
    level, cost = evaluation.design.architecture.levels[0], evaluation.cost.levels[0]
    names = [tensor.name for tensor in evaluation.design.problem.tensors]
    return {
        name: parts.TensorTraffic(
            read_bytes=math.ceil(float(cost.read_words[index][0]) * level.word_bits / 8),
            write_bytes=math.ceil(float(cost.write_words[index][0]) * level.word_bits / 8),
        )
        for index, name in enumerate(names)
        if name in levels[level.name].tensors
    }


def describe_tiles(evaluation: Evaluation) -> list[str]:
    """Describe the tiles of each level: elements, and in brackets the mean number of nonzeros."""
    design, lines = evaluation.design, []
    for number in range(len(design.architecture.levels)):
        phrases = []
        for index, tensor in enumerate(design.problem.tensors):
            if (number, index) in evaluation.counts.stored_tiles:
                tile = int(evaluation.traffic.dense[number, index].tile[0])
                mean = tile * float(evaluation.counts.stored_tiles[number, index].density[0])
                phrases.append(f"{tensor.name}:{tile:,} ({mean:,.6g})")
        lines.append(" ".join(phrases))
    return lines


def find_limits(evaluation: Evaluation) -> dict[str, float]:
    """Return the cycles of the computes, and of the bandwidth of each level, in decreasing order.

    A level without a limit of bandwidth has 0 cycles. The cycles are of the first mapping.
    """
    cycle_limits = {format_computes_name(evaluation): float(evaluation.cost.compute_cycles[0])}
    for level, level_cost in zip(evaluation.design.architecture.levels, evaluation.cost.levels, strict=True):
        if level.stores:
            cycle_limits[level.name] = float(level_cost.own_cycles[0])
    return dict(sorted(cycle_limits.items(), key=lambda entry: entry[1], reverse=True))


def describe_bottleneck(evaluation: Evaluation) -> str:
    """Describe the limit of the cycles, the next slowest limit, and the unlimited bandwidths."""
    levels, cycle_limits = evaluation.design.architecture.levels, find_limits(evaluation)
    slowest, second, *_ = cycle_limits  # at least two: the computes, and one level that stores
    if cycle_limits[slowest] <= 0:
        return "nothing takes a cycle"
    subject = "the computes" if slowest == format_computes_name(evaluation) else "the bandwidth of " + slowest
    second_cycles = cycle_limits[second]
    note = f"next {second} would allow {second_cycles:,.0f}" if second_cycles else "nothing else limits it"
    free = ", ".join(level.name for level in levels if level.is_unlimited)
    unlimited = f"; no bandwidth is given of {free}: however much they move takes no cycle" if free else ""
    return f"{subject} set the {cycle_limits[slowest]:,.0f} cycles; {note}{unlimited}"
