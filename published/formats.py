"""Cost of formats: cycles of kernels whose levels are all dense, all compressed or all bit vectors.

python published/formats.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from fiberscope.models.graphs import compile_expression, run
from fiberscope.results.errors import refuse_interrupted

Shape = tuple[int, ...]
WIDE: Mapping[str, Shape] = {"B": (200, 200), "C": (200, 200), "c": (200,)}
NARROW: Mapping[str, Shape] = {"B": (60, 60), "C": (60, 60)}
PRODUCT = "X(i,j) = B(i,k) * C(k,j)"
KERNELS: Mapping[str, tuple[str, str, str, Mapping[str, Shape]]] = {  # with L for the letter of a format
    "SpMV `ij`": ("x(i) = B(i,j) * c(j)", "x:L,B:LL,c:L", "ij", WIDE),
    r"SpM\*SpM `ikj`": (PRODUCT, "X:LL,B:LL,C:LL", "ikj", NARROW),
    r"SpM\*SpM `ijk`": (PRODUCT, "X:LL,B:LL,C:LL:10", "ijk", NARROW),
    r"B(i,j) \* C(i,j)": ("X(i,j) = B(i,j) * C(i,j)", "X:LL,B:LL,C:LL", "ij", WIDE),
    "B(i,j) + C(i,j)": ("X(i,j) = B(i,j) + C(i,j)", "X:LL,B:LL,C:LL", "ij", WIDE),
}
FILLS = (0.05, 0.5)


def cycles(name: str, letter: str, fill: float) -> int:
    """Return the cycles of a kernel on tensors that are equal in all formats."""
    text, formats, order, shapes = KERNELS[name]
    draws = np.random.default_rng(0)
    operands = {
        tensor: draws.integers(1, 9, shape) * (draws.random(shape) < fill)
        for tensor, shape in shapes.items()
        if f"{tensor}:" in formats
    }
    graph = compile_expression(text, [formats.replace("L", letter)], list(order)).graph
    return int(refuse_interrupted(run(graph, operands)).cycles)


def lines() -> Iterator[str]:
    """Yield the table of ``docs/compiler.md``."""
    yield "| kernel | entries | d | s | b |"
    yield "| --- | --- | --- | --- | --- |"
    for name in KERNELS:
        for fill in FILLS:
            cells = (f"{cycles(name, letter, fill):,}" for letter in "dsb")
            yield f"| {name} | {fill:.0%} | {' | '.join(cells)} |"


if __name__ == "__main__":
    print("\n".join(lines()))
