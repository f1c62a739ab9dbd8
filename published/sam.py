"""Experiments of the SAM paper, figures 11 to 15, and the claims of its text.

The figures print no numbers. Therefore the order and shape of their curves are compared. For figure 15, the
repository has the cycles; for figure 14, the text has shares of tokens. The tensors are reproduced exactly as
in the artifact (``published.py``), except for figures 14 and 15, which use random matrices. The matrices of
figure 14 have the published rows, columns and nonzeros, and no empty row, which determines all shares.

Source: O. Hsu et al., "The Sparse Abstract Machine", ASPLOS 2023, Section 6 and its artifact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.compiler.compile import compile_expression
from fiberscope.models.graphs.execution import run
from fiberscope.models.graphs.netlist import Graph
from fiberscope.results.errors import refuse_interrupted
from fiberscope.results.report.table import Table
from fiberscope.workloads import load
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.tensor import SparseTensor
from published.figures import Figure

GRAPHS = Path(__file__).parents[1] / "examples" / "graphs"
ORDERS = ("ijk", "jik", "ikj", "jki", "kij", "kji")
FORMATS = ("dense", "crd", "skip", "split", "bv", "bittree")
SPARSITIES = ("0.99375", "0.9875", "0.975", "0.95", "0.9", "0.8", "0.6", "0.2")
LENGTHS = (1, 2, 5, 10, 20, 30, 40, 50, 75, 100, 200, 300, 400)
B = "sam-random:shape=250x100,sparsity=0.95,seed=0"
C = "sam-random:shape=100x250,sparsity=0.95,seed=1"
IDENTITIES = ("wiki-Vote",)
# Figure 14: rows, columns and nonzeros of the matrices, from Table 3 of the paper.
COMPOSED = {
    "relat3": (8, 5, 24),
    "lpi_itest6": (11, 17, 29),
    "LFAT5": (14, 14, 46),
    "ch4-4-b1": (72, 16, 144),
    "ch7-6-b1": (630, 42, 1_260),
    "bwm2000": (2_000, 2_000, 7_996),
    "G32": (2_000, 2_000, 8_000),
    "progas": (1_650, 1_900, 8_897),
    "lp_maros": (846, 1_966, 10_137),
    "G42": (2_000, 2_000, 23_558),
    "stormg2-27": (14_439, 37_485, 94_274),
    "lp13": (10_828, 33_686, 100_525),
    "nemsem2": (6_943, 48_878, 182_012),
    "r1fdual": (8_052, 74_970, 282_031),
    "rail507": (507, 63_516, 409_856),
}
STAND_INS = "stand-ins"
SHARES = "share of tokens, % of cycles"
SAM_TIMING: Mapping[str, object] = {"timing": "sam"}
TILE_MEMORY = "tile memory"
# Figure 15: memory_config_extensor_17M_llb.yaml of github.com/weiya711/sam. Restarts: the simulator of that
# repository gives the stream of each tile a done token, and starts a block's next tile a cycle after it. The
# number of tiles ahead has no limit there but the capacity.
TILE_SETTINGS: Mapping[str, object] = {
    "timing": "sam",
    "tiles.loops": "a,b,c",
    "tiles.capacity": 17_100_000,
    "tiles.bandwidth": 68.256,
    "tiles.latency": 200,
    "tiles.ahead": 64,
    "tiles.restart": 2,
    "tiles.coordinate_bytes": 2,
    "tiles.value_bytes": 2,
}
RESTARTS = (
    "the restart of two cycles after each tile, read from the source of SAM's simulator after a comparison "
    "with the 32 points"
)
SIDES = (1024, 2360, 3696, 6368, 9040, 11712, 13048, 15720)
# Figure 15: cycles by nonzeros, for each side. From github.com/weiya711/sam: nnz_5_10_25.csv (b27c9d9d) and
# nnz_25k_50k.csv (a2ca5b73).
TILED_CYCLES = {
    5_000: (1_814_538, 1_383_573, 1_157_015, 1_114_652, 1_071_612, 1_005_660, 962_676, 862_784),
    10_000: (4_258_684, 4_646_990, 3_747_142, 3_154_137, 3_152_324, 3_116_116, 3_038_082, 2_914_874),
    25_000: (7_687_641, 20_145_061, 18_518_335, 14_219_414, 12_640_989, 12_353_270, 12_367_711, 12_382_122),
    50_000: (8_427_632, 48_873_644, 57_485_155, 47_753_918, 40_112_559, 36_511_878, 35_514_324, 34_943_595),
}


@dataclass(frozen=True)
class MeasuredCycles:
    """The cycles of a verified graph run on one input, and the published cycles, if any."""

    figure: str
    input: str
    graph: str
    cycles: int
    published: int | None = None


@dataclass(frozen=True)
class Claim:
    """A claim of the paper's text about a figure, with measured numbers.

    Args:
        figure: number of the figure.
        text: the claim.
        measured: the deciding numbers.
        criterion: the condition on these numbers.
        holds: whether the condition holds.
    """

    figure: str
    text: str
    measured: str
    criterion: str
    holds: bool


def experiments(
    figures: Sequence[str], tell: Callable[[str], None]
) -> tuple[list[MeasuredCycles], list[Claim]]:
    """Run figures; all by default.

    Raises:
        InputError: a figure is unknown, or the example graphs are missing.
    """
    if not GRAPHS.is_dir():
        raise InputError(
            f"the graphs of the experiments are in examples/graphs of the sources, not in {GRAPHS}"
        )
    for figure in figures:
        if figure not in FIGURES:
            raise InputError(f"there is no figure {figure}; {suggest(figure, FIGURES)}")
    all_runs, claims = [], []
    for figure in figures or FIGURES:
        runs, figure_claims = FIGURES[figure](tell)
        all_runs += runs
        claims += figure_claims
    return all_runs, claims


def _cycles(
    graph: Graph | Path, tensors: Mapping[str, object], settings: Mapping[str, object] = SAM_TIMING
) -> int:
    return refuse_interrupted(run(graph, tensors, settings)).cycles


def _run_graphs(
    figure: str, label: str, graphs: Sequence[str], tensors: Mapping[str, object], tell: Callable[[str], None]
) -> list[MeasuredCycles]:
    tell(f"figure {figure}: {label}")
    return [
        MeasuredCycles(figure, label, graph, _cycles(GRAPHS / f"fig{figure}_{graph}.gv", tensors))
        for graph in graphs
    ]


def _figure_11(tell: Callable[[str], None]) -> tuple[list[MeasuredCycles], list[Claim]]:
    graphs = ("coiterate", "locate", "unfused")
    runs: list[MeasuredCycles] = []
    for k in (1, 10, 100):
        tensors = {"B": B, "C": f"ones:shape=250x{k}", "D": "ones"}
        runs += _run_graphs("11", f"K = {k}", graphs, tensors, tell)
    by_k = [{entry.graph: entry.cycles for entry in runs if entry.input == f"K = {k}"} for k in (1, 10, 100)]
    unfused_ratios = [entry["unfused"] / entry["coiterate"] for entry in by_k]
    locate_ratios = [entry["coiterate"] / entry["locate"] for entry in by_k]
    return runs, [
        Claim(
            "11",
            "unfused is far worse than fused (co-iteration)",
            f"{min(unfused_ratios):.1f} to {max(unfused_ratios):.1f} times the cycles, K from 1 to 100",
            "over 2 for each K",
            min(unfused_ratios) > 2,
        ),
        Claim(
            "11",
            "locate is faster than co-iteration for small K",
            f"{locate_ratios[0]:.2f} times as fast at K = 1",
            "over 1.1",
            locate_ratios[0] > 1.1,
        ),
        Claim(
            "11",
            "locate is as fast as co-iteration for large K",
            f"{locate_ratios[2]:.2f} times as fast at K = 100",
            "below 1.1",
            locate_ratios[2] < 1.1,
        ),
    ]


def _figure_12(tell: Callable[[str], None]) -> tuple[list[MeasuredCycles], list[Claim]]:
    runs = _run_graphs("12", "250 x 100 by 100 x 250", ORDERS, {"B": B, "C": C}, tell)
    cycles = {row.graph: row.cycles for row in runs}
    ratio = min(cycles["ijk"], cycles["jik"]) / max(cycles[order] for order in ORDERS[2:])
    text = "ijk and jik are an order of magnitude slower than the other orders"
    measured = f"the faster of the two takes {ratio:.1f} times the cycles of the slowest other order"
    return runs, [Claim("12", text, measured, "at least 10", ratio >= 10)]


def _figure_13(tell: Callable[[str], None]) -> tuple[list[MeasuredCycles], list[Claim]]:
    runs: list[MeasuredCycles] = []
    for count in range(1, len(SPARSITIES) + 1):
        generator = f"sam-random:shape=2000,sparsity={'/'.join(SPARSITIES[:count])}"
        tensors = {"b": f"{generator},seed=0", "c": f"{generator},seed=1"}
        runs += _run_graphs("13", f"random, sparsity {SPARSITIES[count - 1]}", FORMATS, tensors, tell)
    for kind in ("runs", "blocks"):
        for length in LENGTHS:
            pair = {name: f"sam-{kind}:length={length},operand={1 + n}" for n, name in enumerate("bc")}
            runs += _run_graphs("13", f"{kind} of {length}", FORMATS, pair, tell)
    return runs, _claims_of_13({(row.input, row.graph): row.cycles for row in runs})


def _claims_of_13(cycles: Mapping[tuple[str, str], int]) -> list[Claim]:
    randoms = [f"random, sparsity {sparsity}" for sparsity in SPARSITIES]
    sparse, tenth, full = (cycles[randoms[n], "bv"] / cycles[randoms[n], "crd"] for n in (0, 4, -1))
    skips = mean(cycles[name, "skip"] / cycles[name, "crd"] for name in randoms)
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


def _figure_14(tell: Callable[[str], None]) -> tuple[list[MeasuredCycles], list[Claim]]:
    runs, claims = [], []
    for name in IDENTITIES:
        runs += _run_graphs("14", name, ("identity",), {"B": name}, tell)
        matrix = load(name).matrix
        rows = int((matrix.indptr[1:] > matrix.indptr[:-1]).sum())
        expected_cycles = int(matrix.nnz) + rows + 4
        measured = f"{runs[-1].cycles:,} cycles; the sum is {expected_cycles:,}"
        text = f"cycles are nonzeros + non-empty rows + 4 ({name})"
        claims.append(Claim("14", text, measured, "equal", runs[-1].cycles == expected_cycles))
    return runs, claims


def stand_in(rows: int, columns: int, nonzeros: int) -> SparseTensor:
    """Return a random matrix of ones without an empty row."""
    draws = np.random.default_rng(0)
    first = np.arange(rows) * columns + draws.integers(columns, size=rows)
    others = np.setdiff1d(draws.integers(rows * columns, size=8 * nonzeros), first)
    chosen = draws.choice(others, nonzeros - rows, replace=False)
    coordinates = np.divmod(np.concatenate([first, chosen]), columns)
    return SparseTensor.from_coordinates((rows, columns), coordinates, np.ones(nonzeros))


def token_shares(matrix: SparseTensor) -> dict[str, float]:
    """Run figure 14 on a matrix, and return shares of its cycles in percent.

    A stream carries a token or is idle in each cycle. Control tokens are stops and done.
    """
    report = refuse_interrupted(run(GRAPHS / "fig14_identity.gv", {"B": matrix}, SAM_TIMING))
    shares: dict[str, float] = {}
    for stream, block in (("outer", "graph.fiberlookup_B0_i"), ("inner", "graph.fiberlookup_B1_j")):
        data, stops, dones = (
            report.components[block].counters[f"out_crd_{kind}"] for kind in ("data", "stops", "dones")
        )
        shares |= {f"{stream} stops": stops, f"{stream} control": stops + dones}
        shares[f"{stream} idle"] = report.cycles - data - stops - dones
    return {name: 100 * count / report.cycles for name, count in shares.items()}


def composition() -> list[Figure]:
    """Return the shares of figure 14 that the text of the paper has."""
    shares = {name: token_shares(stand_in(*sizes)) for name, sizes in COMPOSED.items()}
    rows = [
        ("outer control, mean of 15", 0.95, mean(share["outer control"] for share in shares.values())),
        ("inner control, mean of 15", 16.2, mean(share["inner control"] for share in shares.values())),
        ("outer idle, mean of 15", 83.32, mean(share["outer idle"] for share in shares.values())),
        ("inner stops, ch7-6-b1", 33.26, shares["ch7-6-b1"]["inner stops"]),
        ("inner stops, rail507", 0.12, shares["rail507"]["inner stops"]),
    ]
    return [
        Figure("sam", SHARES, f"Fig. 14, {name}", published, ours, STAND_INS)
        for name, published, ours in rows
    ]


def tiled_product() -> Graph:
    """Return a graph that multiplies tiles one after another in the order ikj, without summing them."""
    text, formats = "X(a,b,c,i,j) = B(a,b,i,k) * C(b,c,k,j)", "X:sssss,B:ssss,C:ssss"
    return compile_expression(text, formats, "a,b,c,i,k,j").graph


def _figure_15(tell: Callable[[str], None]) -> tuple[list[MeasuredCycles], list[Claim]]:
    graph, runs = tiled_product(), []
    for nonzeros, cycles_by_side in TILED_CYCLES.items():
        for side, published_cycles in zip(SIDES, cycles_by_side, strict=True):
            label, generator = (
                f"{nonzeros:,} nonzeros, side {side:,}",
                f"sam-tiles:side={side},nonzeros={nonzeros}",
            )
            tell(f"figure 15: {label}")
            operands = {name: f"{generator},operand={1 + n}" for n, name in enumerate("BC")}
            cycles = _cycles(graph, operands, TILE_SETTINGS)
            runs.append(MeasuredCycles("15", label, "tiles", cycles, published_cycles))
    return runs, [_check_figure_15([row.cycles for row in runs[-len(SIDES) :]])]


def _check_figure_15(cycles: Sequence[int]) -> Claim:
    """Check the claim for the most nonzeros, by side."""
    peak = max(cycles)
    numbers = f"{cycles[0]:,} to {peak:,} to {cycles[-1]:,} with 50,000 nonzeros"
    criterion = "the largest is neither at the first nor at the last side"
    return Claim(
        "15", "cycles rise with the side, then fall", numbers, criterion, cycles[0] < peak > cycles[-1]
    )


FIGURES: Mapping[str, Callable[[Callable[[str], None]], tuple[list[MeasuredCycles], list[Claim]]]] = {
    "11": _figure_11,
    "12": _figure_12,
    "13": _figure_13,
    "14": _figure_14,
    "15": _figure_15,
}


def as_figures(runs: Iterable[MeasuredCycles]) -> list[Figure]:
    """Return the runs with published cycles."""
    return [
        Figure(
            "sam",
            "cycles",
            f"Fig. {row.figure}, {row.input}",
            row.published,
            row.cycles,
            TILE_MEMORY,
            settled=RESTARTS,
        )
        for row in runs
        if row.published is not None
    ]


def study(figures: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """Return the cycles of each figure, with a row per input and a column per graph, and the claims."""
    runs, claims = experiments(figures, options["tell"])
    tables = [
        _cycle_table(figure, [row for row in runs if row.figure == figure])
        for figure in dict.fromkeys(row.figure for row in runs)
    ]
    data = [asdict(row) for row in runs] + [asdict(claim) for claim in claims]
    return data, [*tables, claim_table("Claims of the text", claims)]


def _cycle_table(figure: str, runs: Sequence[MeasuredCycles]) -> Table:
    graphs = list(dict.fromkeys(row.graph for row in runs))
    published = {row.input: row.published for row in runs if row.published is not None}
    table = Table(f"Figure {figure}: cycles", ("input", *graphs, *(("published",) if published else ())))
    for name in dict.fromkeys(row.input for row in runs):
        cycles = {row.graph: row.cycles for row in runs if row.input == name}
        published_cells = [f"{published[name]:,}"] if published else []
        table.add(name, *(f"{cycles[graph]:,}" for graph in graphs), *published_cells)
    return table


def claim_table(title: str, claims: Iterable[Claim]) -> Table:
    """Return a row for each claim."""
    table = Table(title, ("Figure", "Claim", "Measured", "Criterion", "Holds"), labels=5)
    for claim in claims:
        table.add(claim.figure, claim.text, claim.measured, claim.criterion, "yes" if claim.holds else "no")
    return table
