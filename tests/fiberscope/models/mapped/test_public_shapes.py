"""Mappings of the kinds that public files of the language have, drawn small: each runs as a machine.

The kinds are those of the compiler's tests, the artifact of the paper and the notebooks of machines that were
published; the files here are written anew.
"""

import json
from dataclasses import dataclass, field

import numpy as np
import pytest

import fiberscope

SIZE = 6  # of a rank that does not say


@dataclass(frozen=True)
class Shape:
    """One cascade with its mapping; ``expected`` is of the last output, in numpy's notation."""

    einsums: tuple[str, ...]
    declared: dict[str, str]
    orders: dict[str, str] = field(default_factory=dict)
    parts: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    loops: dict[str, str] = field(default_factory=dict)
    space: dict[str, str] = field(default_factory=dict)
    expected: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    settings: dict[str, int] = field(default_factory=dict)

    def text(self) -> str:
        """The file."""
        loops = {name: order.split() for name, order in self.loops.items()}
        spaces = {name: ranks.split() for name, ranks in self.space.items()}
        spacetime = {
            name: {
                "space": spaces.get(name, []),
                "time": [
                    loop
                    for loop in order
                    if loop not in [each.split(".")[0] for each in spaces.get(name, [])]
                ],
            }
            for name, order in loops.items()
            if name in spaces
        }
        return json.dumps(
            {
                "einsum": {
                    "declaration": {name: ranks.split() for name, ranks in self.declared.items()},
                    "expressions": list(self.einsums),
                },
                "mapping": {
                    "rank-order": {name: order.split() for name, order in self.orders.items()},
                    "partitioning": self.parts,
                    "loop-order": loops,
                    "spacetime": spacetime,
                },
            },
            indent=1,
        )


MATMUL = {"A": "K M", "B": "K N", "Z": "M N"}
PRODUCT = ("Z[m, n] = A[k, m] * B[k, n]",)
CASCADE = {**MATMUL, "T": "K M N"}
OUTER = ("T[k, m, n] = A[k, m] * B[k, n]", "Z[m, n] = T[k, m, n]")
IMAGE = {"I": "C H W", "F": "P C R S", "O": "P E G"}
WINDOWS = ("O[p, e, g] = I[c, e + r, g + s] * F[p, c, r, s]",)
FILTER = {"R": 2, "S": 3, "C": 2, "P": 4}

