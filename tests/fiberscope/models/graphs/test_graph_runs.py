"""Runs of graphs: operands from everywhere, verification, standstills, the command line, experiments."""

import json
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import fiberscope
from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.models.graphs import read_gv, run
from fiberscope.models.graphs.deadlock import explain_deadlock, find_least_depth
from fiberscope.models.graphs.experiment_tensors import generate
from fiberscope.models.graphs.folder import read_folder
from fiberscope.models.graphs.formats import format_of
from fiberscope.models.graphs.levels.compressed import CompressedLevel
from fiberscope.models.graphs.operands import load_operands
from fiberscope.models.graphs.result import WriterContents, compare
from fiberscope.models.graphs.storage import store
from fiberscope.results.errors import DeadlockedRunError, VerificationError
from fiberscope.sim import SimulationError
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.expressions.expression import Access
from fiberscope.workloads.expressions.points import Points
from fiberscope.workloads.tensor import SparseTensor
from published.sam import SIDES, TILED_CYCLES, experiments, tiled_product

EXAMPLES = Path(__file__).parents[4] / "examples" / "graphs"
B = np.array([[1.0, 0, 2], [0, 0, 0], [0, 3, 4]])


def tensor(dense):
    places = np.nonzero(dense)
    return SparseTensor(dense.shape, tuple(map(np.asarray, places)), dense[places])


@pytest.mark.parametrize("letters", ["ss01", "ss10", "sd01", "ds10", "dd01", "dd10", "sb01", "bs10"])
def test_what_is_stored_is_what_is_read_back(letters) -> None:
    entries = store(tensor(B), format_of(letters)).entries()
    dense = np.zeros((3, 3))
    dense[entries.coordinates] = entries.values
    assert (dense == B).all()


@pytest.mark.parametrize("letters", ["ss", "dd", "sb"])
def test_an_operand_has_as_many_nonzeros_in_every_format(letters) -> None:
    report = fiberscope.graph(
        "x(i) = B(i,j) * c(j)", formats=f"B:{letters}", tensors={"B": B, "c": np.ones(3)}
    )
    assert [operand.nonzeros for operand in report.workload.operands] == [4, 3]


def test_columns_that_are_stored_first_come_first() -> None:
    stored = store(tensor(B), format_of("ss10"))
    assert stored.levels[0].coordinates.tolist() == [0, 1, 2]
    assert stored.levels[1].coordinates.tolist() == [0, 2, 0, 2]
    assert stored.values.tolist() == [1, 3, 2, 4]


FOLDERS = {
    "plain": {"seg0": "0 2", "crd0": "0 2", "seg1": "0 2 4", "crd1": "0 2 1 2", "vals": "1 2 3 4"},
    "of the artifact": {
        "tensor_B_mode_0_seg": "0\n2\n",
        "tensor_B_mode_0_crd": "0\n2\n",
        "tensor_B_mode_1_seg": "0\n2\n4\n",
        "tensor_B_mode_1_crd": "0\n2\n1\n2\n",
        "tensor_B_mode_vals": "1.0\n2\n3\n4\n",
        "tensor_B_mode_shape": "3\n3\n",
    },
    "with ends": {
        "B0_seg.txt": "0,2", "B0_crd.txt": "[0, 2]", "B1_seg.txt": "0 2 4", "B1_crd.txt": "0 2 1 2",
        "B_vals.txt": "1 2 3 4",
    },
}  # fmt: skip


@pytest.mark.parametrize("names", FOLDERS)
def test_a_folder_of_levels_is_a_tensor(names, tmp_path) -> None:
    for name, text in FOLDERS[names].items():
        (tmp_path / name).write_text(text)
    stored, sized = read_folder(tmp_path, format_of("ss01"))
    assert sized == any("shape" in name for name in FOLDERS[names])
    assert stored.entries().values.tolist() == [1, 2, 3, 4]
    report = run(EXAMPLES / "fig14_identity.gv", {"B": str(tmp_path)}, {"timing": "sam"})
    assert (report.cycles, report.verification.passed) == (10, True)


def test_a_folder_that_does_not_fit_is_refused(tmp_path) -> None:
    for name, text in {**FOLDERS["plain"], "crd1": "2 0 1 2"}.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match="level 1: coordinates must increase within a fiber"):
        read_folder(tmp_path, format_of("ss01"))


