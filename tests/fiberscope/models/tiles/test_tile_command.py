"""``fiberscope tile``: the document, the screen, pictures, and one line for each thing that is wrong."""

import json
from pathlib import Path

import numpy as np
import pytest
from tiling import examples

import fiberscope
from fiberscope import cli

PICTURE = Path(__file__).parents[4] / "docs" / "images" / "d2t2.svg"
WORKED = ("--capacity", "43", "--microtile", "4", "--panel", "2")


@pytest.fixture
def file(tmp_path):
    """The worked example's matrix as a file."""
    return written(tmp_path / "a.mtx", examples.matrix())


def written(path, matrix):
    """A matrix as a MatrixMarket file of ones."""
    points = np.stack(matrix.coordinates, axis=1) + 1
    lines = [f"{row} {column} 1" for row, column in points]
    head = (
        f"%%MatrixMarket matrix coordinate integer general\n{matrix.shape[0]} {matrix.shape[1]} {len(lines)}"
    )
    path.write_text("\n".join([head, *lines, ""]))
    return str(path)


def document(capsys, *arguments, code=0):
    assert cli.run(["tile", *arguments, "--json", "-"]) == code
    return json.loads(capsys.readouterr().out)


def test_the_document_has_the_numbers_of_the_worked_example(capsys, file):
    found = document(
        capsys, file, "--transpose-b", *WORKED, "--compare", "prescient,tailors,drt", "--measure"
    )
    assert found["schema"] == "fiberscope-tile-1"
    a, b = (found["statistics"][name] for name in "AB")
    assert (a["size_tile"], a["max_tile"], a["p_tile"]) == (14.8, 25, 0.625)
    assert (b["size_tile"], b["max_tile"], b["p_tile"]) == (14.2, 25, 0.625)
    totals = {name: scheme["measured"]["total"] for name, scheme in found["schemes"].items()}
    assert totals == {"conservative": 844, "prescient": 773, "tailors": 773, "drt": 698, "d2t2": 640}
    assert found["schemes"]["d2t2"]["shape"] == {"i": 16, "k": 1, "j": 16}
    moved = found["schemes"]["conservative"]["measured"]
    assert (moved["A"], moved["B"], moved["O"]) == (148, 368, 328)
    assert [one["measured"]["total"] for one in found["candidates"]] == [844, 681, 640]
    assert [one["fullest"] for one in found["candidates"]] == [25, 23, 27]
    assert found["candidates"][0]["predicted"]["total"] == pytest.approx(772.1, abs=0.05)


def test_the_screen_says_what_was_chosen_and_why(printed, file):
    out = printed("tile", file, "--transpose-b", *WORKED, "--measure")
    assert "i 16 x k 1 x j 16" in out
    assert out.rstrip().endswith("B is fetched 1.6 times instead of 4; the tiles are as long as the tensors.")


def test_what_is_predicted_to_move_less_and_gave_way_to_fewer_iterations_is_said(printed):
    found = json.loads(printed("tile", "wiki-Vote", "--json", "-"))
    chosen = next(one for one in found["candidates"] if one["rf"] == found["schemes"]["d2t2"]["rf"])
    least = min(found["candidates"], key=lambda one: one["predicted"]["total"])
    less = 1 - least["predicted"]["total"] / chosen["predicted"]["total"]
    assert 0 < less < 0.01
    assert chosen["iterations"] < least["iterations"]
    tile = " x ".join(f"{index} {size:,}" for index, size in least["shape"].items())
    said = f"; {tile} is predicted to move {less:.1%} less, in more iterations of the outer loops."
    assert found["why"].endswith(said)


def test_the_screen_does_not_praise_tiles_for_what_the_tensor_cuts_off(printed):
    matrix = "uniform:rows=40,cols=40,nonzeros=60,seed=1"
    assert "TileFactor makes tiles 1.25 times as long" in printed("tile", matrix, "--capacity", "147")
    out = printed("tile", matrix, "--capacity", "147", "--set", "grow=contracted")
    assert "TileFactor makes tiles 1.25 times as long, k grows to 16." in out


@pytest.mark.parametrize(("capacity", "why"), [(60, "no larger tiles fit"), (5000, "as long as the tensors")])
def test_a_scalar_result_is_written_once(printed, capacity, why):
    factors = [f"uniform:rows=40,cols=40,nonzeros=400,seed={seed}" for seed in (1, 2)]
    scalar = ["--kernel", "s[]=A[i,k]*B[k,i]", "--order", "ik", "--capacity", str(capacity), "--measure"]
    shown = printed("tile", *factors, *scalar)
    assert why in shown
    rows = [line.split() for line in shown.splitlines() if line.startswith(("conservative", "d2t2"))]
    assert [row[-4] for row in rows] == ["1", "1"]


