"""A and B by name are the factors of a specification's product, as in order and as of the machine by hand."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import fiberscope
from fiberscope.base.errors import InputError

EXAMPLES = Path(__file__).parents[4] / "examples" / "specifications"
ROW_WISE = str(EXAMPLES / "row_wise.yaml")
SMALL_TILES = {"pe.count": 5, "pe.tile": 4, "tile.m": 2, "tile.k": 2, "tile.n": 3}


def drawn(rows, columns, seed):
    generator = np.random.default_rng(seed)
    return sparse.random_array((rows, columns), density=0.2, rng=generator, format="csr")


@pytest.mark.parametrize(
    "name",
    ["gamma", "gamma-reduce", "gamma-figure", "extensor", pytest.param("outerspace", marks=pytest.mark.slow)],
)
def test_a_product_by_name_is_the_machines(name):
    """Both operands are square, so each of four products could be meant."""
    settings = {"extensor": SMALL_TILES, "outerspace": {"tile.count": 1, "l1.count": 1}}.get(name, {})
    a, b = drawn(20, 20, 1), drawn(20, 20, 2)
    machine = fiberscope.simulate(name.partition("-")[0], A=a, B=b)
    by_name = fiberscope.simulate(f"spec:{name}", A=a, B=b, settings=settings)
    in_order = fiberscope.simulate(f"spec:{name}", a, b, settings=settings)
    assert abs(by_name.result - a @ b).max() < 1e-9
    assert abs(machine.result - a @ b).max() < 1e-9
    assert by_name.operations == in_order.operations
    assert by_name.cycles == in_order.cycles
    assert by_name.traffic == in_order.traffic


@pytest.mark.parametrize("run", [fiberscope.simulate, fiberscope.model])
def test_a_alone_is_both_factors_as_in_order(run):
    a = drawn(20, 20, 1)
    by_name, in_order = run(ROW_WISE, tensors={"A": a}), run(ROW_WISE, a)
    assert abs(by_name.result - a @ a).max() < 1e-9
    assert by_name.workload == in_order.workload
    assert by_name.traffic == in_order.traffic
    for machine in ("gamma", "spec:gamma"):
        assert abs(fiberscope.simulate(machine, A=a).result - a @ a).max() < 1e-9


def test_a_alone_is_refused_where_it_is_no_matrix_or_other_tensors_are_read():
    with pytest.raises(InputError, match=r"mttkrp\.yaml reads tensor B, which is not given"):
        fiberscope.model(str(EXAMPLES / "mttkrp.yaml"), tensors={"T": np.ones((2, 2, 2))})
    with pytest.raises(InputError, match=r"row_wise\.yaml reads tensor A, which is not given"):
        fiberscope.model(ROW_WISE, tensors={"B": np.ones((2, 2))})


def test_a_specification_of_ones_own_reads_its_factors_alike(tmp_path):
    """Both ways of declaring each operand: the rows of A and the columns of B are those of the product."""
    a, b = drawn(12, 12, 1), drawn(12, 12, 2)
    text = (EXAMPLES / "row_wise.yaml").read_text()
    for ranks_of_a, ranks_of_b in (("M, K", "K, N"), ("K, M", "K, N"), ("M, K", "N, K"), ("K, M", "N, K")):
        declared = f"declaration: {{A: [{ranks_of_a}], B: [{ranks_of_b}], Z: [M, N]}}"
        indices = f"Z[m, n] = A[{ranks_of_a.lower()}] * B[{ranks_of_b.lower()}]"
        path = tmp_path / "own.yaml"
        changed = text.replace("declaration: {A: [M, K], B: [K, N], Z: [M, N]}", declared)
        path.write_text(changed.replace("Z[m, n] = A[m, k] * B[k, n]", indices))
        for report in (fiberscope.simulate(str(path), A=a, B=b), fiberscope.simulate(str(path), a, b)):
            assert abs(report.result - a @ b).max() < 1e-9