def test_operands_come_from_everywhere(tmp_path) -> None:
    (tmp_path / "b.tns").write_text("1 1 1\n1 3 2\n3 2 3\n3 3 4\n")
    sparse.save_npz(tmp_path / "b.npz", sparse.csr_array(B))
    np.save(tmp_path / "b.npy", B)
    given = [B, sparse.csr_array(B), *(str(tmp_path / f"b.{end}") for end in ("tns", "npz", "npy"))]
    reports = [run(EXAMPLES / "fig14_identity.gv", {"B": one}) for one in given]
    assert {report.cycles for report in reports} == {10}
    assert len({report.workload.digest for report in reports}) == 1


def test_a_matrix_that_only_fits_transposed_is_told_of() -> None:
    operands = {"B": B, "C": np.ones((3, 2)), "D": np.ones((2, 3))}
    loaded = load_operands(read_gv(EXAMPLES / "fig11_locate.gv"), operands)
    assert loaded["D"].shape == (3, 2)
    assert loaded["D"].notice == "NOTE: D (D) is 2 x 3 and fits only transposed; its transpose is used"


def test_sizes_that_differ_are_refused() -> None:
    with pytest.raises(InputError, match="k has 3 coordinates in B and 2 in C; the two must be equal"):
        run(EXAMPLES / "fig12_ijk.gv", {"B": B, "C": np.ones((2, 2))})


def test_random_tensors_are_those_of_the_artifact() -> None:
    drawn, full = generate("sam-random:shape=4x5,sparsity=0.5,seed=7")
    numbers, alone = np.random.RandomState(7).randint(0, 255, size=(4, 5)), random.Random(7)
    assert full == "sam-random:shape=4x5,sparsity=0.5,seed=7"
    for place in np.ndindex(4, 5):
        numbers[place] *= alone.random() >= 0.5
    assert 0 < drawn.nonzeros < 20
    assert (drawn.matrix().toarray() == numbers).all()


@pytest.mark.parametrize("kind", ["runs", "blocks"])
def test_pairs_have_as_many_values_as_asked_for(kind) -> None:
    pair = [generate(f"sam-{kind}:length=20,operand={one}")[0] for one in (1, 2)]
    assert all(380 <= one.nonzeros <= 423 for one in pair)  # a drawn zero is none; blocks may overlap


