"""SAGE compared with the paper: Table III, sizes alone, Fig. 13, and the energy of conversions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from math import exp, log
from typing import Any

from fiberscope.base.errors import InputError
from fiberscope.converters.sage.compute import compute
from fiberscope.converters.sage.configuration import SageParameters, load_sage_parameters
from fiberscope.converters.sage.kernels import problem
from fiberscope.converters.sage.published import Row, rows
from fiberscope.converters.sage.search import Choice, Prediction, rank
from fiberscope.converters.sage.statistics import Statistics
from fiberscope.converters.sage.systems import OURS, find_best, load_systems
from fiberscope.explore.tables import simulate_to_end
from fiberscope.results.report.table import Table, format_percent
from fiberscope.workloads.errors import WorkloadError, suggest
from fiberscope.workloads.generators import uniform

ROWS, DEPTH, COLUMNS = 64, 96, 32  # sizes of the simulated operands
DENSITIES = (0.5, 0.1, 0.02)
SMALL_ARRAY = {"elements": 16, "buffer": 32, "macs": 128, "row_match": 0, "csc_match": "beat"}


@dataclass(frozen=True)
class Workload:
    """A workload of Table III with a kernel.

    Args:
        name: the name of the workload.
        kernel: the kernel.
        published: the formats chosen by the paper's SAGE.
        ours: the formats chosen by this SAGE.
        excess: the energy-delay product of the published formats over ours, minus 1; None if they are
            impossible.
        cycles: our predicted cycles.
        picojoules: our predicted energy.
        conversion: the fraction of the energy that conversion takes.
    """

    name: str
    kernel: str
    published: Choice
    ours: Choice
    excess: float | None
    cycles: float
    picojoules: float
    conversion: float


@dataclass(frozen=True)
class Size:
    """The format in which the first operand is smallest.

    Args:
        name: the name of the workload.
        published: the format chosen by the paper's SAGE.
        smallest: the smallest format.
        excess: bits of the published format over those of the smallest, minus 1.
    """

    name: str
    published: str
    smallest: str
    excess: float


@dataclass(frozen=True)
class Ratio:
    """A class of accelerators in Fig. 13: energy-delay products over those of this work.

    Args:
        system: the class.
        mean: the geometric mean over matrices and both kernels.
        least, greatest: minimum and maximum.
        published_mean, published_greatest: the paper's values, or None.
    """

    system: str
    mean: float
    least: float
    greatest: float
    published_mean: float | None
    published_greatest: float | None


@dataclass(frozen=True)
class SimulatedCycles:
    """Predicted and simulated cycles of the array.

    Args:
        density: the density of both operands.
        acf: the formats of both operands.
        predicted, simulated: cycles.
    """

    density: float
    acf: tuple[str, str]
    predicted: float
    simulated: int

    @property
    def error(self) -> float:
        """Return the relative error of the prediction."""
        return self.predicted / self.simulated - 1


@dataclass(frozen=True)
class Comparison:
    """All comparisons of SAGE."""

    workloads: list[Workload]
    sizes: list[Size]
    ratios: list[Ratio]
    simulated: list[SimulatedCycles]


def compare(names: Sequence[str], parameters: SageParameters) -> Comparison:
    """Run SAGE on the workloads of Table III.

    Args:
        names: names of workloads; all if empty.
        parameters: the parameters of SAGE.

    Raises:
        WorkloadError: a name is unknown; the message has the nearest.
    """
    selected = _select_rows(names)
    workloads = [_workload(row, kernel, parameters) for row in selected for kernel in row.picks]
    flat = [row for row in selected if row.first.mcf[0] not in ("csf", "coo") or len(row.shape) == 2]
    matrices = [row for row in selected if len(row.shape) == 2]
    ratios = _ratios(matrices, parameters) if matrices else []
    sizes = [_size(row, parameters) for row in flat]
    return Comparison(workloads, sizes, ratios, [] if names else compare_with_simulation(parameters))


def _select_rows(names: Sequence[str]) -> list[Row]:
    rows_by_name = {row.name.lower(): row for row in rows()}
    for name in names:
        if name.lower() not in rows_by_name:
            hint = suggest(name, [row.name for row in rows()])
            raise WorkloadError(f"{name!r} is not in Table III", fix=hint)
    return [rows_by_name[name.lower()] for name in names] or list(rows())


def _workload(row: Row, kernel: str, parameters: SageParameters) -> Workload:
    published = row.picks[kernel].choice
    ranked = rank(problem(kernel, row.statistics), parameters)
    best = ranked[0]
    published_prediction = next((prediction for prediction in ranked if prediction.choice == published), None)
    excess = None if published_prediction is None else published_prediction.product / best.product - 1
    conversion = best.conversion_picojoules / best.picojoules
    return Workload(
        row.name, kernel, published, best.choice, excess, best.cycles, best.picojoules, conversion
    )


def _size(row: Row, parameters: SageParameters) -> Size:
    """Compare sizes; formats that enumerate all positions do not depend on the order of the tensor."""
    kernel = next(iter(row.picks))
    formats = problem(kernel, row.statistics).mcfs[0]
    sizes = {name: row.statistics.bits(parameters.format(name), parameters.bits) for name in formats}
    published, smallest = row.first.mcf[0], min(sizes, key=sizes.__getitem__)
    return Size(row.name, published, smallest, sizes[published] / sizes[smallest] - 1)


def _ratios(matrices: Sequence[Row], parameters: SageParameters) -> list[Ratio]:
    problems = [problem(kernel, row.statistics) for row in matrices for kernel in row.picks]
    bests = {
        name: [find_best(system, case, parameters) for case in problems]
        for name, system in load_systems().items()
    }
    return [_ratio(name, bests[name], bests[OURS]) for name in bests]


def _ratio(name: str, theirs: Sequence[Prediction], ours: Sequence[Prediction]) -> Ratio:
    ratios = [system.product / base.product for system, base in zip(theirs, ours, strict=True)]
    mean = exp(sum(map(log, ratios)) / len(ratios))
    published = load_systems()[name].published
    return Ratio(
        name,
        mean,
        min(ratios),
        max(ratios),
        published.mean if published else None,
        published.greatest if published else None,
    )


def compare_with_simulation(parameters: SageParameters) -> list[SimulatedCycles]:
    """Return predicted and simulated cycles of a small weight-stationary array.

    Operands are uniformly random. The array has 16 PEs with buffers of 32 words, and matches as the machine
    does.

    Args:
        parameters: the parameters of SAGE, whose array is replaced.
    """
    array = parameters.array.model_copy(update=SMALL_ARRAY)
    small = parameters.model_copy(update={"array": array})
    formats = product(("dense", "csr", "coo", "csc"), ("dense", "csc"))
    return [_simulate_product(density, acf, small) for density, acf in product(DENSITIES, formats)]


def _simulate_product(density: float, acf: tuple[str, str], parameters: SageParameters) -> SimulatedCycles:
    """Predict and simulate the cycles of one product of random matrices."""
    a, b = (
        uniform(*shape, round(density * shape[0] * shape[1]), seed)
        for seed, shape in enumerate(((ROWS, DEPTH), (DEPTH, COLUMNS)))
    )
    product_problem = problem(
        "spgemm", *(Statistics(name, matrix.shape, matrix.nnz) for name, matrix in (("A", a), ("B", b)))
    )
    array = parameters.array
    settings = {
        "acf.a": acf[0],
        "acf.b": acf[1],
        "pe.count": array.elements,
        "pe.buffer": array.buffer,
        "pe.comparators": array.comparators,
        "bus.words": array.bus,
        "match": parameters.match_cost,
    }
    report = simulate_to_end("weight_stationary", a, b, settings=settings)
    return SimulatedCycles(density, acf, compute(product_problem, *acf, parameters).cycles, report.cycles)


def study(workloads: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """Return SAGE's choices and gains compared with the paper's, as data and as tables."""
    if options["parts"]:
        raise InputError("--part: sage has no parts")
    comparison = compare(workloads, load_sage_parameters(options["settings"]))
    tables = [
        _picks_table(comparison.workloads),
        _sizes_table(comparison.sizes),
        _ratios_table(comparison.ratios),
        _simulated_table(comparison.simulated),
    ]
    return asdict(comparison), [table for table in tables if table.rows]


def _picks_table(workloads: Sequence[Workload]) -> Table:
    same = [
        sum(getattr(workload.ours, name) == getattr(workload.published, name) for workload in workloads)
        for name in ("mcf_a", "mcf_b", "acf_a", "acf_b")
    ]
    counts = ", ".join(
        f"{format_} {count}" for format_, count in zip(("MCFt", "MCFf", "ACFt", "ACFf"), same, strict=True)
    )
    title = f"Table III: formats MCFt-MCFf / ACFt-ACFf; of {len(workloads)} the same: {counts}"
    columns = ("Workload", "Kernel", "Published", "Here", "EDP of the published", "mJ", "Conversion")
    table = Table(title, columns, labels=4)
    for workload in workloads:
        table.add(
            workload.name,
            workload.kernel,
            str(workload.published),
            "the same" if workload.ours == workload.published else str(workload.ours),
            "" if workload.excess is None else format_percent(workload.excess),
            f"{workload.picojoules / 1e9:,.3g}",
            f"{workload.conversion:.3%}",
        )
    mean = sum(workload.conversion for workload in workloads) / max(1, len(workloads))
    table.add("mean", "", "0.023% (published)", "", "", "", f"{mean:.3%}")
    return table


def _sizes_table(sizes: Sequence[Size]) -> Table:
    same = sum(size.smallest == size.published for size in sizes)
    title = f"Sizes alone: {same} of {len(sizes)} as published"
    table = Table(title, ("Workload", "Published", "Smallest", "Bits of the published"), labels=3)
    for size in sizes:
        table.add(size.name, size.published, size.smallest, f"{size.excess:+.2%}")
    return table


def _ratios_table(ratios: Sequence[Ratio]) -> Table:
    title = "Fig. 13: energy-delay product over this work's, SpGEMM and SpMM of the matrices above"
    columns = ("Class", "Geometric mean", "Published", "Error", "Least", "Greatest", "Greatest published")
    table = Table(title, columns)
    for ratio in ratios:
        table.add(
            ratio.system,
            f"{ratio.mean:.2f}",
            _number(ratio.published_mean),
            "" if ratio.published_mean is None else format_percent(ratio.mean / ratio.published_mean - 1),
            f"{ratio.least:.3f}",
            f"{ratio.greatest:.2f}",
            _number(ratio.published_greatest),
        )
    return table


def _simulated_table(cases: Sequence[SimulatedCycles]) -> Table:
    title = "Cycles of a small weight-stationary array (csc_match=beat, row_match=0)"
    table = Table(title, ("Density", "ACF A-B", "Predicted", "Simulated", "Error"), labels=2)
    for case in cases:
        predicted, measured = f"{case.predicted:,.0f}", f"{case.simulated:,}"
        table.add(f"{case.density:g}", "-".join(case.acf), predicted, measured, format_percent(case.error))
    return table


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
