"""Chains on machines: each product is that of a run by itself, totals are sums, and all is compared."""

import doctest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from one_line import one_line
from scipy import sparse

import fiberscope
from fiberscope.base.errors import InputError
from fiberscope.results.errors import VerificationError
from fiberscope.results.report.document import Report
from fiberscope.results.report.parts import CIRCUMSTANCES
from fiberscope.run import configure
from fiberscope.run.chains import run as chains_run
from fiberscope.workloads import WorkloadError

GNN = "Y = A X; Z = Y W"
FEW_TILES = {"outerspace": {"tile.count": 4}}  # the shipped one has 256 elements
MACHINES = ("gamma", "extensor", "outerspace", "sigma", "weight_stationary", "spec:gamma")


def drawn(rows: int, columns: int, density: float, seed: int) -> Any:
    """A random matrix with values that do not cancel."""
    matrix: Any = sparse.random_array(
        (rows, columns), density=density, rng=np.random.default_rng(seed), format="csr"
    )
    matrix.data += 0.5
    return matrix


def operands(seed: int = 0) -> dict[str, Any]:
    return {
        "A": drawn(30, 30, 0.1, seed),
        "X": drawn(30, 12, 0.3, seed + 1),
        "W": drawn(12, 5, 0.5, seed + 2),
    }


def dense(matrix: Any) -> Any:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def told(report: Any) -> dict[str, Any]:
    """All that two runs of the same have in common, but for what an operand in memory is called."""
    found: dict[str, Any] = report.model_dump(exclude={*CIRCUMSTANCES, "workload"})
    return found


@pytest.mark.parametrize("machine", MACHINES)
def test_each_product_is_that_of_a_run_by_itself_and_totals_are_sums(machine: str) -> None:
    given = operands()
    settings = FEW_TILES.get(machine, {})
    report = fiberscope.simulate(machine, chain=GNN, settings=settings, **given)
    assert report.chain is not None
    y = fiberscope.simulate(machine, given["A"], given["X"], settings=settings)
    z = fiberscope.simulate(machine, y.result, given["W"], settings=settings)
    assert [told(one) for one in report.chain.steps.values()] == [told(y), told(z)]
    assert report.cycles == y.cycles + z.cycles
    assert report.seconds == y.seconds + z.seconds == report.chain.seconds
    assert report.operations == {name: y.operations[name] + z.operations[name] for name in y.operations}
    moved = [part.read_bytes + part.write_bytes for one in (y, z) for part in one.traffic.values()]
    assert sum(part.read_bytes + part.write_bytes for part in report.traffic.values()) == sum(moved)
    assert report.chain.traffic_bytes == sum(moved)
    for name, component in report.components.items():
        apart = [one.components[name] for one in (y, z) if name in one.components]
        assert component.busy == sum(one.busy for one in apart)
        assert component.cycles == sum(one.cycles for one in apart)
        assert (
            component.cycles
            == component.busy + component.input_stall + component.output_stall + component.idle
        )
    np.testing.assert_allclose(dense(report.result), dense(given["A"] @ given["X"] @ given["W"]), rtol=1e-12)


def test_a_full_product_is_read_with_the_coordinates_it_was_written_with() -> None:
    """Operands without a zero lie as values alone, 8 bytes each; a product has 12 bytes an element."""
    full = np.arange(1.0, 65).reshape(8, 8)
    settings = {"memory.model": "simple", "format.dense": "both"}
    report = fiberscope.simulate("gamma", chain="Y = A X; Z = Y W", A=full, X=full, W=full, settings=settings)
    assert report.chain is not None
    y, z = report.chain.steps.values()
    assert (y.traffic["A"].read_bytes, y.traffic["B"].read_bytes) == (8 * 64, 8 * 64)
    assert z.traffic["A"].read_bytes >= 12 * 64
    assert z.traffic["B"].read_bytes == 8 * 64
    assert report.chain.steps["Z"].config["format"]["dense"] == "B"
    left = fiberscope.simulate("gamma", chain="Y = A X; Z = W Y", A=full, X=full, W=full, settings=settings)
    assert left.chain is not None
    z = left.chain.steps["Z"]
    assert (z.traffic["A"].read_bytes, z.traffic["B"].read_bytes >= 12 * 64) == (8 * 64, True)


