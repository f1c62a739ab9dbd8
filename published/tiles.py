"""Comparison of tiling methods: words moved by the traffic meter, and ExTensor's cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp, inf, log
from typing import Any

import numpy as np

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.explore.tables import simulate_to_end
from fiberscope.models.tiles.base import Shape
from fiberscope.models.tiles.baselines.drt import grow_dynamic_tiles
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.measure import measure
from fiberscope.models.tiles.optimise import optimise
from fiberscope.models.tiles.options import Options
from fiberscope.models.tiles.plan import Methods, plan
from fiberscope.models.trace.api import model
from fiberscope.results.errors import refuse_interrupted
from fiberscope.results.report.table import Table
from fiberscope.workloads import Workload, WorkloadError, from_scipy, load
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.tensor import SparseTensor

CAPACITY = 33_027  # words of a dense tile of 128 x 128 (D2T2, Section 6.1)
KERNEL = ("C[i,j] = A[i,k] * B[k,j]", "ikj")
VARIANTS = {  # of D2T2: the paper's, the model ``counted`` of docs/d2t2.md, and with tiles grown in sums
    "d2t2": {},
    "counted": {"model": "counted"},
    "counted, grown": {"model": "counted", "grow": "contracted"},
}
PUBLISHED = "published"
TILINGS = (PUBLISHED, "conservative", "prescient", "d2t2", "d2t2-counted")
CYCLE_FACTOR = 10  # multiple of the cycles with published tiles at which a run is stopped
MAX_NONZEROS = 100_000  # nonzeros; larger matrices take minutes and run only by name
SMALL_LLB = "2 MiB"  # for generated matrices


def _blocks() -> Any:  # noqa: ANN401 - a matrix of scipy
    """Return dense blocks of 16 x 16 on the diagonal, as in finite elements."""
    return sparse.kron(sparse.eye_array(240), np.ones((16, 16)), format="csr")


def _arrow() -> Any:  # noqa: ANN401 - a matrix of scipy
    """Return a matrix with a full first row, a full first column and the diagonal."""
    size = 1000
    indices = np.arange(size)
    rows, columns = (
        np.concatenate(vectors)
        for vectors in ((indices, 0 * indices, indices), (indices, indices, 0 * indices))
    )
    return sparse.csr_array((np.ones(3 * size), (rows, columns)), shape=(size, size))


_BUILDERS: Mapping[str, Callable[[], Any]] = {"blocks on the diagonal": _blocks, "arrow": _arrow}
_GENERATORS = {
    "band of 2": "banded:rows=4096,cols=4096,nonzeros=16000,bandwidth=2,seed=1",
    "power law": "chung-lu:rows=4096,cols=4096,nonzeros=40000,exponent=2.1,seed=1",
    "uniform": "uniform:rows=4096,cols=4096,nonzeros=40000,seed=1",
}
MATRICES = ("wiki-Vote", "p2p-Gnutella31", *_GENERATORS, *_BUILDERS)


@dataclass(frozen=True)
class MovedWords:
    """Words that tiling methods move for A times its transpose, by the traffic meter.

    Args:
        matrix: the name of the matrix.
        source: ``real``, ``surrogate``, ``generated`` or from ``memory``.
        totals: words of all tensors, by method.
    """

    matrix: str
    source: str
    totals: Mapping[str, int]


@dataclass(frozen=True)
class TiledRun:
    """A run of ExTensor on A times A with one tiling method.

    Args:
        matrix, source: as for ``MovedWords``.
        buffer: size of the last-level buffer.
        tiling: the parameter.
        tile: the shape of the tiles, in microtiles of 128 x 128.
        cycles: cycles of the event simulation, with memory at its peak.
        trace_cycles: cycles of the trace model.
        traffic: bytes by tensor, of the event simulation.
        complete: whether the run finished before ``CYCLE_FACTOR`` times the published tiles' cycles.
    """

    matrix: str
    source: str
    buffer: str
    tiling: str
    tile: tuple[int, int, int]
    cycles: int
    trace_cycles: int
    traffic: Mapping[str, int]
    complete: bool


@dataclass(frozen=True)
class Skipped:
    """A matrix and tiling method without a run of ExTensor.

    Args:
        matrix, source, tiling: as for ``TiledRun``.
        reason: the machine's error, or the size of the matrix.
    """

    matrix: str
    source: str
    tiling: str
    reason: str


def count_words(names: Sequence[str], tell: Callable[[str], None]) -> Iterator[MovedWords]:
    """Yield the meter's counts of each matrix times its transpose, for all methods."""
    for name in names:
        tell(f"{name}: words")
        workload = _load_matrix(name)
        yield MovedWords(name, workload.source, _totals(SparseTensor.from_matrix(workload.matrix)))


def _totals(a: SparseTensor) -> dict[str, int]:
    """Return the words that each tiling method moves for A times B, where B is the transpose of A."""
    kernel, tensors = Kernel.read(*KERNEL), {"A": a, "B": a.transposed((1, 0))}
    tile_plan = plan(kernel, tensors, CAPACITY, methods=Methods(("prescient", "tailors")))
    totals = {name: traffic.total for name, traffic in tile_plan.measured.items() if name != "d2t2"}
    totals["drt"] = grow_dynamic_tiles(a, tensors["B"], CAPACITY).count_words_by_operand()["total"]

    def measure_words(shape: Shape, packed: Shape | None) -> float:
        return measure(kernel, tensors, shape, base=packed).total

    for name, settings in VARIANTS.items():
        options = Options.model_validate(settings)
        scheme = optimise(kernel, tensors, CAPACITY, options, tile_plan.statistics, measure_words)
        totals[name] = int(measure_words(scheme.shape, scheme.packed))
    return totals


