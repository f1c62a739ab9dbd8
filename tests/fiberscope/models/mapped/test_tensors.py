"""Specifications on tensors of three and more ranks, from files and arrays, and a layer of two Einsums."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.signal import correlate

import fiberscope
from fiberscope import cli
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.workloads import WorkloadError

EXAMPLES = Path(__file__).parents[4] / "examples" / "specifications"
MTTKRP, CONVOLUTION, LAYER = (str(EXAMPLES / f"{name}.yaml") for name in ("mttkrp", "convolution", "layer"))


def holed(draws, *shape, density=0.4):
    """An array of which so many places are not zero."""
    return np.where(draws.random(shape) < density, draws.random(shape) + 0.5, 0)


def full(result):
    """A product as numpy has it."""
    if sparse.issparse(result):
        return result.toarray()
    dense = np.zeros(result.shape)
    dense[result.coordinates] = result.values if result.shape else result.values.sum()
    return dense


def both(file, expected, settings=None, **tensors):
    """The machine's report; it and the trace agree with what numpy computes and with each other."""
    run = fiberscope.simulate(file, tensors=tensors, settings=settings)
    counted = fiberscope.model(file, tensors=tensors, settings=settings)
    for report in (run, counted):
        assert report.verification.passed
        assert np.allclose(full(report.result), expected, rtol=1e-12)
    assert run.operations["multiply"] == counted.operations.get("multiply", 0)
    uncounted = run.operations["add"] - counted.operations.get("add", 0)
    assert 0 <= uncounted <= counted.teaal.zero_sums
    return run


def write_tns(path, array):
    places = np.argwhere(array)
    path.write_text("".join(f"{' '.join(map(str, place + 1))} {array[tuple(place)]}\n" for place in places))
    return str(path)


@given(
    sizes=st.tuples(*[st.integers(1, 6)] * 4),
    density=st.sampled_from([0.1, 0.5, 1.0]),
    seed=st.integers(0, 99),
)
def test_mttkrp_is_that_of_numpy_and_counts_as_the_trace(sizes, density, seed):
    *cube, columns = sizes
    draws = np.random.default_rng(seed)
    t = holed(draws, *cube, density=density)
    b, c = (holed(draws, size, columns, density=density) for size in cube[1:])
    both(MTTKRP, np.einsum("ikl,kj,lj->ij", t, b, c), {"PES": 2}, T=t, B=b, C=c)


def test_mttkrp_of_a_file_and_its_wave(here, printed):
    draws = np.random.default_rng(1)
    t, b, c = holed(draws, 9, 7, 5), draws.random((7, 4)), draws.random((5, 4))
    write_tns(here / "t.tns", t)
    np.save("b.npy", b)
    np.savez("factors.npz", c=c, other=b)
    words = ["T=t.tns", "B=b.npy", "C=factors.npz:c"]
    assert cli.run(["sim", MTTKRP, *words, "--vcd", "out.vcd", "--product", "z.npy", "-q"]) == 0
    assert np.allclose(np.load("z.npy"), np.einsum("ikl,kj,lj->ij", t, b, c))
    assert "pe00" in Path("out.vcd").read_text()
    assert "WRONG" not in printed("check", MTTKRP, *words, "-q")


@pytest.mark.parametrize(
    ("file", "words", "twice"),
    [
        (MTTKRP, "T=tensor:shape=40x30x20,nonzeros=4000 B=tensor:shape=30x8,nonzeros=240", True),
        (str(EXAMPLES / "row_wise.yaml"), "A=tensor:shape=20x20,nonzeros=90", False),
    ],
)
def test_a_multiplier_of_two_products_is_there_twice(file, words, twice, capsys):
    """With one for both the trace takes longer than the machine, which has one for each."""
    last = "C=tensor:shape=20x8,nonzeros=160" if twice else "B=tensor:shape=20x20,nonzeros=90"
    given = dict(word.split("=", 1) for word in [*words.split(), last])
    run, counted = fiberscope.simulate(file, tensors=given), fiberscope.model(file, tensors=given)
    assert (run.cycles < counted.cycles) == twice
    assert cli.run(["check", file, *words.split(), last, "-q"]) == 0
    told = "leaves out Multiplier: an instance has one for each of an Einsum's operations"
    assert (told in capsys.readouterr().out) == twice


