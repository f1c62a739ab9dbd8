"""Sparseloop's published results beside those of the designs that ship."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fiberscope.models.analytic.api import evaluated
from fiberscope.models.analytic.distributions import density
from fiberscope.models.analytic.inputs import Case, read_case
from fiberscope.models.analytic.lanes import share_of_steps

__all__ = ["Row", "sparseloop"]

LAYER_CYCLES = 1_592_245  # of Figure 12's seventh layer, as the artifact publishes them

# Figure 13: densities of A and B, and the time over that of dense operands as the artifact gives it.
TENSOR_CORE = {
    (0.9, 1.0): 0.9034,
    (0.9, 0.4): 0.4827,
    (0.7, 1.0): 0.7203,
    (0.7, 0.4): 0.3849,
    (0.5, 1.0): 0.5428,
    (0.5, 0.4): 0.2900,
    (0.3, 1.0): 0.3649,
    (0.3, 0.4): 0.1950,
}
TILE, LANES_A, LANES_B = 32, 8, 16  # elements of each operand that meet, and what of them is taken at once
DENSE_BOUND = 128 / 116  # products a cycle over sums that the accumulators take: it sets the time when dense


@dataclass(frozen=True)
class Row:
    """A published number beside ours.

    Args:
        figure: of the paper.
        case: of the figure.
        what: the number is.
        published: as it stands there, or in the artifact.
        ours: computed now.
        settled: what of ours was taken from what it is held to; empty if nothing was.
    """

    figure: str
    case: str
    what: str
    published: float
    ours: float
    settled: str = ""

    @property
    def error(self) -> float:
        """Ours over the published, less 1."""
        return self.ours / self.published - 1.0


def sparseloop() -> list[Row]:
    """All rows."""
    return [*_pointwise(), *_tensor_core(), *_structured()]


def _pointwise() -> Iterator[Row]:
    layer = read_case(["eyeriss_v2_pe"])
    yield Row("Fig. 12", "layer 7 of MobileNet 0.5, uniform", "cycles", LAYER_CYCLES, _cycles(layer))


def _tensor_core() -> Iterator[Row]:
    for (a, b), published in TENSOR_CORE.items():
        steps = share_of_steps(TILE, a, LANES_A, "artifact") * share_of_steps(TILE, b, LANES_B, "artifact")
        ours, case = steps / DENSE_BOUND, f"densities {a} and {b}"
        yield Row("Fig. 13", case, "time over dense", published, ours, "the artifact's own formula for lanes")


def _structured() -> Iterator[Row]:
    sparse = read_case(["stc"])
    problem = sparse.design.problem
    models = tuple(density(1.0, problem.shape(number)) for number in range(len(problem.tensors)))
    dense = replace(sparse, design=replace(sparse.design, problem=replace(problem, densities=models)))
    yield Row("Sec. VI", "STC, two of four", "speedup over dense", 2.0, _cycles(dense) / _cycles(sparse))


def _cycles(case: Case) -> float:
    return float(evaluated(case).cycles[0])
