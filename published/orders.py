"""How good the choice of an order of loops is: every legal order is estimated, and every one is run.

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
from fiberscope.results.errors import DeadlockedRunError
from fiberscope.workloads.expressions.expression import accesses
from fiberscope.workloads.tensor import SparseTensor

KERNELS = {  # expressions of SAM's Table 1, and the size of each variable
    "SpMSpM": ("X(i,j) = B(i,k) * C(k,j)", {"i": 60, "j": 50, "k": 40}),
    "SDDMM": ("X(i,j) = B(i,j) * C(i,k) * D(j,k)", {"i": 40, "j": 36, "k": 8}),
    "MTTKRP": ("X(i,j) = B(i,k,l) * C(j,k) * D(j,l)", {"i": 16, "j": 12, "k": 14, "l": 10}),
    "TTM": ("X(i,j,k) = B(i,j,l) * C(k,l)", {"i": 16, "j": 14, "k": 12, "l": 18}),
}
SEEDS = 3
FILL = {2: 0.08, 3: 0.03}  # of matrices and of tensors of three dimensions

Mask = npt.NDArray[np.bool_]
Draw = Callable[[Sequence[int], np.random.Generator], Mask]


def uniform(shape: Sequence[int], draws: np.random.Generator) -> Mask:
    """Every entry as likely."""
    return np.asarray(draws.random(shape) < FILL[len(shape)], np.bool_)


def banded(shape: Sequence[int], draws: np.random.Generator) -> Mask:
    """Entries near the diagonal, a little random."""
    places = np.indices(shape) / np.array(shape).reshape(-1, *[1] * len(shape))
    width = np.ptp(places, axis=0) + 0.02 * draws.random(shape)
    return np.asarray(width <= np.quantile(width, FILL[len(shape)]), np.bool_)


def power_law(shape: Sequence[int], draws: np.random.Generator) -> Mask:
    """Coordinates whose weights fall as 1 / rank, in random order."""
    chance = np.ones(())
    for size in shape:
        weights = 1 / np.arange(1, size + 1)
        chance = np.multiply.outer(chance, draws.permutation(weights))
    scaled = chance * (FILL[len(shape)] * chance.size / chance.sum())
    return np.asarray(draws.random(shape) < scaled, np.bool_)


KINDS: Mapping[str, Draw] = {"uniform": uniform, "banded": banded, "power law": power_law}


def tensor(entries: Mask) -> SparseTensor:
    """A tensor that is 1 at these places."""
    columns = tuple(column.astype(np.int64) for column in np.nonzero(entries))
    return SparseTensor(entries.shape, columns, np.ones(len(columns[0])))


def measured(text: str, sizes: Mapping[str, int], draw: Draw, seed: int) -> list[tuple[float, int]]:
    """Of every order the cycles that were expected and those of the run, the order that is chosen first."""
    assignment, draws = parse(text), np.random.default_rng(seed)
    reads = list(accesses(assignment.expression))
    tensors = {one.tensor: tensor(draw([sizes[v] for v in one.variables], draws)) for one in reads}
    formats = {
        one.tensor: Format("s" * len(one.variables), tuple(range(len(one.variables))))
        for one in (*reads, assignment.result)
    }
    found = []
    for one in candidates(assignment, formats, tensors, tensors):
        try:
            found.append((one.expected.cycles, run(one.graph, tensors, {"depth": 64}).cycles))
        except DeadlockedRunError:
            found.append((one.expected.cycles, run(one.graph, tensors, {"depth": 0}).cycles))
    return found


def rows() -> Iterator[tuple[str, str, int, int, float, float, float]]:
    """Of each kernel and kind of tensors: orders, times chosen best, mean and worst loss, error of cycles."""
    for kernel, (text, sizes) in KERNELS.items():
        for kind, draw in KINDS.items():
            losses, errors, orders = [], [], 0
            for seed in range(SEEDS):
                found = measured(text, sizes, draw, seed)
                best, orders = min(cycles for _expected, cycles in found), len(found)
                losses.append(found[0][1] / best - 1)
                errors += [abs(expected / cycles - 1) for expected, cycles in found]
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
