"""Every function that may stand for ``+`` gives a right sum, wherever the summed loop is; others are refused.

A sum has no order: first and second give any of its values, or and and are right in whether they are 0.
"""

import numpy as np
import pytest
from scipy import sparse

import fiberscope
from fiberscope.models.trace.api import load_outline
from fiberscope.models.trace.program import BUILT_IN, REDUCTIONS
from fiberscope.models.trace.reference import FUNCTIONS
from fiberscope.workloads import from_scipy

SPECIFICATION = """
einsum:
  declaration: {{A: [M, K], Z: [M]}}
  expressions: ['Z[m] = A[m, k]']
  operators: {{Z: {{'+': {function}}}}}
mapping:
  rank-order: {{A: [M, K], Z: [M]}}
  partitioning: {{Z: {partitioning}}}
  loop-order: {{Z: {loops}}}
  spacetime: {{Z: {{space: {space}, time: {time}}}}}
"""
PIECES = "{K: [uniform_shape(3)]}"
MAPPINGS = {
    "in time": ("{}", "[M, K]", "[]", "[M, K]"),
    "outermost": ("{}", "[K, M]", "[]", "[K, M]"),
    "in space": ("{}", "[M, K]", "[K]", "[M]"),
    "rows in space": ("{}", "[M, K]", "[M]", "[K]"),
    "pieces": (PIECES, "[M, K1, K0]", "[]", "[M, K1, K0]"),
    "pieces in space": (PIECES, "[M, K1, K0]", "[K1]", "[M, K0]"),
    "within pieces in space": (PIECES, "[M, K1, K0]", "[K0]", "[M, K1]"),
    "within pieces outermost": (PIECES, "[K0, M, K1]", "[]", "[K0, M, K1]"),
}
# Stored zeros, ones, negative and repeated values
VALUES = {
    (0, 0): 2, (0, 1): 2, (0, 6): 5, (1, 2): 0, (1, 3): 4, (2, 0): 3,
    (2, 4): -3, (2, 5): 1, (3, 1): 7, (4, 0): 1, (4, 3): 0,
}  # fmt: skip


def write(tmp_path, function, mapping):
    fields = dict(zip(("partitioning", "loops", "space", "time"), MAPPINGS[mapping], strict=True))
    path = tmp_path / "my.yaml"
    path.write_text(SPECIFICATION.format(function=function, **fields))
    return str(path)


def run(path):
    rows, columns = zip(*VALUES, strict=True)
    values = np.array(list(VALUES.values()), float)
    matrix = sparse.csr_array((values, (rows, columns)), shape=(6, 7))
    return fiberscope.model(path, tensors={"A": from_scipy(matrix)})


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("function", REDUCTIONS)
def test_a_function_that_reduces_gives_a_right_sum_in_any_order(tmp_path, function, mapping):
    assert run(write(tmp_path, function, mapping)).verification.passed


@pytest.mark.parametrize("function", sorted({name for name, one in BUILT_IN.items() if one.arguments == 2}))
def test_the_functions_that_reduce_are_those_whose_result_has_no_order(function):
    """But for first and second, which choose, and for or and and, whose truth alone is right."""
    triples = [np.array(triple, float) for triple in ((2, 3, 5), (0, 2, 3), (3, 0, 0), (1, 1, 2), (-1, 4, 4))]

    def value(triple, order):
        x, y, z = triple[list(order)]
        results = (
            FUNCTIONS[function](FUNCTIONS[function](x, y), z),
            FUNCTIONS[function](x, FUNCTIONS[function](y, z)),
        )
        return {float(result) for result in results}

    orders = ((0, 1, 2), (2, 0, 1), (1, 0, 2), (2, 1, 0))
    with np.errstate(all="ignore"):
        has_order = any(
            len(set().union(*(value(triple, order) for order in orders))) > 1 for triple in triples
        )
    assert has_order == (function not in REDUCTIONS or function in ("first", "second"))


@pytest.mark.parametrize("function", ["sub", "div", "differs", "less"])
def test_a_function_whose_result_depends_on_the_order_is_refused(tmp_path, function):
    with pytest.raises(fiberscope.ConfigurationError) as refused:
        run(write(tmp_path, function, "in space"))
    assert f"my.yaml:5:24: {function} cannot reduce, as its result may depend on the order" in str(
        refused.value
    )


def test_a_wrong_choice_and_a_wrong_truth_are_found(tmp_path, monkeypatch):
    from fiberscope.models.trace import verify

    points = verify.point_by_point
    for function, changed in (("first", lambda values: values + 10), ("and", lambda values: 0 * values)):
        monkeypatch.setattr(
            verify,
            "point_by_point",
            lambda work, changed=changed: (points(work)[0], changed(points(work)[1])),
        )
        with pytest.raises(fiberscope.VerificationError):
            run(write(tmp_path, function, "in time"))


@pytest.mark.parametrize(
    ("equation", "empty"),
    [
        ("Z[m, n] = A[m, n] * B[m, n]", 0),
        ("Z[m, n] = A[m, n] + B[m, n]", np.inf),
        ("Z[m, n] = C[m, n, k]", np.inf),
        ("Z[m, n] = A[m, k] * B[k, n]", np.inf),
        ("Z[m, n] = A[m, n]", 5),
        ("Z[m, n] = take(B[m, n], A[m, n], 1)", 5),
        ("Z[m, n] = take(B[m, n], A[m, n], 0)", 0),
        ("Z[n, m] = A[m, n] - B[m, n]", 0),
    ],
)
def test_an_output_lacks_the_neutral_value_only_where_its_einsum_adds(tmp_path, equation, empty):
    path = tmp_path / "my.yaml"
    path.write_text(
        "einsum:\n  declaration: {A: [M, N], B: [M, N], C: [M, N, K], Z: [M, N]}\n"
        f"  expressions: ['{equation}']\n  operators: {{Z: {{'+': min}}}}\n  empty: {{A: 5}}\n"
    )
    assert load_outline(str(path), {}).tensors["Z"].empty == empty
