"""The product of a run, in memory and in a file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fiberscope
from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.results.report.document import Report
from fiberscope.results.report.product import check_product, write_product
from fiberscope.workloads import SparseTensor, load, load_tensor

GIVEN = "uniform:rows=40,cols=40,nonzeros=200"
PRODUCT = "Z(i,j) = A(i,k) * B(k,j)"
CUBE = "1 1 1 1.5\n1 3 2 -2.25\n4 5 6 0.1\n"


pytestmark = pytest.mark.usefixtures("here")


def made() -> Any:
    return fiberscope.simulate("gamma", GIVEN).result


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".mtx", ".NPZ"])
def test_a_product_that_was_written_is_a_workload_again(suffix: str) -> None:
    """To the bit: values have all their digits."""
    assert cli.run(["sim", "gamma", GIVEN, "--product", f"z{suffix}", "--quiet"]) == 0
    assert np.array_equal(load(f"z{suffix}").matrix.toarray(), made().toarray())


@pytest.mark.parametrize(
    "words",
    [
        ["model", "gamma", GIVEN],
        ["sim", "spec:gamma", GIVEN],
        ["sim", "sigma", GIVEN],
        [
            "graph",
            "run",
            PRODUCT,
            "--format",
            "Z:ss,A:ss,B:ss",
            "--order",
            "i,k,j",
            f"A={GIVEN}",
            f"B={GIVEN}",
        ],
    ],
    ids=["trace", "specification", "dense", "graph"],
)
def test_whatever_multiplies_makes_the_same_product(words: list[str]) -> None:
    assert cli.run([*words, "--product", "z.npz", "--quiet"]) == 0
    assert np.allclose(load("z.npz").matrix.toarray(), made().toarray(), rtol=1e-12)


def test_a_result_of_one_rank_is_a_column_and_one_of_three_is_a_tensor() -> None:
    vector = ["graph", "run", "x(i) = A(i,j) * c(j)", "--format", "x:s,A:ss,c:d", f"A={GIVEN}", "c=ones"]
    assert cli.run([*vector, "--product", "x.npy", "--quiet"]) == 0
    assert np.allclose(np.load("x.npy")[:, 0], load(GIVEN).matrix.sum(axis=1))
    cube = ["graph", "run", "X(i,j,k) = B(i,j,k) * c(k)", "--format", "X:sss,B:sss,c:d"]
    Path("b.tns").write_text(CUBE)
    words = [*cube, "B=b.tns", "c=ones"]
    assert cli.run([*words, "--product", "x.tns", "--quiet"]) == 0
    assert Path("x.tns").read_text() == CUBE
    assert load_tensor("x.tns").tensor.equals(load_tensor("b.tns").tensor)
    assert cli.run([*words, "--product", "x.npz", "--quiet"]) == 2
    assert not Path("x.npz").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["sim", "gamma", GIVEN, "--product", "z.csv"],
            "z.csv: a product is written as .npz, .npy, .mtx, .tns",
        ),
        (["sim", "gamma", GIVEN, "--product", "z.mtx.gz"], "a product is written as"),
        (["sim", "gamma", GIVEN, "--product", "no/z.mtx"], "there is no folder no"),
        (["sim", "gamma", "z.mtx", "--product", "z.mtx"], "the product z.mtx: is the matrix A"),
        (["convert", "csr", "csc", GIVEN, "--product", "z.mtx"], "--product: a conversion makes an encoding"),
        (["analyze", "a.yaml", "--product", "z.mtx"], "--product: nothing is computed"),
    ],
)
def test_a_name_that_cannot_be_is_refused_before_anything_runs(words: list[str], told: str, refusal) -> None:
    Path("z.mtx").write_text("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n")
    assert told in refusal(*words)


def test_a_run_that_did_not_end_has_no_product(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["sim", "gamma", GIVEN, "--cycle-limit", "20", "--product", "z.mtx"]) == 0
    assert "no product, as the run is incomplete" in capsys.readouterr().err
    assert not Path("z.mtx").exists()


def test_a_report_is_the_same_with_its_product_and_without(tmp_path: Path) -> None:
    report = fiberscope.simulate("gamma", GIVEN)
    report.write("r.json")
    again = Report.read("r.json")
    assert report.result is not None
    assert again.result is None
    assert again == report


def test_an_array_of_any_ranks_is_written_with_its_zeros_and_read_again(tmp_path: Path) -> None:
    places = (np.array([0, 1]), np.array([2, 0]), np.array([1, 3]))
    cube = SparseTensor((2, 3, 4), places, np.array([5.0, -7.0]))
    write_product(tmp_path / "cube.npy", cube)
    array = np.load(tmp_path / "cube.npy")
    assert (array.shape, array[0, 2, 1], array[1, 0, 3], np.count_nonzero(array)) == ((2, 3, 4), 5, -7, 2)
    assert load_tensor(tmp_path / "cube.npy").tensor.equals(cube)
    large = SparseTensor((1 << 10,) * 3, places, np.ones(2))
    with pytest.raises(InputError, match=r"with its zeros is too large; give a name in \.tns"):
        write_product(tmp_path / "large.npy", large)


def test_what_no_file_can_hold_is_refused() -> None:
    cube = SparseTensor((1, 2, 3), tuple(np.zeros((3, 1), np.int64)), np.ones(1))
    for suffix in (".npz", ".mtx"):
        with pytest.raises(InputError, match="has 3 ranks; give a name in"):
            write_product(Path(f"x{suffix}"), cube)
    with pytest.raises(InputError, match="has no product"):
        write_product(Path("x.npz"), None)
    check_product(Path("x.npz"))