def test_traffic_is_told_by_the_names_of_the_chain() -> None:
    report = fiberscope.simulate("gamma", chain=GNN, **operands())
    assert report.chain is not None
    y, z = report.chain.steps.values()
    assert report.traffic["A"] == y.traffic["A"]
    assert report.traffic["W"] == z.traffic["B"]
    assert report.traffic["Z"] == z.traffic["Z"]
    assert report.traffic["Y"].write_bytes == y.traffic["Z"].write_bytes
    assert report.traffic["Y"].read_bytes == z.traffic["A"].read_bytes


@given(
    st.integers(0, 1000), st.sampled_from(["Z = A A A", "Z = P A Q; V = Z Z; U = A Q", "Y = A A; Z = Y Y"])
)
@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_what_comes_out_is_the_chain_of_random_matrices(seed: int, text: str) -> None:
    """Values of both signs, so that sums cancel; the results are all that no product uses."""
    rng = np.random.default_rng(seed)
    a, p, q = (
        sparse.csr_array(rng.integers(-2, 3, shape).astype(float)) for shape in ((9, 9), (7, 9), (9, 7))
    )
    names = fiberscope.run.chains.chain.Chain.parse(text).operands
    report = fiberscope.simulate(
        "gamma", chain=text, tensors={k: v for k, v in zip("APQ", (a, p, q), strict=True) if k in names}
    )
    assert report.verification.passed
    expected = {"Z = A A A": a @ a @ a, "Y = A A; Z = Y Y": a @ a @ a @ a}.get(text, a @ q)
    np.testing.assert_array_equal(dense(report.result), expected.toarray())


