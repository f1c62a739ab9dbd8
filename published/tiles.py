"""Ways to tile beside one another: what they move by the meter, and what ExTensor makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp, inf, log
from typing import Any

import numpy as np

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.explore.tables import simulate_to_end
from fiberscope.models.tiles.baselines.drt import drt
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

__all__ = ["LARGEST", "MATRICES", "PUBLISHED", "NotRun", "Ran", "Words", "ran", "study", "words"]

CAPACITY = 33_027  # words: of a dense tile of 128 x 128 (D2T2, Section 6.1)
KERNEL = ("C[i,j] = A[i,k] * B[k,j]", "ikj")
VARIANTS = {  # of D2T2: beside the paper's, what docs/d2t2.md calls counted, and growing in sums
    "d2t2": {},
    "counted": {"model": "counted"},
    "counted, grown": {"model": "counted", "grow": "contracted"},
}
PUBLISHED = "published"
TILINGS = (PUBLISHED, "conservative", "prescient", "d2t2", "d2t2-counted")
LIMIT = 10  # times the cycles with published tiles, after which a run ends: it has lost
LARGEST = 100_000  # nonzeros; what has more runs only where it is named, for its minutes
SMALL_LLB = "2 MiB"  # for the small matrices that are drawn


def _blocks() -> Any:  # noqa: ANN401 - a matrix of scipy
    """Dense blocks of 16 x 16 on the diagonal, as of finite elements."""
    return sparse.kron(sparse.eye_array(240), np.ones((16, 16)), format="csr")


def _arrow() -> Any:  # noqa: ANN401 - a matrix of scipy
    """A full first row, a full first column and the diagonal."""
    size = 1000
    places = np.arange(size)
    rows, columns = (
        np.concatenate(each) for each in ((places, 0 * places, places), (places, places, 0 * places))
    )
    return sparse.csr_array((np.ones(3 * size), (rows, columns)), shape=(size, size))


_DRAWN: Mapping[str, Callable[[], Any]] = {"blocks on the diagonal": _blocks, "arrow": _arrow}
_SPECIFIED = {
    "band of 2": "banded:rows=4096,cols=4096,nonzeros=16000,bandwidth=2,seed=1",
    "power law": "chung-lu:rows=4096,cols=4096,nonzeros=40000,exponent=2.1,seed=1",
    "uniform": "uniform:rows=4096,cols=4096,nonzeros=40000,seed=1",
}
MATRICES = ("wiki-Vote", "p2p-Gnutella31", *_SPECIFIED, *_DRAWN)


@dataclass(frozen=True)
class Words:
    """What ways to tile A times its transpose move, by the meter.

    Args:
        matrix: its name.
        source: ``real``, ``surrogate``, ``generated`` or from ``memory``.
        totals: words of all tensors, by method.
    """

    matrix: str
    source: str
    totals: Mapping[str, int]


@dataclass(frozen=True)
class Ran:
    """ExTensor on A times A with one way to tile.

    Args:
        matrix, source: as of ``Words``.
        buffer: size of the last-level buffer.
        tiling: the parameter.
        tile: the shape that was run, in microtiles of 128 x 128.
        cycles: of the event simulation, memory at its peak.
        trace_cycles: of the trace model.
        traffic: bytes by tensor, of the event simulation.
        complete: whether it ran to its end, and was not ended at ``LIMIT`` times the published tiles' cycles.
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
class NotRun:
    """ExTensor did not run a matrix with one way to tile.

    Args:
        matrix, source, tiling: as of ``Ran``.
        reason: what has no room, and where, as the machine says it; or how large the matrix is.
    """

    matrix: str
    source: str
    tiling: str
    reason: str


def words(names: Sequence[str], tell: Callable[[str], None]) -> Iterator[Words]:
    """The meter's counts of each matrix times its transpose, all methods beside one another."""
    for name in names:
        tell(f"{name}: words")
        found = _loaded(name)
        yield Words(name, found.source, _totals(SparseTensor.from_matrix(found.matrix)))


def _totals(a: SparseTensor) -> dict[str, int]:
    kernel, tensors = Kernel.read(*KERNEL), {"A": a, "B": a.transposed((1, 0))}
    made = plan(kernel, tensors, CAPACITY, methods=Methods(("prescient", "tailors")))
    totals = {name: one.total for name, one in made.measured.items() if name != "d2t2"}
    totals["drt"] = drt(a, tensors["B"], CAPACITY).words()["total"]

    def judge(shape: Mapping[str, int]) -> float:
        return measure(kernel, tensors, shape).total

    for name, settings in VARIANTS.items():
        options = Options.model_validate(settings)
        totals[name] = int(judge(optimise(kernel, tensors, CAPACITY, options, made.statistics, judge).shape))
    return totals


