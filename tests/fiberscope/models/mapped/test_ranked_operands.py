"""Operands whose names have ranks: ``A[m, k]=a.mtx`` and ``A_MK=a.mtx``, in Python ``A_MK=a``."""

import json

import numpy as np
import pytest
from one_line import one_line
from scipy import sparse

import fiberscope
from fiberscope import cli
from fiberscope.workloads import WorkloadError
from fiberscope.workloads.ranked_names import split_ranks
from fiberscope.workloads.tensor import SparseTensor

PRODUCT = """\
einsum:
  declaration: {A: [K, M], B: [K, N], Z: [M, N]}
  expressions: ["Z[m, n] = A[k, m] * B[k, n]"]
"""
TENSORS = """\
einsum:
  declaration: {T: [I, J, K], x: [K], Z: [I, J]}
  expressions: ["Z[i, j] = T[i, j, k] * x[k]"]
"""
SQUARE = sparse.csr_array(np.array([[0, 2, 3], [5, 0, 0], [0, 0, 7.0]]))
OTHER = sparse.csr_array(np.array([[0, 1, 0], [0, 0, 4], [6, 0, 0.0]]))
RUNS = [fiberscope.simulate, fiberscope.model]


def write(tmp_path, text=PRODUCT):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    ("names", "product"),
    [
        (("A", "B"), SQUARE @ OTHER),
        (("A[m, k]", "B[k, n]"), SQUARE @ OTHER),
        (("A[k,m]", "B"), SQUARE.T @ OTHER),
        (("A_KM", "B_NK"), SQUARE.T @ OTHER.T),
        (("A_MK", "B_NK"), SQUARE @ OTHER.T),
    ],
)
def test_ranks_in_the_name_say_what_rows_and_columns_are(tmp_path, run, names, product):
    report = run(write(tmp_path), tensors=dict(zip(names, (SQUARE, OTHER), strict=True)))
    assert report.verification.passed
    np.testing.assert_allclose(report.result.toarray(), product.toarray())


def test_ranks_are_a_keyword_in_python(tmp_path):
    report = fiberscope.simulate(write(tmp_path), A_KM=SQUARE, B=OTHER)
    np.testing.assert_allclose(report.result.toarray(), (SQUARE.T @ OTHER).toarray())


@pytest.mark.parametrize("run", RUNS)
def test_one_operand_with_ranks_is_both_factors_of_a_square(tmp_path, run):
    """B is the same file, with rows K."""
    report = run(write(tmp_path), tensors={"A[k, m]": SQUARE})
    np.testing.assert_allclose(report.result.toarray(), (SQUARE.T @ SQUARE).toarray())


@pytest.mark.parametrize("run", RUNS)
def test_a_tensor_of_three_ranks_is_given_in_any_order(tmp_path, run):
    shape, columns = (2, 3, 4), np.array([[0, 0, 1, 1], [0, 2, 1, 2], [3, 0, 1, 1]])
    tensor = SparseTensor.from_coordinates(shape, [*columns], np.array([1.0, 2, 3, 4]))
    turned = SparseTensor.from_coordinates((4, 2, 3), [*columns[[2, 0, 1]]], np.array([1.0, 2, 3, 4]))
    x = sparse.csr_array(np.array([[1.0], [2], [0], [3]]))
    plain = run(write(tmp_path, TENSORS), tensors={"T": tensor, "x": x})
    ranked = run(write(tmp_path, TENSORS), tensors={"T[k, i, j]": turned, "x[k]": x})
    np.testing.assert_allclose(plain.result.toarray(), ranked.result.toarray())


@pytest.mark.parametrize("command", ["sim", "model", "check"])
def test_commands_take_ranks_and_say_them(tmp_path, command, capsys):
    report = tmp_path / "report.json"
    operands = ["A[k,m]=uniform:rows=8,cols=5,nonzeros=20", "B_KN=uniform:rows=8,cols=6,nonzeros=20"]
    assert cli.run([command, write(tmp_path), *operands, "--json", str(report)]) == 0
    if command != "check":
        shown = capsys.readouterr().out.replace("\n", " ")
        assert "A[k, m]: 8 x 5" in shown
        assert "B[k, n]: 8 x 6" in shown
        workload = json.loads(report.read_text())["workload"]
        assert (workload["tensor"], workload["b"]["tensor"]) == ("A[k, m]", "B[k, n]")
        assert cli.run(["rerun", str(report)]) == 0


def test_a_sweep_takes_ranks(tmp_path):
    workload = "A_KM=uniform:rows=8,cols=5,nonzeros=20 B[k,n]=uniform:rows=8,cols=6,nonzeros=20"
    study = tmp_path / "study.yaml"
    study.write_text(f"accelerator: {write(tmp_path)}\nworkloads: ['{workload}']\n")
    assert cli.run(["sweep", str(study), "--store", str(tmp_path / "store"), "--workers", "1", "-q"]) == 0


def test_operands_by_name_say_the_ranks_that_they_are_read_with(tmp_path):
    report = fiberscope.simulate(write(tmp_path), A=SQUARE, B=OTHER)
    assert [operand.tensor for operand in report.workload.operands] == ["A[m, k]", "B[k, n]"]
    assert fiberscope.simulate(write(tmp_path), SQUARE, OTHER).workload.tensor == ""


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ({"A[k, x]": SQUARE}, "A[k, x]: A has other ranks; write A[k, m], in any order"),
        ({"A[k]": SQUARE}, "A[k]: A has other ranks; write A[k, m], in any order"),
        ({"A_MK": SQUARE, "A": SQUARE}, "A is given twice; leave one out"),
    ],
)
@pytest.mark.parametrize("run", RUNS)
def test_wrong_ranks_are_refused(tmp_path, run, tensors, said):
    with one_line(WorkloadError, said):
        run(write(tmp_path), tensors=tensors)


def test_a_tensor_may_be_called_as_one_with_ranks():
    declared = {"A": ("M", "K"), "A_MK": ("M",), "T": ("I", "K1")}
    assert split_ranks("A_MK", declared) == ("A_MK", ())
    assert split_ranks("A_KM", declared) == ("A", ("K", "M"))
    assert split_ranks("T_K1I", declared) == ("T", ("K1", "I"))
    assert split_ranks("B_KM", declared) == ("B_KM", ())
