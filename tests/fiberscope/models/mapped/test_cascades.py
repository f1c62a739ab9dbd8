"""Cascades as machines: Einsums that write one tensor again, and renamed tensors."""

import numpy as np
import pytest
from scipy import sparse

import fiberscope
from fiberscope import cli
from fiberscope.models.from_spec.machine import MappedMachine
from fiberscope.models.trace.api import load_outline

SPECIFICATION = """\
einsum:
  declaration: {{{declaration}}}
  expressions: [{expressions}]
"""
VECTORS = "A: [M], B: [M], Z: [M], Y: [M]"
MATRICES = "A: [M, K], B: [K, N], Z: [M, N], Y: [M, N], X: [M, N]"


def vector(nonzeros, seed):
    return sparse.random_array((30, 1), density=nonzeros / 30, rng=np.random.default_rng(seed), format="csr")


OPERANDS = {"A": vector(12, 1), "B": vector(15, 2)}
PAIR = {
    "A": sparse.random_array((9, 7), density=0.3, rng=np.random.default_rng(3), format="csr"),
    "B": sparse.random_array((7, 8), density=0.3, rng=np.random.default_rng(4), format="csr"),
}


def write(tmp_path, declaration, expressions):
    path = tmp_path / "own.yaml"
    quoted = ", ".join(f'"{expression}"' for expression in expressions)
    path.write_text(SPECIFICATION.format(declaration=declaration, expressions=quoted))
    return str(path)


@pytest.mark.parametrize(
    ("expressions", "expected"),
    [
        (["Z[m] = A[m] + B[m]", "Z[m] = A[m] * B[m]"], lambda a, b: a.multiply(b)),
        (["Z[m] = A[m] * B[m]", "Z[m] = Z[m] + B[m]"], lambda a, b: a.multiply(b) + b),
        (["Z[m] = A[m] + B[m]", "Y[m] = Z[m] * A[m]", "Z[m] = Y[m] + Z[m]"], None),
        (["Z[m] = A[m] + B[m]", "Z[m] = Z[m] * Z[m]", "Z[m] = Z[m] * A[m]"], None),
    ],
)
def test_a_tensor_is_written_again(tmp_path, expressions, expected):
    path = write(tmp_path, VECTORS, expressions)
    run, trace = fiberscope.simulate(path, tensors=OPERANDS), fiberscope.model(path, tensors=OPERANDS)
    assert run.verification.passed
    assert trace.verification.passed
    for operation in ("multiply", "add"):
        assert run.operations[operation] == trace.operations.get(operation, 0)
    assert run.product == trace.product
    np.testing.assert_allclose(run.result.toarray(), trace.result.toarray())
    if expected is not None:
        reference = expected(OPERANDS["A"], OPERANDS["B"])
        np.testing.assert_allclose(run.result.toarray(), reference.toarray())


def test_each_result_of_one_tensor_is_verified(tmp_path, monkeypatch, capsys):
    path = write(tmp_path, VECTORS, ["Z[m] = A[m] + B[m]", "Z[m] = A[m] * B[m]"])
    as_it_is = MappedMachine.result

    def first_is_wrong(machine):
        answer = as_it_is(machine)
        answer.outputs["Z"].values[0] += 1
        return answer

    monkeypatch.setattr(MappedMachine, "result", first_is_wrong)
    operands = [f"{name}=uniform:rows=30,cols=1,nonzeros=12,seed={seed}" for seed, name in enumerate("AB")]
    assert cli.run(["sim", path, *operands]) == 3
    assert "wrong" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("expressions", "stages"),
    [
        (["Z[m, n] = A[m, k] * B[k, n]", "Y = Z"], 2),
        (["Z[m, n] = A[m, k] * B[k, n]", "Y = Z", "X[p, q] = Y[p, q] * Y[p, q]"], 3),
    ],
)
def test_a_renamed_tensor_is_copied_in_a_stage_of_its_own(tmp_path, expressions, stages):
    path = write(tmp_path, MATRICES, expressions)
    run, trace = fiberscope.simulate(path, tensors=PAIR), fiberscope.model(path, tensors=PAIR)
    assert run.verification.passed
    assert run.product == trace.product
    assert len([name for name in run.components if name.endswith(".cut")]) == stages
    for operation in ("multiply", "add"):
        assert run.operations[operation] == trace.operations.get(operation, 0)
    copied = run.components["own.y.pe00.fiberwrite_Y_vals"]
    product = (PAIR["A"] @ PAIR["B"]).nnz
    assert copied.busy >= product


def test_a_renamed_tensor_keeps_its_value_when_its_source_is_written_again(tmp_path):
    expressions = ["Z[m] = A[m] + B[m]", "Y = Z", "Z[m] = A[m] * B[m]", "Z[m] = Y[m] - Z[m]"]
    path = write(tmp_path, VECTORS, expressions)
    report = fiberscope.simulate(path, tensors=OPERANDS)
    assert report.verification.passed
    a, b = (OPERANDS[name].toarray() for name in "AB")
    np.testing.assert_allclose(report.result.toarray(), a + b - a * b)


def test_einsums_of_one_tensor_are_numbered_from_the_second_on(tmp_path):
    path = write(
        tmp_path, VECTORS, ["Z[m] = A[m]", "Y[m] = B[m]", "Z[m] = Z[m] + Y[m]", "Z[m] = Z[m] * A[m]"]
    )
    assert [einsum.name for einsum in load_outline(path, {}).einsums] == ["Z", "Y", "Z@2", "Z@3"]


@pytest.mark.parametrize(
    ("expressions", "pair"),
    [
        (["z[m] = A[m] * B[m]", "Z[m] = z[m] + B[m]"], "of z and of Z"),
        (["Z[m] = A[m] * B[m]", "Z[m] = Z[m] + B[m]", "Z_2[m] = Z[m] * A[m]"], "of Z@2 and of Z_2"),
    ],
)
def test_stages_whose_blocks_would_have_the_same_names_are_refused_in_a_line(tmp_path, expressions, pair):
    path = write(tmp_path, "A: [M], B: [M], Z: [M], z: [M], Z_2: [M]", expressions)
    assert fiberscope.model(path, tensors=OPERANDS).verification.passed
    with pytest.raises(fiberscope.ConfigurationError, match=f"the blocks {pair} would .*; rename") as refused:
        fiberscope.simulate(path, tensors=OPERANDS)
    assert "\n" not in str(refused.value)
