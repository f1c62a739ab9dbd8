"""The experiments of the SAM paper, figures 11 to 15, run anew, and what its text claims of them.

The figures print no numbers, so what can be compared is the order and the shape of what they show; of figure
15 the repository has the cycles. The tensors are those of the artifact, drawn number by number
(``published.py``), but for figure 15, whose matrices are any with as many nonzeros. Figure 14's are of the
SuiteSparse collection; those given stand in for them.

Source: O. Hsu et al., "The Sparse Abstract Machine", ASPLOS 2023, Section 6 and its artifact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.compiler.compile import compile_expression
from fiberscope.models.graphs.execution import run
from fiberscope.models.graphs.netlist import Graph
from fiberscope.results.report.table import Table
from fiberscope.workloads import load
from fiberscope.workloads.errors import nearest
from published.figures import Figure

__all__ = [
    "FIGURES",
    "GRAPHS",
    "SIDES",
    "TILED",
    "Claim",
    "Measured",
    "as_figures",
    "claim_table",
    "experiments",
    "study",
    "tiled_product",
]

GRAPHS = Path(__file__).parents[1] / "examples" / "graphs"
ORDERS = ("ijk", "jik", "ikj", "jki", "kij", "kji")
FORMATS = ("dense", "crd", "skip", "split", "bv", "bittree")
SPARSITIES = ("0.99375", "0.9875", "0.975", "0.95", "0.9", "0.8", "0.6", "0.2")
LENGTHS = (1, 2, 5, 10, 20, 30, 40, 50, 75, 100, 200, 300, 400)
B = "sam-random:shape=250x100,sparsity=0.95,seed=0"
C = "sam-random:shape=100x250,sparsity=0.95,seed=1"
IDENTITIES = ("wiki-Vote",)
TILE_MEMORY = "ideal tile memory"
SIDES = (1024, 2360, 3696, 6368, 9040, 11712, 13048, 15720)
# Figure 15: cycles by nonzeros, for each side. From github.com/weiya711/sam: nnz_5_10_25.csv (b27c9d9d) and
# nnz_25k_50k.csv (a2ca5b73).
TILED = {
    5_000: (1_814_538, 1_383_573, 1_157_015, 1_114_652, 1_071_612, 1_005_660, 962_676, 862_784),
    10_000: (4_258_684, 4_646_990, 3_747_142, 3_154_137, 3_152_324, 3_116_116, 3_038_082, 2_914_874),
    25_000: (7_687_641, 20_145_061, 18_518_335, 14_219_414, 12_640_989, 12_353_270, 12_367_711, 12_382_122),
    50_000: (8_427_632, 48_873_644, 57_485_155, 47_753_918, 40_112_559, 36_511_878, 35_514_324, 34_943_595),
}


@dataclass(frozen=True)
class Measured:
    """The cycles of one graph on one input, verified, and those published if any are."""

    figure: str
    input: str
    graph: str
    cycles: int
    published: int | None = None


@dataclass(frozen=True)
class Claim:
    """A claim of the paper's text about a figure, beside the measured numbers.

    Args:
        figure: number of the figure.
        text: the claim.
        measured: the numbers that decide.
        criterion: what these numbers must be.
        holds: whether they are.
    """

    figure: str
    text: str
    measured: str
    criterion: str
    holds: bool


def experiments(figures: Sequence[str], tell: Callable[[str], None]) -> tuple[list[Measured], list[Claim]]:
    """Run figures, all by default.

    Raises:
        InputError: there is no such figure here, or the example graphs are not there.
    """
    if not GRAPHS.is_dir():
        raise InputError(
            f"the graphs of the experiments are in examples/graphs of the sources, not in {GRAPHS}"
        )
    for figure in figures:
        if figure not in FIGURES:
            raise InputError(f"there is no figure {figure}; {nearest(figure, FIGURES)}")
    measured, claims = [], []
    for figure in figures or FIGURES:
        runs, said = FIGURES[figure](tell)
        measured += runs
        claims += said
    return measured, claims


def _cycles(graph: Graph | Path, tensors: Mapping[str, object]) -> int:
    return run(graph, tensors, {"timing": "sam"}).cycles


def _measure(
    figure: str, told: str, graphs: Sequence[str], tensors: Mapping[str, object], tell: Callable[[str], None]
) -> list[Measured]:
    tell(f"figure {figure}: {told}")
    return [
        Measured(figure, told, graph, _cycles(GRAPHS / f"fig{figure}_{graph}.gv", tensors))
        for graph in graphs
    ]


def _figure_11(tell: Callable[[str], None]) -> tuple[list[Measured], list[Claim]]:
    graphs = ("coiterate", "locate", "unfused")
    runs: list[Measured] = []
    for k in (1, 10, 100):
        tensors = {"B": B, "C": f"ones:shape=250x{k}", "D": "ones"}
        runs += _measure("11", f"K = {k}", graphs, tensors, tell)
    by_k = [{one.graph: one.cycles for one in runs if one.input == f"K = {k}"} for k in (1, 10, 100)]
    worse = [one["unfused"] / one["coiterate"] for one in by_k]
    better = [one["coiterate"] / one["locate"] for one in by_k]
    return runs, [
        Claim(
            "11",
            "unfused is far worse than fused (co-iteration)",
            f"{min(worse):.1f} to {max(worse):.1f} times the cycles, K from 1 to 100",
            "over 2 for each K",
            min(worse) > 2,
        ),
        Claim(
            "11",
            "locate is faster than co-iteration for small K",
            f"{better[0]:.2f} times as fast at K = 1",
            "over 1.1",
            better[0] > 1.1,
        ),
        Claim(
            "11",
            "locate is as fast as co-iteration for large K",
            f"{better[2]:.2f} times as fast at K = 100",
            "below 1.1",
            better[2] < 1.1,
        ),
    ]


def _figure_12(tell: Callable[[str], None]) -> tuple[list[Measured], list[Claim]]:
    runs = _measure("12", "250 x 100 by 100 x 250", ORDERS, {"B": B, "C": C}, tell)
    cycles = {one.graph: one.cycles for one in runs}
    ratio = min(cycles["ijk"], cycles["jik"]) / max(cycles[order] for order in ORDERS[2:])
    text = "ijk and jik are an order of magnitude slower than the other orders"
    measured = f"the faster of the two takes {ratio:.1f} times the cycles of the slowest other order"
    return runs, [Claim("12", text, measured, "at least 10", ratio >= 10)]


def _figure_13(tell: Callable[[str], None]) -> tuple[list[Measured], list[Claim]]:
    runs: list[Measured] = []
    for count in range(1, len(SPARSITIES) + 1):
        drawn = f"sam-random:shape=2000,sparsity={'/'.join(SPARSITIES[:count])}"
        tensors = {"b": f"{drawn},seed=0", "c": f"{drawn},seed=1"}
        runs += _measure("13", f"random, sparsity {SPARSITIES[count - 1]}", FORMATS, tensors, tell)
    for kind in ("runs", "blocks"):
        for length in LENGTHS:
            pair = {name: f"sam-{kind}:length={length},operand={1 + n}" for n, name in enumerate("bc")}
            runs += _measure("13", f"{kind} of {length}", FORMATS, pair, tell)
    return runs, _claims_of_13({(one.input, one.graph): one.cycles for one in runs})


def _claims_of_13(cycles: Mapping[tuple[str, str], int]) -> list[Claim]:
    randoms = [f"random, sparsity {sparsity}" for sparsity in SPARSITIES]
    sparse, tenth, full = (cycles[randoms[n], "bv"] / cycles[randoms[n], "crd"] for n in (0, 4, -1))
    skips = mean(cycles[one, "skip"] / cycles[one, "crd"] for one in randoms)
    names = ("crd", "skip", "split", "bv")
    gains = {name: cycles["runs of 100", name] / cycles["runs of 1", name] for name in names}
    blocks = cycles["blocks of 100", "bv"] / cycles["blocks of 1", "bv"]
    return [
        Claim(
            "13",
            "compressed levels become faster than bit vectors as sparsity grows",
            f"bit vectors take {tenth:.2f} times the cycles of compressed levels at sparsity 0.9, "
            f"{sparse:.2f} at 0.99375 ({full:.2f} at 0.2)",
            "over 1 at 0.99375, and more there than at 0.9",
            sparse > max(1, tenth),
        ),
        Claim(
            "13",
            "skipping gains nothing on random vectors",
            f"{skips:.3f} times the cycles of compressed levels, mean of eight sparsities",
            "over 0.95",
            skips > 0.95,
        ),
        Claim(
            "13",
            "skipping and splitting gain more on longer runs of nonzeros",
            f"cycles with runs of 100 nonzeros, divided by cycles with runs of 1: skip {gains['skip']:.2f}, "
            f"split {gains['split']:.2f}, compressed {gains['crd']:.2f}",
            "skip and split below compressed",
            max(gains["skip"], gains["split"]) < gains["crd"],
        ),
        Claim(
            "13",
            "bit vectors do not depend on the length of runs and blocks",
            f"cycles at length 100, divided by cycles at length 1: runs {gains['bv']:.2f}, "
            f"blocks {blocks:.2f}",
            "between 0.5 and 1.5, a wide range",
            max(abs(gains["bv"] - 1), abs(blocks - 1)) < 0.5,
        ),
    ]


def _figure_14(tell: Callable[[str], None]) -> tuple[list[Measured], list[Claim]]:
    runs, claims = [], []
    for name in IDENTITIES:
        runs += _measure("14", name, ("identity",), {"B": name}, tell)
        matrix = load(name).matrix
        rows = int((matrix.indptr[1:] > matrix.indptr[:-1]).sum())
        form = int(matrix.nnz) + rows + 4
        measured = f"{runs[-1].cycles:,} cycles; the sum is {form:,}"
        text = f"cycles are nonzeros + non-empty rows + 4 ({name})"
        claims.append(Claim("14", text, measured, "equal", runs[-1].cycles == form))
    return runs, claims


def tiled_product() -> Graph:
    """Products of tiles one after the other, each in the order ikj; sums of tiles are not added up."""
    text, formats = "X(a,b,c,i,j) = B(a,b,i,k) * C(b,c,k,j)", "X:sssss,B:ssss,C:ssss"
    return compile_expression(text, formats, "a,b,c,i,k,j").graph


def _figure_15(tell: Callable[[str], None]) -> tuple[list[Measured], list[Claim]]:
    graph, runs = tiled_product(), []
    for nonzeros, published in TILED.items():
        for side, theirs in zip(SIDES, published, strict=True):
            told, drawn = (
                f"{nonzeros:,} nonzeros, side {side:,}",
                f"sam-tiles:side={side},nonzeros={nonzeros}",
            )
            tell(f"figure 15: {told}")
            cycles = _cycles(graph, {name: f"{drawn},operand={1 + n}" for n, name in enumerate("BC")})
            runs.append(Measured("15", told, "tiles", cycles, theirs))
    return runs, [_claim_of_15([one.cycles for one in runs[-len(SIDES) :]])]


def _claim_of_15(cycles: Sequence[int]) -> Claim:
    """Of the most nonzeros, by side."""
    peak = max(cycles)
    told = f"{cycles[0]:,} to {peak:,} to {cycles[-1]:,} with 50,000 nonzeros"
    criterion = "the largest is neither at the first nor at the last side"
    return Claim("15", "cycles rise with the side, then fall", told, criterion, cycles[0] < peak > cycles[-1])


FIGURES: Mapping[str, Callable[[Callable[[str], None]], tuple[list[Measured], list[Claim]]]] = {
    "11": _figure_11,
    "12": _figure_12,
    "13": _figure_13,
    "14": _figure_14,
    "15": _figure_15,
}


def as_figures(runs: Iterable[Measured]) -> list[Figure]:
    """Return those runs that have published cycles."""
    return [
        Figure("sam", "cycles", f"Fig. {row.figure}, {row.input}", row.published, row.cycles, TILE_MEMORY)
        for row in runs
        if row.published is not None
    ]


def study(figures: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """Return the cycles of each figure, a row an input and a column a graph, and the claims."""
    runs, claims = experiments(figures, options["tell"])
    tables = [
        _cycle_table(figure, [row for row in runs if row.figure == figure])
        for figure in dict.fromkeys(row.figure for row in runs)
    ]
    data = [asdict(row) for row in runs] + [asdict(claim) for claim in claims]
    return data, [*tables, claim_table("Claims of the text", claims)]


def _cycle_table(figure: str, runs: Sequence[Measured]) -> Table:
    graphs = list(dict.fromkeys(row.graph for row in runs))
    published = {row.input: row.published for row in runs if row.published is not None}
    table = Table(f"Figure {figure}: cycles", ("input", *graphs, *(("published",) if published else ())))
    for name in dict.fromkeys(row.input for row in runs):
        cycles = {row.graph: row.cycles for row in runs if row.input == name}
        theirs = [f"{published[name]:,}"] if published else []
        table.add(name, *(f"{cycles[graph]:,}" for graph in graphs), *theirs)
    return table


def claim_table(title: str, claims: Iterable[Claim]) -> Table:
    """Return a row for each claim."""
    table = Table(title, ("Figure", "Claim", "Measured", "Criterion", "Holds"), labels=5)
    for claim in claims:
        table.add(claim.figure, claim.text, claim.measured, claim.criterion, "yes" if claim.holds else "no")
    return table