def test_a_file_that_does_not_tell_its_shape_is_as_large_as_the_others(tmp_path):
    draws = np.random.default_rng(2)
    t, b, c = np.zeros((6, 7, 5)), draws.random((7, 3)), draws.random((5, 3))
    t[:4, :3, :2] = draws.random((4, 3, 2))
    file = write_tns(tmp_path / "t.tns", t)
    run = both(MTTKRP, np.einsum("ikl,kj,lj->ij", t, b, c)[:4], T=file, B=b, C=c)
    assert run.product.shape == (4, 3)
    path = tmp_path / "shaped.yaml"
    path.write_text(Path(MTTKRP).read_text().replace("  expressions:", "  shape: {I: 6}\n  expressions:"))
    assert both(str(path), np.einsum("ikl,kj,lj->ij", t, b, c), T=file, B=b, C=c).product.shape == (6, 3)
    with pytest.raises(fiberscope.InputError, match="Z: K is 3 in T, but 2 in B"):
        fiberscope.simulate(MTTKRP, T=file, B=b[:2], C=c)


def test_other_ranks_than_declared_cost_a_line():
    with pytest.raises(WorkloadError, match="T: 3 ranks are asked for, and T is 4 x 4"):
        fiberscope.simulate(MTTKRP, T=np.ones((4, 4)), B=np.ones((4, 2)), C=np.ones((4, 2)))


@pytest.mark.parametrize(("stride", "pad"), [(1, 0), (1, 1), (2, 1)])
def test_a_convolution_as_an_einsum_and_as_a_product(tmp_path, stride, pad):
    draws = np.random.default_rng(3)
    image, filters = holed(draws, 3, 8, 7), holed(draws, 5, 3, 3, 3, density=0.3)
    padded = np.pad(image, [(0, 0), (pad, pad), (pad, pad)])
    expected = np.stack([correlate(padded, one, "valid")[0, ::stride, ::stride] for one in filters])
    np.save(tmp_path / "image.npy", image)
    np.savez(tmp_path / "net.npz", conv1=filters)
    unfolded = f"windows:size=3x3,stride={stride},pad={pad},of={tmp_path}/image.npy"
    weights = f"{tmp_path}/net.npz:conv1"
    run = both(CONVOLUTION, expected, U=unfolded, F=weights)
    product = fiberscope.simulate("gamma", weights, unfolded)
    assert np.allclose(full(product.result).reshape(expected.shape), expected)
    assert product.operations["multiply"] == run.operations["multiply"]


def test_a_convolution_of_computed_indices_counts_as_the_trace(tmp_path):
    draws = np.random.default_rng(4)
    image, filters = holed(draws, 2, 6, 6), holed(draws, 3, 2, 3, 3)
    path = tmp_path / "direct.yaml"
    path.write_text(
        "einsum:\n"
        "  declaration: {I: [C, H, W], F: [M, C, R, S], O: [M, P, Q]}\n"
        '  expressions: ["O[m, p, q] = F[m, c, r, s] * I[c, p + r, q + s]"]\n'
    )
    both(str(path), np.stack([correlate(image, one, "valid")[0] for one in filters]), I=image, F=filters)


def test_a_layer_is_that_of_scipy_and_of_a_chain():
    a, x, w = (
        sparse.random_array(shape, density=0.2, rng=seed, format="csr")
        for seed, shape in enumerate([(20, 20), (20, 12), (12, 6)])
    )
    run = both(LAYER, (a @ x @ w).toarray(), A=a, X=x, W=w)
    row_wise = str(EXAMPLES / "row_wise.yaml")
    chain = fiberscope.simulate(row_wise, chain="Y = A X; Z = Y W", A=a, X=x, W=w, settings={"PES": 8})
    assert chain.operations["multiply"] == run.operations["multiply"]
    assert chain.traffic["Y"] == run.traffic["Y"]
    assert chain.traffic["Y"].read_bytes > 0


