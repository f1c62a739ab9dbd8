"""The common report of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from fiberscope.models.analytic.evaluate import Evaluated
from fiberscope.models.analytic.inputs import Case
from fiberscope.models.analytic.levels import Levels
from fiberscope.models.analytic.mapping import Mapping as NamedMapping
from fiberscope.report import levels as level_parts
from fiberscope.report import parts
from fiberscope.report.document import Report
from fiberscope.report.frame import framed, verification, workload
from fiberscope.report.host import Timing

__all__ = ["bottleneck", "report"]


def report(case: Case, evaluated: Evaluated, timing: Timing, source: parts.Source | None = None) -> Report:
    """The report of the first mapping of an evaluation, by these sources."""
    told = Levels(evaluated).all()
    cycles, energy = math.ceil(float(evaluated.cycles[0])), float(evaluated.energy_pj[0])
    computes = _computes(evaluated)
    return framed(
        timing,
        round(computes.actual),
        fidelity="analytical",
        accelerator=case.name,
        complete=True,
        ending="done",
        workload=workload(_operands(evaluated)),
        problem=parts.Problem(kind="loop nest", title=_title(evaluated)),
        config=_config(case, evaluated),
        cycles=cycles,
        seconds=cycles * 1e-9,
        operations={"compute": round(computes.actual)},
        traffic=_traffic(evaluated, told),
        verification=verification("none", [], 0.0),
        bottleneck=bottleneck(evaluated),
        energy_pj=energy,
        levels=told,
        analytical=_summary(case, evaluated, told, computes, cycles, energy),
        source=source,
    )


def _summary(
    case: Case,
    evaluated: Evaluated,
    told: Mapping[str, level_parts.StorageLevel],
    computes: level_parts.Computes,
    cycles: int,
    energy: float,
) -> level_parts.Analytical:
    shares = {
        computes_name(evaluated): computes.energy_pj,
        **{name: one.energy_pj for name, one in told.items()},
    }
    shares["total"] = energy
    mapping = NamedMapping.of(evaluated.mappings, 0)
    design = evaluated.design
    moved = sum(one.read_bytes + one.write_bytes for one in _traffic(evaluated, told).values())
    return level_parts.Analytical(
        mode=design.options.mode,
        compute=computes,
        utilization=computes.actual / max(cycles * design.architecture.compute.instances, 1),
        edp=energy * 1e-12 * cycles,
        pj_per_algorithmic_compute={name: one / computes.algorithmic for name, one in shares.items()},
        pj_per_actual_compute={name: one / max(computes.actual, 1.0) for name, one in shares.items()},
        intensity=computes.actual / moved if moved else None,
        loop_nest=mapping.nest(design.architecture, design.problem, tiles_in_words(evaluated)),
        notes=case.notes,
    )


def computes_name(evaluated: Evaluated) -> str:
    """What the compute unit is called."""
    return evaluated.design.architecture.compute.name


def _computes(evaluated: Evaluated) -> level_parts.Computes:
    counted = evaluated.counts.computes
    return level_parts.Computes(
        algorithmic=float(evaluated.traffic.computes[0]),
        actual=float(counted.actual[0]),
        gated=float(counted.gated[0]),
        skipped=float(counted.skipped[0]),
        units=int(evaluated.traffic.instances[0, -1]),
        cycles=math.ceil(float(evaluated.cost.compute_cycles[0])),
        energy_pj=float(evaluated.cost.compute_pj[0]),
    )


def _operands(evaluated: Evaluated) -> Iterator[parts.Operand]:
    """The operands; they have no values, and their digests are those of what is said of them."""
    problem = evaluated.design.problem
    for number in problem.operands:
        tensor, density, shape = problem.tensors[number], problem.densities[number], problem.shape(number)
        kind = type(density).__name__
        told = f"{kind}, density {density.density:g}"
        yield parts.Operand(
            name=tensor.name,
            source="real" if kind == "Actual" else "generated",
            origin=told,
            digest=sha256(f"{told} {density.exact!r} {shape}".encode()).hexdigest(),
            shape=shape,
            nonzeros=round(density.exact * density.elements),
        )


def _title(evaluated: Evaluated) -> str:
    problem = evaluated.design.problem
    bounds = zip(problem.dimensions, problem.bounds, strict=True)
    return f"{problem.name} of {', '.join(f'{name}={bound:,}' for name, bound in bounds)}"


def _config(case: Case, evaluated: Evaluated) -> dict[str, Any]:
    """The machine as it was read, and how it was counted; of features a digest of what they say."""
    design = evaluated.design
    return {
        "options": design.options.model_dump(mode="json"),
        "energies": design.energies.source,
        "levels": {
            level.name: {
                key: value for key, value in vars(level).items() if isinstance(value, int | float | str)
            }
            for level in design.architecture.levels
        },
        "features": sha256(repr(design.features).encode()).hexdigest(),
        "mapping": case.mapping.as_yaml(design.architecture, design.problem) if case.mapping else "",
    }


def _traffic(
    evaluated: Evaluated, told: Mapping[str, level_parts.StorageLevel]
) -> dict[str, parts.TensorTraffic]:
    """Bytes of each tensor at the outermost level, metadata among them."""
    level, cost = evaluated.design.architecture.levels[0], evaluated.cost.levels[0]
    names = [tensor.name for tensor in evaluated.design.problem.tensors]
    return {
        name: parts.TensorTraffic(
            read_bytes=math.ceil(float(cost.read_words[at][0]) * level.word_bits / 8),
            write_bytes=math.ceil(float(cost.write_words[at][0]) * level.word_bits / 8),
        )
        for at, name in enumerate(names)
        if name in told[level.name].tensors
    }


def tiles_in_words(evaluated: Evaluated) -> list[str]:
    """Of each level its tiles: elements, and in brackets the mean of those that are not zero."""
    design, lines = evaluated.design, []
    for number in range(len(design.architecture.levels)):
        said = []
        for at, tensor in enumerate(design.problem.tensors):
            if (number, at) in evaluated.counts.stored:
                tile = int(evaluated.traffic.dense[number, at].tile[0])
                mean = tile * float(evaluated.counts.stored[number, at].density[0])
                said.append(f"{tensor.name}:{tile:,} ({mean:,.6g})")
        lines.append(" ".join(said))
    return lines


def bottleneck(evaluated: Evaluated) -> str:
    """What sets the cycles, what the next slowest would allow, and which bandwidths were not given."""
    levels = evaluated.design.architecture.levels
    own = {computes_name(evaluated): float(evaluated.cost.compute_cycles[0])}
    for level, one in zip(levels, evaluated.cost.levels, strict=True):
        own[level.name] = float(one.own_cycles[0])
    first, second, *_rest = sorted(own, key=own.__getitem__, reverse=True)
    if own[first] <= 0:
        return "nothing takes a cycle"
    what = "the computes" if first == computes_name(evaluated) else "the bandwidth of " + first
    following = f"next {second} would allow {own[second]:,.0f}" if own[second] else "nothing else limits it"
    free = ", ".join(level.name for level in levels if level.is_unlimited)
    unlimited = f"; no bandwidth is given of {free}: however much they move takes no cycle" if free else ""
    return f"{what} set the {own[first]:,.0f} cycles; {following}{unlimited}"