def test_a_wrong_result_is_found() -> None:
    written = WriterContents(
        format_of("s"), (4,), (CompressedLevel(np.array([0, 2]), np.array([0, 3])),), np.array([1.0, 2.0])
    )
    found = written.assemble().entries()
    expected = Points({"i": np.array([0, 3])}, np.array([1.0, 2.5]), np.array([1.0, 2.5]))
    assert not compare(written, found, Access.plain("x", ("i",)), expected, {"i": 4}, {}).passed
    right = Points({"i": np.array([0, 3])}, np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    assert compare(written, found, Access.plain("x", ("i",)), right, {"i": 4}, {}).passed


@pytest.mark.parametrize(
    ("coordinates", "values", "passes"),
    [
        ([0, 3], [1.0, 2.0], True),
        ([0, 1, 3], [1.0, 0.0, 2.0], True),  # an explicit zero of the reference's
        ([0, 2], [1.0, 2.0], False),
        ([3, 0], [1.0, 2.0], False),
        ([0, 3], [2.0, 1.0], False),
        ([0, 3], [1.0, 2.0, 5.0], False),
        ([0], [1.0], False),
    ],
)
def test_a_result_without_a_place_for_each_value_is_compared_as_lists(coordinates, values, passes) -> None:
    level = CompressedLevel(np.array([0, len(coordinates)]), np.array(coordinates))
    written = WriterContents(format_of("s"), (4,), (level,), np.array(values))
    reference = np.array([1.0, 0.0, 2.0])
    expected = Points({"i": np.array([0, 1, 3])}, reference, reference)
    assert compare(written, None, Access.plain("x", ("i",)), expected, {"i": 4}, {}).passed is passes


@pytest.mark.parametrize("result", ["extra", "missing", "right"])
def test_a_value_at_a_coordinate_of_its_own_counts_and_so_does_one_that_lacks(result) -> None:
    columns = {"extra": [0, 2, 3], "missing": [0], "right": [0, 3]}[result]
    values = np.array([1.0, 2.0, 2.0]) if result == "extra" else np.array([1.0, 2.0])[: len(columns)]
    found = SparseTensor((4,), (np.array(columns),), values)
    expected = Points({"i": np.array([0, 3])}, np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    compared = compare(None, found, Access.plain("x", ("i",)), expected, {"i": 4}, {})
    assert (compared.extra, compared.missing) == {"extra": (1, 0), "missing": (0, 1), "right": (0, 0)}[result]


def test_a_graph_that_writes_the_wrong_coordinates_is_a_wrong_machine() -> None:
    graph = read_gv(EXAMPLES / "fig12_ijk.gv")
    writers = [node for node in graph.writers if not node.writes_values]
    writers[0].attributes["index"], writers[1].attributes["index"] = "j", "i"
    with pytest.raises(VerificationError, match="X is wrong"):
        run(graph, {"B": B, "C": B})


# What an accumulator of a whole matrix sends, when all is in it, meets the stream that it was made of.
STUCK = EXAMPLES.parent / "deadlock.gv"


def test_a_standstill_says_which_paths_and_what_depth_would_do() -> None:
    graph, operands = read_gv(STUCK), {"B": np.ones((9, 9))}
    assert run(graph, operands, {"timing": "sam"}).verification.passed
    with pytest.raises(DeadlockedRunError) as stuck:
        run(graph, operands)
    told = str(stuck.value)
    assert "intersect j (node 6) crd[0] is full (16 of 16 tokens" in told
    assert "intersect j (node 6) waits for crd[1] from spaccumulator (node 5)" in told
    assert "both paths come from fiberlookup B1 j (node 2)" in told
    depth = int(told.rpartition("depth=")[2])
    assert run(graph, operands, {"depth": depth}).verification.passed
    with pytest.raises(DeadlockedRunError):
        run(graph, operands, {"depth": depth - 1})


def test_a_graph_that_fails_without_bounds_too_says_how() -> None:
    def fail() -> None:
        raise SimulationError("cycle 28, graph.intersect: N meets a stop")

    unbounded = SimpleNamespace(kernel=SimpleNamespace(run=fail))
    message = explain_deadlock(None, lambda: unbounded, lambda _depth: unbounded)
    assert message == "Without bounds, the graph fails too: cycle 28, graph.intersect: N meets a stop"


def test_a_graph_that_fails_with_deeper_channels_says_how() -> None:
    def fail() -> None:
        raise SimulationError("cycle 28, graph.intersect: N meets a stop")

    stuck = SimpleNamespace(channel_of={}, parameters=SimpleNamespace(depth=4))
    channels, complete = [SimpleNamespace(capacity=9)], SimpleNamespace(complete=True)
    unbounded = SimpleNamespace(kernel=SimpleNamespace(run=lambda: complete, channels=lambda: channels))
    deeper = SimpleNamespace(kernel=SimpleNamespace(run=fail))
    message = explain_deadlock(stuck, lambda: unbounded, lambda _depth: deeper)
    assert message == "With deeper channels, the graph fails: cycle 28, graph.intersect: N meets a stop"


def test_the_least_depth_is_found_wherever_it_lies() -> None:
    """Of machines that run with so many tokens and no fewer, whatever a free one's channels held."""
    tried = [SimpleNamespace(complete=False), SimpleNamespace(complete=True)]
    machines = [SimpleNamespace(kernel=SimpleNamespace(run=lambda one=one: one)) for one in tried]
    for least in range(2, 40):
        for stuck in range(1, least):
            for enough in (1, stuck, least - 1, least, least + 1, 60):
                found = find_least_depth(stuck, enough, lambda depth: machines[depth >= least])  # noqa: B023
                assert found == least, (stuck, enough)


def test_the_command_line_gives_the_common_report(tmp_path, capsys) -> None:
    for name in "BC":
        (tmp_path / f"{name}.mtx").write_text(
            "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 2\n2 3 4\n3 2 5\n"
        )
    words = ["graph", "run", str(EXAMPLES / "fig12_ikj.gv")]
    words += [f"{name}={tmp_path / name}.mtx" for name in "BC"]
    words += ["--set", "timing=sam", "--json", str(tmp_path / "o.json"), "--streams"]
    assert cli.run([*words, "--vcd", str(tmp_path / "o.vcd")]) == 0
    report = json.loads((tmp_path / "o.json").read_text())
    assert report["accelerator"] == "fig12_ikj"
    assert report["config"]["timing"] == "sam"
    assert report["operations"]["multiply"] == 3
    assert report["verification"]["passed"]
    assert "repeat_C_i ref" in capsys.readouterr().out
    assert (tmp_path / "o.vcd").stat().st_size > 1000


@pytest.mark.parametrize("words", [["B"], ["B=x", "B=y"], ["B=/no/such.mtx", "C=ones"]])
def test_operands_that_cannot_be_cost_one_line(words, refusal) -> None:
    assert refusal("graph", "run", str(EXAMPLES / "fig12_ikj.gv"), *words)


def test_claims_of_the_paper_hold_where_they_are_quick_to_try() -> None:
    runs, claims = experiments(["12"], lambda _line: None)
    assert {one.graph: one.cycles for one in runs}["ijk"] > 10 * runs[2].cycles
    assert all(claim.holds for claim in claims)


def test_tiles_are_of_a_matrix_and_of_what_it_is_multiplied_by() -> None:
    """The second is the first with each nonzero a column further on, rows for columns."""
    whole = []
    for operand in (1, 2):
        drawn, _full = generate(f"sam-tiles:side=300,nonzeros=900,operand={operand}")
        assert (drawn.shape, len(drawn.values)) == ((3, 3, 128, 128), 900)
        rows, columns = (128 * drawn.coordinates[at] + drawn.coordinates[at + 2] for at in (0, 1))
        whole.append(sparse.coo_array((drawn.values, (rows, columns)), (300, 300)).toarray())
    assert (whole[1] == np.roll(whole[0], 1, axis=1).T).all()
    assert set(np.unique(whole[0])) == {0, 1}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("tiles:side=2,nonzeros=5,operand=1", "5 nonzeros do not fit a square of side 2"),
        ("blocks:length=1500,operand=1", "do not fit a vector of 2000"),
        ("blocks:length=998,nonzeros=1,operand=2", "do not fit a vector of 2000"),
        ("blocks:length=5,nonzeros=2001,operand=1", "nonzeros"),  # blocks of no coordinates would never end
        ("runs:length=3000,operand=1", "do not fit a vector of 2000"),
        ("random:shape=3x3,sparsity=1.2.3", "sparsity"),
        ("random:shape=3x3,sparsity=./0.5", "sparsity"),
        ("random:shape=3x3,sparsity=0.5,seed=4294967296", "seed"),
    ],
)
def test_a_tensor_that_cannot_be_costs_one_line(text, fault) -> None:
    with pytest.raises(WorkloadError, match=fault):
        generate(f"sam-{text}")