def test_a_product_that_is_wrong_on_its_way_to_the_next_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each product is right by itself, of what it was given: only the whole chain tells."""

    def spoilt(matrix: Any, name: str) -> Any:
        changed = matrix.copy()
        changed.data[-1] *= 1.001
        return fiberscope.workloads.from_scipy(changed, name)

    monkeypatch.setattr(chains_run, "from_scipy", spoilt)
    with pytest.raises(VerificationError, match="differ from the products of the operands") as caught:
        fiberscope.simulate("gamma", chain=GNN, **operands())
    chain = caught.value.report.chain
    assert chain is not None
    assert all(step.verification.passed for step in chain.steps.values())
    assert caught.value.report.verification.passed is False


@pytest.mark.parametrize(
    ("kept", "place", "products"),
    [
        ("Y", "written", ["Y"]),  # the result of the first product, on its way to memory
        ("Z", "written", ["Y", "Z"]),  # the last result
        ("Y", "read", ["Y"]),  # on its way to the second product
        ("A", "read", []),  # on its way to the first product
    ],
)
def test_an_interrupted_conversion_leaves_the_products_before_it(
    kept: str, place: str, products: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = chains_run if place == "written" else configure

    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    options: Any = {"chain": GNN, "settings": {f"memory.format.{kept}": "coo"}, **operands()}
    monkeypatch.setattr(home, "convert_operand", interrupted)
    report = fiberscope.simulate("gamma", **options)
    assert (report.complete, report.ending, report.verification.passed) == (False, "interrupted", None)
    assert report.chain is not None
    assert [name for name, step in report.chain.steps.items() if step.complete] == products
    assert report.cycles == sum(step.cycles for step in report.chain.steps.values())


def test_a_product_kept_in_another_format_is_converted_both_ways() -> None:
    plain = fiberscope.simulate("gamma", chain=GNN, **operands())
    report = fiberscope.simulate("gamma", chain=GNN, settings={"memory.format.Y": "coo"}, **operands())
    assert plain.chain is not None
    assert report.chain is not None
    written, read = report.chain.written["Y"], report.chain.steps["Z"].conversions
    assert read is not None
    assert (written.source, written.target) == ("csr", "coo")
    back = read.operands["A"]
    assert (back.source, back.target) == ("coo", "csr")
    assert list(read.operands) == ["A"]
    assert report.chain.steps["Y"].conversions is None
    assert report.cycles == plain.cycles
    more = [one.read_bytes + one.write_bytes for one in (written, back)]
    assert report.chain.traffic_bytes == plain.chain.traffic_bytes + sum(more)
    # beside the machine, bound by the slower of the two, and by what memory moves
    took = []
    for name, converted in (("Y", written), ("Z", back)):
        step = report.chain.steps[name]
        assert step.memory is not None
        moved = sum(part.read_bytes + part.write_bytes for part in step.traffic.values())
        moved += converted.read_bytes + converted.write_bytes
        took.append(max(step.seconds, converted.seconds, moved / step.memory.peak_bytes_per_second))
    assert report.chain.seconds == sum(took)


def test_a_right_factor_is_converted_before_its_product() -> None:
    given = {"settings": {"memory.format.Y": "coo"}, "A": operands()["A"]}
    report = fiberscope.simulate("gamma", chain="Y = A A; Z = A Y", **given)
    assert report.chain is not None
    read = report.chain.steps["Z"].conversions
    assert read is not None
    assert list(read.operands) == ["B"]
    y, written = report.chain.steps["Y"], report.chain.written["Y"]
    z = report.chain.steps["Z"].seconds + read.operands["B"].seconds
    assert y.memory is not None
    assert report.chain.seconds == pytest.approx(max(y.seconds, written.seconds) + z, rel=1e-9)


def test_one_key_keeps_all_products_that_are_used_again_in_a_format() -> None:
    given: dict[str, Any] = {"chain": "X = A A; Y = X A; Z = Y A", "A": operands()["A"]}
    report = fiberscope.simulate("gamma", settings={"between": "coo"}, **given)
    assert report.chain is not None
    assert {name: one.target for name, one in report.chain.written.items()} == {"X": "coo", "Y": "coo"}
    named = {"memory.format.X": "coo", "memory.format.Y": "coo"}
    same = fiberscope.simulate("gamma", settings=named, **given)
    assert (report.seconds, report.traffic) == (same.seconds, same.traffic)
    mixed = {"between": "coo", "memory.format.Y": "csr"}
    chain = fiberscope.simulate("gamma", settings=mixed, **given).chain
    assert chain is not None
    assert list(chain.written) == ["X"]


def test_an_operand_of_a_chain_may_lie_in_another_format() -> None:
    given = {"settings": {"memory.format.W": "rlc", "memory.format.X": "csr"}}
    report = fiberscope.simulate("gamma", chain=GNN, **given, **operands())
    assert report.chain is not None
    y, z = report.chain.steps.values()
    assert y.conversions is None
    assert z.conversions is not None
    assert [(name, one.source) for name, one in z.conversions.operands.items()] == [("B", "rlc")]
    assert report.chain.seconds == y.seconds + z.conversions.seconds


def test_a_chain_that_ends_early_says_so() -> None:
    report = fiberscope.simulate("gamma", chain=GNN, cycle_limit=50, **operands())
    assert report.chain is not None
    assert not report.complete
    assert list(report.chain.steps) == ["Y"]
    assert report.result is None
    assert report.verification.passed is None


@pytest.mark.parametrize(("machine", "tensor"), [("extensor", "PO"), ("outerspace", "T")])
def test_a_matrix_named_as_a_tensor_of_the_machine_has_its_own_traffic(machine: str, tensor: str) -> None:
    given, settings = operands(), FEW_TILES.get(machine, {})
    names = {"chain": f"{tensor} = A X; Z = {tensor} W", "settings": settings}
    plain = fiberscope.simulate(machine, chain=GNN, settings=settings, **given).traffic
    report = fiberscope.simulate(machine, **names, **given).traffic
    assert report.pop(f"{tensor} of the machine") == plain.pop(tensor)
    assert report.pop(tensor) == plain.pop("Y")
    assert report == plain


def test_a_report_of_a_chain_is_read_again_and_shown() -> None:
    report = fiberscope.simulate("gamma", chain=GNN, **operands())
    again = Report.model_validate_json(report.to_json())
    assert again.to_json() == report.to_json()
    shown = again.summary(80)
    assert "gamma: Y = A X; Z = Y W; A is A: 30 x 30" in shown.replace("\n", " ")
    assert "Products" in shown


@pytest.mark.parametrize(
    ("machine", "given", "told"),
    [
        ("graphicionado", {"chain": GNN}, "solves graph, not a product of two matrices"),
        ("gamma", {"chain": "Y = A A", "settings": {"memory.format.Y": "nosuch"}}, "nosuch"),
        (
            "outerspace",
            {"chain": "Y = A A", "settings": {"memory.format.Y": "coo"}},
            "operands of outerspace that can be converted: none",
        ),
        (
            "gamma",
            {"chain": "Y = A A", "settings": {"memory.format.B": "coo"}},
            "operands of gamma that can be converted: A, Y",
        ),
        ("gamma", {"chain": "Y = A A", "waveform": "out.vcd"}, "a waveform records one product"),
        ("gamma", {"chain": "Y = A A; Z = Y V"}, "reads V; give V=MATRIX"),
        ("gamma", {"chain": "Y = A A", "tensors": {"B": "wiki-Vote"}}, "reads no B"),
        ("gamma", {"chain": "Y = A"}, "is no product"),
    ],
)
def test_what_cannot_be_done_costs_a_line(machine: str, given: dict[str, Any], told: str) -> None:
    with one_line((InputError, WorkloadError), told):
        fiberscope.simulate(machine, A=operands()["A"], **given)


def test_a_product_that_does_not_exist_is_named() -> None:
    given = operands()
    with pytest.raises(InputError, match=r"^Z = Y W: A \(Y\) is 30 x 12 and B \(W\) is 30 x 30"):
        fiberscope.simulate("gamma", chain=GNN, A=given["A"], X=given["X"], W=given["A"])


def test_every_example_of_the_page_runs() -> None:
    page = Path(__file__).parents[3] / "docs" / "chains.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


def ranked(links: Any, steps: int) -> Any:
    """PageRank by power iteration, as dense arrays."""
    rank = np.full(links.shape[0], 1 / links.shape[0])
    for _ in range(steps):
        rank = links @ rank
    return rank.reshape(-1, 1)


@pytest.mark.parametrize("machine", ["gamma", "outerspace"])
def test_pagerank_by_products(machine: str) -> None:
    """Links by columns that sum to 1, damped by a column of ones: 0.85 L + 0.15 / n as one matrix."""
    links = drawn(20, 20, 0.2, 3).toarray() + np.eye(20)
    damped = 0.85 * links / links.sum(axis=0) + 0.15 / 20
    text = "; ".join(f"r{number} = G r{number - 1}" for number in range(1, 6))
    given = {"G": damped, "r0": np.full(20, 1 / 20)}
    report = fiberscope.simulate(machine, chain=text, settings=FEW_TILES.get(machine, {}), **given)
    np.testing.assert_allclose(dense(report.result), ranked(damped, 5), rtol=1e-12)
    assert report.result.sum() == pytest.approx(1.0)


def test_multigrid_coarsens_an_operator() -> None:
    """R A P of the Laplacian in one dimension, by linear interpolation, is that of half the points."""
    fine = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(15, 15)).tocsr()
    interpolation = np.zeros((15, 7))
    for coarse in range(7):
        interpolation[2 * coarse : 2 * coarse + 3, coarse] = 0.5, 1.0, 0.5
    report = fiberscope.simulate("extensor", chain="C = R A P", R=interpolation.T, A=fine, P=interpolation)
    coarse = sparse.diags_array([-0.5, 1.0, -0.5], offsets=[-1, 0, 1], shape=(7, 7)).toarray()
    np.testing.assert_allclose(dense(report.result), coarse, atol=1e-15)


def test_a_pruned_layer_on_dense_activations() -> None:
    weights, activations = drawn(16, 24, 0.2, 1), np.random.default_rng(2).random((24, 8))
    report = fiberscope.simulate("sigma", chain="H = W X", W=weights, X=activations)
    np.testing.assert_allclose(report.result, weights @ activations, rtol=1e-12)