def test_the_screen_says_why_conservative_tiles_are_taken(capsys):
    factors = [f"uniform:rows=40,cols=40,nonzeros=60,seed={seed}" for seed in (1, 2, 3)]
    sampled = ["--kernel", "D[i,j]=S[i,j]*A[i,k]*B[k,j]", "--order", "ijk", "--capacity", "43", "--measure"]
    assert cli.run(["tile", *factors, *sampled]) == 0
    why = "Conservative's tiles are taken, not what the search chose: it moves more than the base tiling."
    assert capsys.readouterr().out.rstrip().endswith(why)


def test_without_measuring_nothing_but_drt_is_measured(capsys, file):
    found = document(capsys, file, "--transpose-b", *WORKED, "--compare", "drt")
    assert [name for name, one in found["schemes"].items() if "measured" in one] == ["drt"]


def test_a_buffer_of_the_paper_holds_a_dense_tile_of_128(capsys):
    matrix = "uniform:rows=300,cols=300,nonzeros=900,seed=1"
    found = document(capsys, matrix, "--buffer", "128KiB")
    assert found["capacity"] == 33_027
    assert found["schemes"]["conservative"]["shape"] == {"i": 128, "k": 128, "j": 128}
    assert found["statistics"]["A"] == found["statistics"]["B"] | {
        name: found["statistics"]["A"][name]
        for name in ("indices", "corrs", "tile_corrs", "fullest", "pr_tile_index")
    }


def test_statistics_are_taken_from_an_earlier_document(capsys, file, tmp_path):
    first = document(capsys, file, "--transpose-b", *WORKED)
    kept = tmp_path / "kept.json"
    for one in first["statistics"].values():
        one["size_tile"] *= 2
    kept.write_text(json.dumps(first))
    again = document(capsys, file, "--transpose-b", *WORKED, "--statistics", str(kept))
    predicted = [found["candidates"][0]["predicted"]["A"] for found in (first, again)]
    assert predicted == [148, 296]


def test_statistics_of_another_order_are_refused(capsys, refusal, file, tmp_path):
    kept = tmp_path / "kept.json"
    assert cli.run(["tile", file, "--order", "ikj", "--capacity", "43", "--json", str(kept)]) == 0
    capsys.readouterr()
    error = refusal("tile", file, "--order", "ijk", "--capacity", "43", "--statistics", str(kept))
    assert error == f"fiberscope: {kept}: B has the order k, j; collect anew for this order\n"


@pytest.mark.parametrize(
    ("matrix", "capacity", "wanted"),
    [
        (None, "147", "the tensor has 34, for tiles of 8 x 8"),
        ("uniform:rows=16,cols=16,nonzeros=35,seed=1", "43", "the tensor has 35, for tiles of 4 x 4"),
    ],
)
def test_statistics_of_other_tiles_or_tensors_are_refused(capsys, file, tmp_path, matrix, capacity, wanted):
    kept = tmp_path / "kept.json"
    assert cli.run(["tile", file, *WORKED, "--json", str(kept)]) == 0
    capsys.readouterr()
    assert cli.run(["tile", matrix or file, "--capacity", capacity, "--statistics", str(kept)]) == 2
    found = "the statistics of A are of 34 nonzeros in base tiles of 4 x 4"
    assert capsys.readouterr().err == f"fiberscope: {found}, {wanted}; collect anew\n"