def ran(names: Sequence[str], tell: Callable[[str], None], largest: float = inf) -> Iterator[Ran | NotRun]:
    """ExTensor on each matrix of at most ``largest`` nonzeros with each of its tilings.

    Those drawn here have a smaller buffer.
    """
    for name in names:
        found = _loaded(name)
        if found.matrix.nnz > largest:
            reason = f"not run: {found.matrix.nnz:,} nonzeros; name the matrix to run it"
            yield from (NotRun(name, found.source, tiling, reason) for tiling in TILINGS)
            continue
        settings = {} if found.source in ("real", "surrogate") else {"llb.size": SMALL_LLB}
        limit = None
        for tiling in TILINGS:
            tell(f"{name}: ExTensor, {tiling}")
            yield (ran := _run(name, found, {**settings, "tiling": tiling}, limit))
            if tiling == PUBLISHED and isinstance(ran, Ran):
                limit = LIMIT * ran.cycles


def _run(name: str, found: Workload, settings: Mapping[str, str], limit: int | None) -> Ran | NotRun:
    try:
        report = simulate_to_end(
            "extensor", found, settings={**settings, "memory.model": "simple"}, cycle_limit=limit
        )
        trace = refuse_interrupted(model("extensor", found, settings=settings))
    except (ConfigurationError, InputError, WorkloadError) as error:
        return NotRun(name, found.source, settings["tiling"], str(error))
    m, k, n = report.config["tile"].values()
    moved = {tensor: one.moved_bytes for tensor, one in report.traffic.items()}
    buffer = report.config["llb"]["size"]
    counts = (report.cycles, trace.cycles, moved, bool(report.complete))
    return Ran(name, found.source, buffer, settings["tiling"], (m, k, n), *counts)


def _loaded(name: str) -> Workload:
    """A matrix of those that are compared, or any other that can be loaded."""
    if name in _DRAWN:
        return from_scipy(_DRAWN[name](), name)
    return load(_SPECIFIED.get(name, name))


def study(matrices: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """Return words by the meter, and ExTensor's cycles and traffic, as data and as tables."""
    tell = options["tell"]
    moved = list(words(matrices or MATRICES, tell))
    runs = list(ran(matrices, tell) if matrices else ran(MATRICES, tell, LARGEST))
    data = {"words": [asdict(row) for row in moved], "runs": [asdict(row) for row in runs]}
    return data, [_words_table(moved), _runs_table(runs)]


def _words_table(moved: Sequence[Words]) -> Table:
    methods = list(moved[0].totals)
    title = (
        "A times its transpose, words by the meter; buffers of 33,027 words; below, gains over Conservative"
    )
    table = Table(title, ("Matrix", *methods))
    for one in moved:
        table.add(_name(one), *(f"{total:,}" for total in one.totals.values()))
    for label, mean in (("geometric mean", _geometric), ("arithmetic mean", _arithmetic)):
        gains = {each: [one.totals["conservative"] / one.totals[each] for one in moved] for each in methods}
        table.add(label, *(f"{mean(gains[each]):.2f} x" for each in methods))
    return table


def _runs_table(runs: Sequence[Ran | NotRun]) -> Table:
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
    published = {one.matrix: one.cycles for one in runs if isinstance(one, Ran) and one.tiling == PUBLISHED}
    for one in runs:
        table.add(*(_row(one, published.get(one.matrix)) if isinstance(one, Ran) else _reason(one)))
    return table


def _row(one: Ran, published: int | None) -> list[str]:
    gain = "" if published is None else f"{published / one.cycles:.2f} x"
    return [
        f"{_name(one)}, {one.buffer}",
        one.tiling,
        " x ".join(map(str, one.tile)),
        f"{'' if one.complete else 'not finished in '}{one.cycles:,}",
        gain if one.complete else f"below {gain}",
        f"{one.trace_cycles:,}",
        *(f"{one.traffic[tensor]:,}" if one.complete else "" for tensor in ("A", "B", "PO", "Z")),
    ]


def _reason(one: NotRun) -> list[str]:
    """A row that has the reason instead of numbers."""
    return [_name(one), one.tiling, "", one.reason, *[""] * 6]


def _name(one: Words | Ran | NotRun) -> str:
    return f"{one.matrix} (SURROGATE)" if one.source == "surrogate" else one.matrix


def _geometric(gains: Sequence[float]) -> float:
    return exp(_arithmetic([log(gain) for gain in gains]))


def _arithmetic(gains: Sequence[float]) -> float:
    return sum(gains) / len(gains)
