"""``fiberscope model``: operands in, a verified report out."""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import io, sparse

import fiberscope
from fiberscope import cli
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.models.trace.api import prepare
from fiberscope.models.trace.evaluate import BodyAttachment, Prepared, run
from fiberscope.models.trace.spacetime import Imbalance
from fiberscope.results.report.document import Report

ROOT = Path(__file__).parents[4]
ORACLES = ROOT / "tests" / "oracles" / "teaal"
TILES = {"K1": 8, "K0": 4, "M1": 8, "M0": 4, "N1": 8, "N0": 4}
SMALL = {"gamma": {}, "outerspace": {}, "sigma": {}, "extensor": TILES}


def matrix(rows: int, cols: int, seed: int = 1) -> sparse.csr_array:
    drawn = sparse.random_array((rows, cols), density=0.2, random_state=np.random.default_rng(seed))
    drawn.data = np.ceil(9 * drawn.data)
    return drawn.tocsr()


@pytest.fixture
def folder(here: Path) -> Path:
    """A working folder with A, 12 x 10, its transpose, and B, 10 x 14."""
    io.mmwrite("a.mtx", matrix(12, 10))
    io.mmwrite("at.mtx", matrix(12, 10).T)
    io.mmwrite("b.mtx", matrix(10, 14, 2))
    return here