SHAPES = {
    "two ranks tiled twice": Shape(
        PRODUCT,
        MATMUL,
        parts={"Z": {rank: ["uniform_shape(4)", "uniform_shape(2)"] for rank in "KMN"}},
        loops={"Z": "N2 K2 M2 K1 M1 N1 M0 N0 K0"},
        space={"Z": "N1"},
        expected="mk,kn->mn",
    ),
    "array of multipliers": Shape(
        PRODUCT,
        MATMUL,
        parts={"Z": {"K": ["uniform_shape(4)"], "M": ["uniform_shape(4)"]}},
        loops={"Z": "K1 M1 N K0 M0"},
        space={"Z": "K0 M0"},
        expected="mk,kn->mn",
    ),
    "pieces by occupancy of two operands": Shape(
        PRODUCT,
        MATMUL,
        {"A": "M K", "B": "N K"},
        {"Z": {"K": ["uniform_occupancy(A.2)"], "N": ["uniform_occupancy(B.2)"]}},
        {"Z": "M N1 N0 K1 K0"},
        {"Z": "K0 N0"},
        "mk,kn->mn",
    ),
    "stationary elements, inner product": Shape(
        PRODUCT,
        MATMUL,
        {"A": "M K", "B": "N K", "Z": "N M"},
        {"Z": {"(M, K)": ["flatten()"], "MK": ["uniform_occupancy(A.4)"]}},
        {"Z": "MK1 N MK0"},
        {"Z": "MK0"},
        "mk,kn->mn",
    ),
    "stationary elements, outer product": Shape(
        OUTER,
        CASCADE,
        {"T": "M K N"},
        {
            "T": {"(K, M)": ["flatten()"], "KM": ["uniform_occupancy(A.4)"]},
            "Z": {"K": ["uniform_occupancy(T.4)"]},
        },
        {"T": "KM1 KM0 N", "Z": "M K1 K0 N"},
        {"T": "KM0", "Z": "K0"},
        "mk,kn->mn",
    ),
    "stationary elements, row-wise product": Shape(
        OUTER,
        CASCADE,
        {"A": "M K", "T": "M K N"},
        {
            "T": {"(M, K)": ["flatten()"], "MK": ["uniform_occupancy(A.4)"]},
            "Z": {"(M, K)": ["flatten()"], "MK": ["uniform_occupancy(T.4)"]},
        },
        {"T": "MK1 MK0 N", "Z": "MK1 MK0 N"},
        {"T": "MK0", "Z": "MK0"},
        "mk,kn->mn",
    ),
    "elements by level, then rows": Shape(
        OUTER,
        CASCADE,
        {"T": "M K N"},
        {
            "T": {"(K, M)": ["flatten()"], "KM": ["uniform_occupancy(A.6)", "uniform_occupancy(A.3)"]},
            "Z": {"M": ["uniform_occupancy(T.4)", "uniform_occupancy(T.2)"]},
        },
        {"T": "KM2 KM1 KM0 N", "Z": "M2 M1 M0 N K"},
        {"T": "KM1 KM0", "Z": "M1 M0"},
        "mk,kn->mn",
    ),
    "folds of chosen elements": Shape(
        (
            "S[k, m] = take(A[k, m], B[k, n], 0)",
            "T[k, m] = take(A[k, m], S[k, m], 0)",
            "Z[m, n] = T[k, m] * B[k, n]",
        ),
        {**MATMUL, "S": "K M", "T": "K M"},
        parts={"Z": {"K": ["uniform_shape(3)"], "(M, K0)": ["flatten()"], "MK0": ["uniform_occupancy(T.4)"]}},
        loops={"S": "K M N", "T": "K M", "Z": "K1 MK01 MK00 N"},
        space={"Z": "MK00"},
        expected="mk,kn->mn",
    ),
    "alike copies of several tasks": Shape(
        ("S[m] = take(A[m], B[n, m], 0)",),
        {"A": "M", "B": "N M", "S": "M"},
        loops={"S": "N M"},
        space={"S": "N"},
    ),
    "panels with flattened elements": Shape(
        PRODUCT,
        MATMUL,
        {"A": "M K"},
        {
            "Z": {
                "K": ["uniform_shape(4)", "uniform_shape(2)"],
                "M": ["uniform_shape(4)", "uniform_shape(2)"],
                "(M0, K0)": ["flatten()"],
            }
        },
        {"Z": "K2 M2 M1 K1 M0K0 N"},
        {"Z": "M1.coord"},
        "mk,kn->mn",
    ),
    "sampled product of panels": Shape(
        ("Z[m, n] = A[k, m] * B[k, n] * C[m, n]",),
        {**MATMUL, "C": "M N"},
        {"A": "M K"},
        {
            "Z": {
                "M": ["uniform_shape(4)", "uniform_shape(2)"],
                "N": ["uniform_shape(4)", "uniform_shape(2)"],
                "(M0, N0)": ["flatten()"],
            }
        },
        {"Z": "N2 M2 M1 N1 M0N0 K"},
        {"Z": "M1.coord"},
        "km,kn,mn->mn",
    ),
    "elements of a vector product shared out": Shape(
        ("Z[i] = A[i, j] * B[j]",),
        {"A": "I J", "B": "J", "Z": "I"},
        parts={"Z": {"(I, J)": ["flatten()"], "IJ": ["uniform_occupancy(A.3)"]}},
        loops={"Z": "IJ1 IJ0"},
        space={"Z": "IJ1"},
        expected="ij,j->i",
    ),
    "elements of a matrix product shared out": Shape(
        ("Z[m, n] = A[m, k] * B[k, n]",),
        {"A": "M K", "B": "K N", "Z": "M N"},
        parts={"Z": {"(M, K)": ["flatten()"], "MK": ["uniform_occupancy(A.3)"]}},
        loops={"Z": "MK1 MK0 N"},
        space={"Z": "MK1"},
        expected="mk,kn->mn",
    ),
    "convolution without a mapping": Shape(
        ("O[x, y] = I[x + r, y + s] * F[r, s]",), {"I": "M N", "F": "R S", "O": "X Y"}, sizes=FILTER
    ),
    "row-stationary convolution": Shape(
        WINDOWS,
        IMAGE,
        parts={"O": {"P": ["uniform_shape(2)"], "C": ["uniform_shape(1)"]}},
        loops={"O": "C1 P1 C0 P0 G E R S"},
        space={"O": "E R"},
        sizes=FILTER,
    ),
    "convolution with rows of the output in pieces": Shape(
        WINDOWS,
        IMAGE,
        parts={"O": {"P": ["uniform_shape(2)"], "E": ["uniform_shape(4)", "uniform_shape(2)"]}},
        loops={"O": "P1 C P0 G E2 E1 E0 R S"},
        space={"O": "P1 E1 E0 R"},
        sizes=FILTER,
    ),
    "convolution in strides": Shape(
        ("O[p, e, g] = I[c, 2*e + r, 2*g + s] * F[p, c, r, s]",),
        IMAGE,
        parts={"O": {"P": ["uniform_shape(2)"], "C": ["uniform_shape(1)"]}},
        loops={"O": "P1 C1 C0 P0 G E R S"},
        space={"O": "P1 C1 P0 R"},
        sizes={**FILTER, "H": 9, "W": 9},
    ),
    "a product and a sum with numbers": Shape(
        ("T[m, n] = A[k, m] * B[k, n]", "Z[m, n] = a * T[m, n] + b * C[m, n]"),
        {**MATMUL, "T": "M N", "C": "M N"},
        settings={"a": 2, "b": 3},
    ),
    "one output of two Einsums": Shape(
        ("Z[m, n] = A[m, n] + B[m, n]", "Z[m, n] = A[m, n] * B[m, n]"),
        {"A": "M N", "B": "M N", "Z": "M N"},
        expected="mn,mn->mn",
    ),
    "tensor times matrices in two steps": Shape(
        ("T[i, j, f] = A[i, j, k] * C[k, f]", "Y[i, f] = T[i, j, f] * B[j, f]"),
        {"A": "I J K", "B": "J F", "C": "K F", "T": "I J F", "Y": "I F"},
        parts={
            "T": {
                "I": ["uniform_shape(2)"],
                "J": ["uniform_shape(3)"],
                "F": ["uniform_shape(4)", "uniform_shape(2)"],
            },
            "Y": {
                "I": ["uniform_shape(2)"],
                "J": ["uniform_shape(3)"],
                "F": ["uniform_shape(4)", "uniform_shape(2)"],
            },
        },
        loops={"T": "I1 I0 F2 J1 J0 K F1 F0", "Y": "I1 I0 F2 J1 J0 F1 F0"},
        space={"T": "I1 F1 F0", "Y": "I1 F1 F0"},
        expected="ijk,jf,kf->if",
    ),
}