@pytest.mark.parametrize(
    ("operands", "expressions", "loops"),
    [
        ("x=m y=m", ["Z[] = x[m] * y[m]"], "Z: [M]"),
        ("A=mk", ["Z[] = A[m, k]"], "Z: [M, K]"),
        ("x=m A=mk y=k", ["Z[] = x[m] * A[m, k] * y[k]"], "Z: [M, K]"),
        ("a= x=m", ["Z[] = a[] * x[m]"], "Z: [M]"),
        ("a= x=m", ["Z[m] = a[] * x[m]"], "Z: [M]"),
        ("a= A=mk y=k", ["Z[m] = a[] * A[m, k] * y[k]"], "Z: [M, K]"),
        ("A=mk y=k x=m", ["Y[m] = A[m, k] * y[k]", "Z[] = x[m] * Y[m]"], "Y: [M, K], Z: [M]"),
    ],
)
@pytest.mark.parametrize(("density", "scalar"), [(0.0, 1.0), (0.4, 1.0), (1.0, 1.0), (0.4, 0.0)])
def test_tensors_without_ranks_are_single_values(operands, expressions, loops, density, scalar, tmp_path):
    subscripts = dict(operand.split("=") for operand in operands.split())
    result = "m" if expressions[-1].startswith("Z[m]") else ""
    ranks = subscripts | {"Z": result} | ({"Y": "m"} if len(expressions) > 1 else {})
    declaration = ", ".join(f"{name}: [{', '.join(letters.upper())}]" for name, letters in ranks.items())
    file = tmp_path / "scalar.yaml"
    file.write_text(
        f"einsum: {{declaration: {{{declaration}}}, expressions: {expressions}}}\n"
        f"mapping: {{rank-order: {{{declaration}}}, loop-order: {{{loops}}}}}\n"
    )
    draws, sizes = np.random.default_rng(7), {"m": 5, "k": 6}
    arrays = {
        name: holed(draws, *(sizes[letter] for letter in letters), density=density if letters else scalar)
        for name, letters in subscripts.items()
    }
    expected = np.einsum(f"{','.join(subscripts.values())}->{result}", *arrays.values())
    expected = expected[:, np.newaxis] if result else expected  # a vector is a matrix of one column
    both(str(file), expected, **arrays)


def test_a_declared_tensor_without_brackets_is_named(tmp_path):
    file = tmp_path / "bare.yaml"
    file.write_text(
        "einsum:\n  declaration: {A: [K], B: [M, K], a: [], Z: [K]}\n  expressions: ['Z[k] = a * A[k]']\n"
    )
    with pytest.raises(ConfigurationError, match=r"Z\[k\] = a \* A\[k\]: a is a tensor; write a\[\]$"):
        fiberscope.simulate(str(file), tensors={"A": np.ones(3)})
    file.write_text(file.read_text().replace("a * A", "B * A"))
    with pytest.raises(ConfigurationError, match=r"B is a tensor; write B\[m, k\]$"):
        fiberscope.model(str(file), tensors={"A": np.ones(3)})


@pytest.mark.parametrize("sums", [2, 3])
def test_instances_that_share_an_output_of_the_task_sum_wait_for_space(sums):
    settings = {"PES": 8, "timing.sums": sums, "timing.depth": 1}
    operand = "uniform:rows=20,cols=20,nonzeros=60"
    report = fiberscope.simulate(str(EXAMPLES / "outer.yaml"), operand, settings=settings)
    assert report.verification.passed


SUMMED_BEFORE_THE_CUT = """\
einsum:
  declaration: {T: [M, N, K], Z: [M, N]}
  expressions: ["Z[m, n] = T[m, n, k]"]
mapping:
  loop-order: {Z: [M, K, N]}
  spacetime: {Z: {space: [M, K], time: [N]}}
"""


def test_instances_that_only_load_values_for_the_task_sum_run(tmp_path):
    path = tmp_path / "summed.yaml"
    path.write_text(SUMMED_BEFORE_THE_CUT)
    cube = holed(np.random.default_rng(1), 4, 5, 6)
    run = both(str(path), cube.sum(axis=2), T=cube)
    assert run.bottleneck
