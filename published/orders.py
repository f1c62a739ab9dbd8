"""Quality of the chosen loop order: every legal order is estimated and run.

python published/orders.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from fiberscope.models.graphs import run
from fiberscope.models.graphs.compiler.choice import candidates
from fiberscope.models.graphs.compiler.language import parse
from fiberscope.models.graphs.formats import Format
from fiberscope.results.errors import DeadlockedRunError, refuse_interrupted
from fiberscope.workloads.expressions.expression import accesses
from fiberscope.workloads.tensor import SparseTensor

KERNELS = {  # expressions of SAM's Table 1, and the size of each variable
    "SpMSpM": ("X(i,j) = B(i,k) * C(k,j)", {"i": 60, "j": 50, "k": 40}),
    "SDDMM": ("X(i,j) = B(i,j) * C(i,k) * D(j,k)", {"i": 40, "j": 36, "k": 8}),
    "MTTKRP": ("X(i,j) = B(i,k,l) * C(j,k) * D(j,l)", {"i": 16, "j": 12, "k": 14, "l": 10}),
    "TTM": ("X(i,j,k) = B(i,j,l) * C(k,l)", {"i": 16, "j": 14, "k": 12, "l": 18}),
}
SEEDS = 3
DENSITIES = {2: 0.08, 3: 0.03}  # density by number of dimensions

Mask = npt.NDArray[np.bool_]
Draw = Callable[[Sequence[int], np.random.Generator], Mask]


def uniform(shape: Sequence[int], draws: np.random.Generator) -> Mask:
    """Return a uniform random mask."""
    return np.asarray(draws.random(shape) < DENSITIES[len(shape)], np.bool_)


def banded(shape: Sequence[int], draws: np.random.Generator) -> Mask:
    """Return a mask of entries near the diagonal, slightly randomized."""
    positions = np.indices(shape) / np.array(shape).reshape(-1, *[1] * len(shape))
    width = np.ptp(positions, axis=0) + 0.02 * draws.random(shape)
    return np.asarray(width <= np.quantile(width, DENSITIES[len(shape)]), np.bool_)


def power_law(shape: Sequence[int], draws: np.random.Generator) -> Mask:
    """Return a random mask whose coordinates have weights of 1 / rank, in random order."""
    probabilities = np.ones(())
    for size in shape:
        weights = 1 / np.arange(1, size + 1)
        probabilities = np.multiply.outer(probabilities, draws.permutation(weights))
    scaled = probabilities * (DENSITIES[len(shape)] * probabilities.size / probabilities.sum())
    return np.asarray(draws.random(shape) < scaled, np.bool_)


KINDS: Mapping[str, Draw] = {"uniform": uniform, "banded": banded, "power law": power_law}


def tensor(entries: Mask) -> SparseTensor:
    """Return a tensor of ones with this mask."""
    columns = tuple(column.astype(np.int64) for column in np.nonzero(entries))
    return SparseTensor(entries.shape, columns, np.ones(len(columns[0])))


def measure_orders(text: str, sizes: Mapping[str, int], draw: Draw, seed: int) -> list[tuple[float, int]]:
    """Return estimated and simulated cycles of every order, the chosen order first.

    An order that deadlocks with channels of 64 tokens runs with unbounded channels.

    Args:
        text: the expression.
        sizes: size of each variable.
        draw: draws the mask of a tensor.
        seed: seed of the tensors.
    """
    assignment, draws = parse(text), np.random.default_rng(seed)
    reads = list(accesses(assignment.expression))
    tensors = {access.tensor: tensor(draw([sizes[v] for v in access.variables], draws)) for access in reads}
    formats = {
        access.tensor: Format("s" * len(access.variables), tuple(range(len(access.variables))))
        for access in (*reads, assignment.result)
    }
    pairs = []
    for candidate in candidates(assignment, formats, tensors, tensors):
        try:
            report = refuse_interrupted(run(candidate.graph, tensors, {"depth": 64}))
        except DeadlockedRunError:
            report = refuse_interrupted(run(candidate.graph, tensors, {"depth": 0}))
        pairs.append((candidate.expected.cycles, report.cycles))
    return pairs


def rows() -> Iterator[tuple[str, str, int, int, float, float, float]]:
    """Yield per kernel and kind of tensors: orders, best choices, mean and worst loss, and error."""
    for kernel, (text, sizes) in KERNELS.items():
        for kind, draw in KINDS.items():
            losses, errors, orders = [], [], 0
            for seed in range(SEEDS):
                measurements = measure_orders(text, sizes, draw, seed)
                best, orders = min(cycles for _expected, cycles in measurements), len(measurements)
                losses.append(measurements[0][1] / best - 1)
                errors += [abs(expected / cycles - 1) for expected, cycles in measurements]
            hits = sum(loss == 0 for loss in losses)
            yield kernel, kind, orders, hits, float(np.mean(losses)), max(losses), float(np.mean(errors))


def main() -> None:
    """Print the table."""
    print("| kernel | tensors | orders | best of all | loss, mean | worst | error of cycles, mean |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kernel, kind, orders, hits, mean, worst, error in rows():
        print(
            f"| {kernel} | {kind} | {orders} | {hits} of {SEEDS} | {mean:.1%} | {worst:.1%} | {error:.1%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