@pytest.mark.parametrize("name", ["gamma", "extensor-energy"])
def test_a_reference_through_the_command_line(name: str, folder: Path) -> None:
    reference = json.loads((ORACLES / f"{name}.tiny.json").read_text())
    tiles = {symbol: size for symbol, size in (reference["tiles"] or {}).items() if len(symbol) == 2}
    settings = [word for symbol, size in tiles.items() for word in ("--set", f"{symbol}={size}")]
    operands = [f"A={ORACLES / 'tinyA_KM.mtx.gz'}", f"B={ORACLES / 'tinyB_KN.mtx.gz'}"]
    arguments = ["model", name, *operands, "--set", "semantics=teaal", *settings, "--json", "out.json", "-q"]
    assert cli.run(arguments) == 0
    written = json.loads(Path("out.json").read_text())
    assert written["fidelity"] == "trace"
    assert written["teaal"]["metrics"] == reference["metrics"]


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("rows", [12, 10])  # of A; of 10 x 10 its transpose would fit as well
def test_factors_are_those_of_a_product_in_order_and_by_name(name: str, rows: int) -> None:
    a, b = matrix(rows, 10), matrix(10, 14, 2)
    in_order = fiberscope.model(name, a, b, settings=SMALL[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_name = fiberscope.model(name, tensors={"A": a, "B": b}, settings=SMALL[name])
    assert in_order.verification.passed
    assert in_order.product == by_name.product
    assert (in_order.product.shape, in_order.product.nonzeros) == ((rows, 14), (a @ b).nnz)
    assert in_order.teaal.metrics == by_name.teaal.metrics
    work = int((np.diff(a.tocsc().indptr) * np.diff(b.indptr)).sum())
    assert in_order.operations["multiply"] == work


@pytest.mark.parametrize("name", SMALL)
def test_a_matrix_that_fits_as_declared_alone_is_taken_so_with_a_warning(name: str) -> None:
    """The specifications declare A as [K, M], and the public tool's files have the rows K."""
    a, b = matrix(12, 10), matrix(10, 14, 2)
    with pytest.warns(UserWarning, match=r"A \(10 x 12\): as a factor .* they are taken as rank K") as warned:
        transposed = fiberscope.model(name, tensors={"A": a.T, "B": b}, settings=SMALL[name])
    assert len(warned) == 1
    assert transposed.teaal.metrics == fiberscope.model(name, a, b, settings=SMALL[name]).teaal.metrics


def test_a_machine_chooses_the_symbols_that_are_left_open() -> None:
    ready = prepare("extensor", matrix(30, 30), settings={"tile.m": 1, "tile.k": 2, "tile.n": 1})
    assert ready.specification.symbols["K1"] == 256
    standard = prepare("extensor", matrix(30, 30))
    assert standard.specification.symbols["K1"] == 64 * 128
    assert "most published runs" in standard.choices[0]


def test_the_report_is_the_common_one(folder: Path, printed) -> None:
    shown = printed("model", "gamma", "a.mtx", "b.mtx", "--json", "out.json")
    report = Report.read("out.json")
    assert (report.fidelity, report.accelerator, report.complete) == ("trace", "gamma", True)
    assert report.cycles == -(-report.seconds * 1e9 // 1)
    assert report.traffic["Z"].write_bytes == report.teaal.metrics["Z"]["MainMemory"]["Z"]["write"] // 8
    assert report.config["pe"]["count"] == 32
    assert "limits T and Z" in shown
    assert "Verified" in shown
    assert cli.run(["diff", "out.json", "out.json"]) == 0
    assert cli.run(["plot", "out.json", "-o", "out.svg"]) == 0
    assert "HighRadixMerger" in Path("out.svg").read_text()


def test_two_runs_are_the_same_but_for_the_host(folder: Path) -> None:
    for operands in (["a.mtx", "b.mtx"], ["uniform:rows=300,cols=300,nonzeros=3000"]):
        first, second = (fiberscope.model("gamma", *operands) for _ in range(2))
        assert first.model_dump(exclude={"host"}) == second.model_dump(exclude={"host"})
    assert first.verification.reference == "random projections"


def test_a_gemm_draws_both_operands(folder: Path) -> None:
    gemm = "gemm:m=40,n=30,k=50,a=0.2,b=0.9"
    modelled, simulated = fiberscope.model("sigma", gemm), fiberscope.simulate("sigma", gemm)
    assert modelled.product == simulated.product
    assert modelled.operations["multiply"] == simulated.operations["useful_multiply"]
    with pytest.raises(fiberscope.WorkloadError, match="gemm draws both operands"):
        fiberscope.model("sigma", gemm, "b.mtx")


def test_the_loops_are_shown_without_operands(printed) -> None:
    shown = printed("model", "gamma", "--show", "loopnest")
    assert "for k in T << A & B:" in shown
    assert "# Intersect: leader-follower, A leads" in shown
    assert "Z[m, n] += T[k, m, n] * A[k, m]" in shown


def test_the_blocks_are_shown_with_why_they_begin(printed) -> None:
    assert printed("model", "gamma", "--show", "blocks") == "T and Z\n"
    expected = "T0\nT1 and Z: in another configuration, Merge\n"
    assert printed("model", "outerspace", "--show", "blocks") == expected


def test_the_traffic_of_every_memory_is_shown(folder: Path, printed) -> None:
    shown = printed("model", "gamma", "a.mtx", "b.mtx", "--show", "traffic")
    report = fiberscope.model("gamma", "a.mtx", "b.mtx")
    assert [line for line in shown.splitlines() if f"{report.traffic['A'].read_bytes:,}" in line]


def test_a_report_to_the_terminal_is_alone_there(folder: Path, printed) -> None:
    shown = printed("model", "gamma", "a.mtx", "b.mtx", "--show", "traffic", "--json", "-")
    assert json.loads(shown)["traffic_minimum_bytes"] is None  # what moves is what a specification binds


def test_space_and_time_are_drawn(folder: Path, printed) -> None:
    arguments = ["gamma", "a.mtx", "b.mtx", "--show", "spacetime"]
    assert printed("model", *arguments) == "Picture: gamma-spacetime.svg\n"
    assert "<svg" in Path("gamma-spacetime.svg").read_text()


def test_every_body_has_a_place_and_a_step(folder: Path) -> None:
    """Gamma: rows side by side, the elements of a row's fibers one after the other."""
    stamps = prepare("gamma", "a.mtx", "b.mtx").stamps()[0]
    a, b = matrix(12, 10), matrix(10, 14, 2)
    bodies = [(row, k) for row in range(12) for k in a.indices[a.indptr[row] : a.indptr[row + 1]]]
    lengths = np.diff(b.indptr)
    assert len(stamps.places) == sum(lengths[k] for _, k in bodies)
    busy = sorted({row for row, k in bodies if lengths[k]})
    counts = [sum(lengths[k] for row, k in bodies if row == place) for place in busy]
    assert np.bincount(stamps.places).tolist() == counts
    assert len(set(zip(stamps.places, stamps.times, strict=True))) == len(stamps.places)


@pytest.mark.parametrize("name", ["graphicionado", "graphicionado-csr_like"])
def test_shortest_paths_until_nothing_is_active(name: str) -> None:
    size, dice = 40, np.random.default_rng(3)
    graph = sparse.random_array((size, size), density=0.08, random_state=dice).tocsr()
    graph.data = np.ceil(9 * graph.data)
    root = sparse.csr_array(([0.0], ([0], [0])), shape=(size, 1))
    ready = prepare(name, tensors={"G": graph, "A0": root, "P0": root}, settings={"weight": 32})
    outcome = ready.evaluate().outcome
    found = np.full(size, np.inf)
    reached = outcome.tensors["P1"]
    found[reached.coordinates[0]] = reached.values
    expected = sparse.csgraph.shortest_path(graph.T, indices=0)
    assert outcome.rounds > 2
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("gama a.mtx", "no specification, and no YAML file, is called gama; did you mean "),
        ("none.yaml a.mtx", "none.yaml: cannot read the configuration: No such file or directory"),
        ("gamma B=a.mtx", "gamma reads tensor A, which is not given; give A=FILE B=FILE"),
        ("gamma A=a.mtx B=b.mtx C=b.mtx", "gamma reads no tensor C; known: A, B"),
        ("gamma A=a.mtx A=b.mtx", "A is given twice; leave one out"),
        ("gamma a.mtx B=b.mtx", "give operands in order or by name (A=a.mtx B=b.mtx), not both"),
        ("gamma a.mtx b.mtx b.mtx", "3 operands in order; A and B are two, give more by name: C=c.mtx"),
        ("gamma a.mtx b.mtx --set K1=4", "--set: gamma has no parameter K1; "),
        ("gamma a.mtx b.mtx --set semantics=best", "--set: semantics is best; it should be 'teaal'"),
        ("gamma a.mtx b.mtx --set pe=4", "--set: pe is a section; set "),
        ("extensor a.mtx b.mtx --set K1=many", "--set: K1 is many; it should be a number"),
        ("gamma --show loops", "--show loops: there is no such view; did you mean "),
        ("gamma a.mtx b.mtx -o x.svg", "--output names the picture that --show spacetime draws"),
        (
            "gamma a.mtx b.mtx --show traffic -o x.svg",
            "--output names the picture that --show spacetime draws",
        ),
        ("gamma --show blocks --json out.json", "--show blocks runs no model; leave --json out"),
        ("gamma --show loopnest --product p.npz", "--show loopnest runs no model; leave --product out"),
        ("gamma a.mtx b.mtx --show spacetime --json -", "--show spacetime runs no model; leave --json out"),
        ("gamma A= B=b.mtx", "A= names no tensor; write A=TENSOR, as in A=wiki-Vote"),
        (
            "gamma a.mtx b.mtx --set semantic=machine",
            "--set: gamma has no parameter semantic; did you mean semantics?",
        ),
        (
            "extensor a.mtx b.mtx --set K1=2.5",
            "extensor/spec.yaml:30:11: a size of 2.5; it should be a whole number",
        ),
        ("gamma a.mtx b.mtx --json a.mtx", "the report a.mtx: is the matrix A, which it would overwrite"),
    ],
)
def test_what_cannot_be_costs_a_line(arguments: str, says: str, folder: Path, refusal) -> None:
    assert refusal("model", *arguments.split()).startswith(f"fiberscope: {says}")


@pytest.mark.parametrize("command", ["model", "sim"])
def test_matrices_by_name_are_read_as_in_order_on_the_command_line(command, capsys):
    square, other = "uniform:rows=12,cols=12,nonzeros=30", "uniform:rows=12,cols=9,nonzeros=30"
    name = "spec:gamma" if command == "sim" else "gamma"
    reports, warned = [], []
    for operands in ([f"A={square}", f"B={other}"], [square, other], [f"A={other}", f"B={other}"]):
        assert cli.run([command, name, *operands, "--json", "-"]) == 0
        shown = capsys.readouterr()
        reports.append(json.loads(shown.out))
        warned.append([line for line in shown.err.splitlines() if "warning" in line])
    by_name, in_order, declared = reports
    ranks = [by_name["workload"].pop("tensor"), by_name["workload"]["b"].pop("tensor")]
    assert ranks == ["A[m, k]", "B[k, n]"]  # as operands in order always are
    for key in ("cycles", "operations", "traffic", "product", "workload"):
        assert by_name[key] == in_order[key]
    assert declared["product"]["shape"] == [9, 9]
    assert [len(lines) for lines in warned] == [0, 0, 1]
    assert warned[-1][0].startswith("fiberscope: warning: A (12 x 9): as a factor of the product")


def test_a_symbol_in_an_index_needs_a_value_and_is_its_coefficient(tmp_path):
    draws = np.random.default_rng(1)
    tensors = {"I": draws.integers(1, 9, 9).astype(float), "F": draws.integers(1, 9, 2).astype(float)}
    runs = []
    for index, settings in (("g * x + r", {"g": 2}), ("2 * x + r", {})):
        file = tmp_path / "strides.yaml"
        declaration = "{I: [M], F: [R], O: [X]}"
        file.write_text(
            f'einsum:\n  declaration: {declaration}\n  expressions: ["O[x] = I[{index}] * F[r]"]\n'
        )
        runs.append(fiberscope.model(str(file), tensors=tensors, settings=settings).operations)
    assert runs[0] == runs[1]
    assert runs[0]["multiply"] == 8
    file.write_text(file.read_text().replace("2 * x", "g * x"))
    with pytest.raises(ConfigurationError, match=r"symbol g has no value; give it one by --set g=2"):
        fiberscope.model(str(file), tensors=tensors)


def test_an_einsum_without_loops_has_no_bodies_to_place(tmp_path: Path) -> None:
    (tmp_path / "scalar.yaml").write_text(
        'einsum: {declaration: {A: [M], Z: []}, expressions: ["Z[] = A[0] * A[1]"]}\n'
        "mapping: {spacetime: {Z: {space: [], time: []}}}\n"
    )
    assert prepare(str(tmp_path / "scalar.yaml"), tensors={"A": np.ones(3)}).stamps() == []


UNION = """
einsum:
  declaration: {A: [M, N], B: [M, N], Z: [M, N]}
  expressions: ["Z[m, n] = A[m, n] + B[m, n]"]
mapping:
  loop-order: {Z: [M, N]}
  spacetime: {Z: {space: [M], time: [N]}}
"""


def test_bodies_of_a_union_count_whichever_operand_is_there(tmp_path: Path) -> None:
    (tmp_path / "union.yaml").write_text(UNION)
    a, b = np.zeros((4, 6)), np.zeros((4, 6))
    a[0, 0] = a[1, 1] = 1
    b[1] = b[3, 2] = 2
    ready = prepare(str(tmp_path / "union.yaml"), tensors={"A": a, "B": b})
    assert np.bincount(ready.stamps()[0].places).tolist() == [1, 6, 1]
    configuration = SimpleNamespace(components={"ALU": SimpleNamespace(instances=4)})
    imbalances = []

    def observe(prepared: Prepared) -> Sequence[BodyAttachment]:
        imbalances.append(Imbalance.create(prepared, configuration))
        return imbalances[0].attachments()

    run(ready.specification, ready.trees, observe)
    assert imbalances[0].factor(4) == 6 * 4 / 8