@pytest.mark.parametrize("which", ["empty A", "empty B"])
def test_an_empty_operand_moves_nothing_and_is_warned_of(capsys, file, tmp_path, which):
    empty = written(tmp_path / "empty.mtx", examples.of_points([], (16, 16)))
    operands = (empty, file) if which == "empty A" else (file, empty)
    options = ("--capacity", "43", "--compare", "prescient,tailors,drt", "--measure", "--json", "-")
    assert cli.run(["tile", *operands, *options]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"fiberscope: warning: {empty} has no nonzeros: nothing moves\n"
    found = json.loads(captured.out)
    assert found["schemes"]["d2t2"]["shape"] == {"i": 16, "k": 16, "j": 16}
    assert {scheme["measured"]["total"] for scheme in found["schemes"].values()} == {0}


def test_explicit_zeros_are_left_out_and_entries_at_one_place_are_one(capsys, tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate integer general\n9 9 4\n1 1 1\n1 1 2\n2 3 0\n4 4 1\n")
    assert cli.run(["tile", str(path), "--capacity", "43", "--measure", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"fiberscope: warning: {path}: 1 entries that are zero are left out\n"
    assert json.loads(captured.out)["statistics"]["A"]["nonzeros"] == 2


@pytest.mark.parametrize(
    ("rows", "columns"),
    [([0] * 40, range(40)), (range(40), [0] * 40), ([0], [0]), (range(2), range(2)), (range(37), range(37))],
)
def test_extents_below_and_between_tiles_full_rows_and_columns(capsys, tmp_path, rows, columns):
    points = list(zip(rows, columns, strict=True))
    shape = (max(rows) + 1, max(columns) + 1)
    path = written(tmp_path / "a.mtx", examples.of_points(points, shape))
    found = document(
        capsys, path, "--transpose-b", "--capacity", "515", "--compare", "prescient", "--measure"
    )
    schemes = found["schemes"]
    assert schemes["d2t2"]["fits"]
    assert schemes["d2t2"]["measured"]["total"] <= schemes["conservative"]["measured"]["total"]
    extents = {"i": shape[0], "k": shape[1], "j": shape[0]}
    assert all(one["shape"][index] <= extents[index] for one in schemes.values() for index in "ikj")


def test_three_operands(capsys, tmp_path):
    matrices = [written(tmp_path / f"{name}.mtx", examples.matrix()) for name in "sab"]
    kernel = ("--kernel", "D[i,j] = S[i,j] * A[i,k] * B[k,j]", "--order", "ijk")
    found = document(capsys, *matrices, *kernel, "--capacity", "43", "--measure")
    assert list(found["statistics"]) == ["S", "A", "B"]
    measured = found["schemes"]["conservative"]["measured"]
    assert measured["total"] == sum(measured[name] for name in ("S", "A", "B", "O"))


def test_pictures_show_candidates_and_tiles(capsys, file, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    picture = tmp_path / "tiles.svg"
    assert cli.run(["tile", file, "--transpose-b", *WORKED, "--plot", str(picture)]) == 0
    assert picture.read_text().count("<image") == 4  # A and B, Conservative's and the chosen tiles
    if f"Matplotlib v{matplotlib.__version__}," in PICTURE.read_text():  # another draws letters otherwise
        assert picture.read_text() == PICTURE.read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--order", "ij"], "order ij: it must be a permutation of the kernel's indices i, k, j"),
        (["--compare", "presient"], "no tiling method is called 'presient'; did you mean prescient?"),
        (["--capacity", "6"], "a capacity of 6 words: one nonzero takes 7"),
        (["--set", "base=128"], "a dense tile of 128 x 128 takes 33027 words, the buffer holds 43"),
        (["--order", "ijk", "--compare", "drt"], "C[i,j] = A[i,k] * B[k,j], i j k: drt is for "),
        (["--buffer", "much", "--capacity", ""], "Invalid value for '--capacity'"),
        (["--set", "model=drawn"], "--set: model is drawn; it should be 'printed', 'counted' or 'joint'"),
        (["--kernel", "C[i,j]=A[i,k]*B[k,j]*D[j,j]"], "kernel "),
    ],
)
def test_what_is_wrong_costs_one_line(refusal, file, arguments, says):
    given = arguments if "--capacity" in arguments else ["--capacity", "43", *arguments]
    assert refusal("tile", file, *given).startswith(f"fiberscope: {says}")


def test_statistics_that_are_nested_without_end_are_none(tmp_path, capsys):
    deep = tmp_path / "deep.json"
    deep.write_text(f'{{"statistics": {"[" * 100_000}')
    assert cli.run(["tile", "uniform:rows=9,cols=9,nonzeros=9", "--statistics", str(deep)]) == 2
    said = f"fiberscope: {deep}: it has no statistics of A, B; give what tile --json wrote\n"
    assert capsys.readouterr().err == said


def test_progress_counts_the_steps_and_the_tilings_that_are_measured() -> None:
    news: list[tuple[str, int, int]] = []
    plan = fiberscope.tile(
        "uniform:rows=60,cols=60,nonzeros=300", buffer=800, progress=lambda *at: news.append(at)
    )
    assert news == [("choosing tiles", done, 3) for done in range(3)]
    news.clear()
    lazy = plan.measured, plan.measured_candidates
    plan.measure_all(lambda *at: news.append(at))
    assert (plan.measured, plan.measured_candidates) == lazy
    total = len(plan.schemes) + len(plan.chosen.candidates)
    assert news == [("measuring tiles", done, total) for done in range(total)]