def drawn(shape):
    """Tensors by name, of small whole numbers."""
    draws = np.random.default_rng(3)
    computed = {einsum.partition("=")[0].partition("[")[0].strip() for einsum in shape.einsums}
    tensors = {}
    for name, ranks in shape.declared.items():
        sizes = [shape.sizes.get(rank, SIZE) for rank in ranks.split()]
        if name not in computed:
            tensors[name] = np.where(draws.random(sizes) < 0.5, draws.integers(1, 9, sizes), 0).astype(float)
    return tensors


@pytest.mark.parametrize("name", SHAPES)
def test_a_mapping_of_a_public_kind_runs_and_counts_as_the_trace(name, tmp_path):
    shape = SHAPES[name]
    file = tmp_path / "shape.yaml"
    file.write_text(shape.text())
    tensors = drawn(shape)
    run = fiberscope.simulate(str(file), tensors=tensors, settings=shape.settings)
    counted = fiberscope.model(str(file), tensors=tensors, settings=shape.settings)
    assert run.verification.passed
    assert run.operations["multiply"] == counted.operations.get("multiply", 0)
    assert 0 <= run.operations["add"] - counted.operations.get("add", 0) <= counted.teaal.zero_sums
    if shape.expected:
        result = run.result.toarray() if hasattr(run.result, "toarray") else run.result
        if not isinstance(result, np.ndarray):
            dense = np.zeros(result.shape)
            dense[result.coordinates] = result.values
            result = dense
        expected = np.einsum(shape.expected, *tensors.values())
        assert np.allclose(result.reshape(expected.shape), expected)  # a vector is a matrix of one column