def run_extensor(
    names: Sequence[str], tell: Callable[[str], None], max_nonzeros: float = inf
) -> Iterator[TiledRun | Skipped]:
    """Yield runs of ExTensor on matrices with each tiling method.

    Generated matrices, and matrices of ``_BUILDERS``, use a smaller buffer.

    Args:
        names: the matrices.
        tell: called with a line about each run before its start.
        max_nonzeros: maximum number of nonzeros; a larger matrix has a ``Skipped`` for each method.
    """
    for name in names:
        workload = _load_matrix(name)
        if workload.matrix.nnz > max_nonzeros:
            reason = f"not run: {workload.matrix.nnz:,} nonzeros; name the matrix to run it"
            yield from (Skipped(name, workload.source, tiling, reason) for tiling in TILINGS)
            continue
        settings = {} if workload.source in ("real", "surrogate") else {"llb.size": SMALL_LLB}
        limit = None
        for tiling in TILINGS:
            tell(f"{name}: ExTensor, {tiling}")
            yield (run := _run(name, workload, {**settings, "tiling": tiling}, limit))
            if tiling == PUBLISHED and isinstance(run, TiledRun):
                limit = CYCLE_FACTOR * run.cycles


def _run(name: str, workload: Workload, settings: Mapping[str, str], limit: int | None) -> TiledRun | Skipped:
    """Run ExTensor and the trace model with one tiling method, up to a cycle limit."""
    try:
        report = simulate_to_end(
            "extensor", workload, settings={**settings, "memory.model": "simple"}, cycle_limit=limit
        )
        trace = refuse_interrupted(model("extensor", workload, settings=settings))
    except (ConfigurationError, InputError, WorkloadError) as error:
        return Skipped(name, workload.source, settings["tiling"], str(error))
    m, k, n = report.config["tile"].values()
    moved_bytes = {tensor: tensor_traffic.moved_bytes for tensor, tensor_traffic in report.traffic.items()}
    buffer = report.config["llb"]["size"]
    counts = (report.cycles, trace.cycles, moved_bytes, bool(report.complete))
    return TiledRun(name, workload.source, buffer, settings["tiling"], (m, k, n), *counts)


def _load_matrix(name: str) -> Workload:
    """Load a matrix of the comparison, or any other matrix."""
    if name in _BUILDERS:
        return from_scipy(_BUILDERS[name](), name)
    return load(_GENERATORS.get(name, name))


def study(matrices: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """Return words by the meter, and ExTensor's cycles and traffic, as data and as tables."""
    tell = options["tell"]
    word_rows = list(count_words(matrices or MATRICES, tell))
    runs = list(run_extensor(matrices, tell) if matrices else run_extensor(MATRICES, tell, MAX_NONZEROS))
    data = {"words": [asdict(row) for row in word_rows], "runs": [asdict(row) for row in runs]}
    return data, [_words_table(word_rows), _runs_table(runs)]


def _words_table(rows: Sequence[MovedWords]) -> Table:
    """Return the words by matrix and method, and the mean gains over Conservative."""
    methods = list(rows[0].totals)
    title = (
        "A times its transpose, words by the meter; buffers of 33,027 words; below, gains over Conservative"
    )
    table = Table(title, ("Matrix", *methods))
    for row in rows:
        table.add(_name(row), *(f"{total:,}" for total in row.totals.values()))
    for label, mean in (("geometric mean", _geometric), ("arithmetic mean", _arithmetic)):
        gains = {
            method: [row.totals["conservative"] / row.totals[method] for row in rows] for method in methods
        }
        table.add(label, *(f"{mean(gains[method]):.2f} x" for method in methods))
    return table


def _runs_table(runs: Sequence[TiledRun | Skipped]) -> Table:
    """Return a row for each run, with cycles relative to the published tiles."""
    columns = (
        "Matrix, buffer",
        "Tiling",
        "Tile",
        "Cycles",
        "Against published",
        "Trace",
        "A",
        "B",
        "PO",
        "Z",
    )
    table = Table("ExTensor on A times A, memory at its peak; traffic in bytes", columns, labels=2)
    published = {
        run.matrix: run.cycles for run in runs if isinstance(run, TiledRun) and run.tiling == PUBLISHED
    }
    for run in runs:
        table.add(*(_row(run, published.get(run.matrix)) if isinstance(run, TiledRun) else _skipped_row(run)))
    return table


def _row(run: TiledRun, published: int | None) -> list[str]:
    gain = "" if published is None else f"{published / run.cycles:.2f} x"
    return [
        f"{_name(run)}, {run.buffer}",
        run.tiling,
        " x ".join(map(str, run.tile)),
        f"{'' if run.complete else 'not finished in '}{run.cycles:,}",
        gain if run.complete else f"below {gain}",
        f"{run.trace_cycles:,}",
        *(f"{run.traffic[tensor]:,}" if run.complete else "" for tensor in ("A", "B", "PO", "Z")),
    ]


def _skipped_row(run: Skipped) -> list[str]:
    """Return a row with the reason in place of numbers."""
    return [_name(run), run.tiling, "", run.reason, *[""] * 6]


def _name(row: MovedWords | TiledRun | Skipped) -> str:
    return f"{row.matrix} (SURROGATE)" if row.source == "surrogate" else row.matrix


def _geometric(gains: Sequence[float]) -> float:
    return exp(_arithmetic([log(gain) for gain in gains]))


def _arithmetic(gains: Sequence[float]) -> float:
    return sum(gains) / len(gains)
