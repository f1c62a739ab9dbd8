"""Values of a type for the tests of all machines: operands, and products by plain sums in a stated order."""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np

NUMPY = {"float32": np.float32, "float64": np.float64}


def reals(matrix: Any, seed: int, scale: int = 3) -> Any:
    """The matrix with any values, of sizes that differ by so many powers of ten either way."""
    generator = np.random.default_rng(seed)
    values = generator.standard_normal(matrix.nnz) * 10.0 ** generator.integers(-scale, scale + 1, matrix.nnz)
    return type(matrix)((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def from_the_left(products: Iterable[tuple[int, Any]]) -> Any:
    """The sum of products, each with its k, one after the other."""
    return reduce(lambda total, one: total + one, (value for _k, value in products))


def check_product(
    found: Any, a: Any, b: Any, kind: Any, summed: Callable[[list[tuple[int, Any]]], Any] = from_the_left
) -> None:
    """Hold a product to the plain one, bit for bit: entries ``summed`` of products in the order of k."""
    entries: dict[tuple[int, int], list[tuple[int, Any]]] = {}
    for m in range(a.shape[0]):
        for one in range(a.indptr[m], a.indptr[m + 1]):
            k, factor = int(a.indices[one]), kind(a.data[one])
            for other in range(b.indptr[k], b.indptr[k + 1]):
                product = factor * kind(b.data[other])
                entries.setdefault((m, int(b.indices[other])), []).append((k, product))
    points = found.tocoo()
    got = dict(zip(zip(*(part.tolist() for part in points.coords), strict=True), points.data, strict=True))
    assert got == {place: float(summed(products)) for place, products in entries.items()}