@pytest.mark.parametrize(
    "text",
    ["tiles:side=2,nonzeros=4,operand=1", "blocks:length=997,operand=1", "random:shape=2x2,sparsity=.0/0."],
)
def test_a_tensor_at_the_limit_is_drawn(text) -> None:
    assert generate(f"sam-{text}")[0].nonzeros == (400 if text.startswith("blocks") else 4)


def test_tiles_that_are_not_nearly_empty_take_the_cycles_that_were_published() -> None:
    operands = {
        name: f"sam-tiles:side={SIDES[0]},nonzeros=5000,operand={1 + at}" for at, name in enumerate("BC")
    }
    report = run(tiled_product(), operands, {"timing": "sam"})
    assert report.verification.passed
    assert report.cycles == pytest.approx(TILED_CYCLES[5_000][0], rel=0.02)


def test_the_picture_of_the_page_is_what_draw_writes(tmp_path) -> None:
    assert cli.run(["graph", "draw", str(EXAMPLES / "spmv.gv"), "-o", str(tmp_path / "g.svg")]) == 0
    picture = EXAMPLES.parents[1] / "docs" / "images" / "spmv.svg"
    assert (tmp_path / "g.svg").read_text(encoding="utf-8") == picture.read_text(encoding="utf-8")


def test_the_drawing_has_a_box_a_block(tmp_path) -> None:
    assert cli.run(["graph", "draw", str(EXAMPLES / "fig12_ikj.gv"), "-o", str(tmp_path / "g.svg")]) == 0
    drawing = (tmp_path / "g.svg").read_text()
    assert drawing.count("fiberlookup") >= 4


def test_a_waveform_of_unbounded_streams_goes_on_beyond_the_first_look_at_the_machine(tmp_path):
    matrix = "uniform:rows=60,cols=60,nonzeros=900"
    words = ["graph", "run", str(EXAMPLES / "fig14_identity.gv"), f"B={matrix}"]
    assert cli.run([*words, "--vcd", str(tmp_path / "o.vcd"), "--json", str(tmp_path / "o.json")]) == 0
    assert json.loads((tmp_path / "o.json").read_text())["cycles"] > 512
