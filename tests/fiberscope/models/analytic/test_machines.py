"""Machines from their specifications: against the trace model and plain counts, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite

import fiberscope
from fiberscope.base.errors import InputError
from fiberscope.models.analytic.counted_densities import Actual

TILES = {"pe.tile": 4, "K1": 16, "M1": 8, "N1": 32}
Files = tuple[str, str]


def matrices(seed: int) -> tuple[sparse.coo_array, sparse.coo_array]:
    """Two that can be multiplied, their sides no multiples of any tile."""
    draw = np.random.default_rng(seed)
    rows, inner, columns = draw.integers(17, 120, 3)
    density = draw.choice([0.02, 0.1, 0.4])
    made = [
        sparse.random_array(shape, density=density, rng=draw) for shape in ((rows, inner), (inner, columns))
    ]
    for matrix in made:
        matrix.data += 1.0  # none of them 0
    return made[0], made[1]


def files(folder: Path, a: sparse.coo_array, b: sparse.coo_array) -> Files:
    found = str(folder / "a.mtx"), str(folder / "b.mtx")
    for path, matrix in zip(found, (a, b), strict=True):
        mmwrite(path, matrix)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_multiplies_are_those_of_the_trace(tmp_path: Path, seed: int) -> None:
    operands = files(tmp_path, *matrices(seed))
    found = fiberscope.analyze("extensor-energy", *operands, settings=TILES)
    traced = fiberscope.model("extensor-energy", *operands, settings=TILES)
    multiplies = traced.operations["multiply"]
    assert multiplies
    assert found.operations["compute"] == multiplies
    added = found.levels["PEB"].tensors["Z"]
    assert added.updates.actual == pytest.approx(multiplies / added.instances.maximal, abs=1)


def test_reads_of_memory_are_what_is_stored(tmp_path: Path) -> None:
    a, b = matrices(2)
    dense = [np.ones_like(matrix.toarray()) for matrix in (a, b)]
    a, b = (sparse.coo_array(one * (np.arange(one.size).reshape(one.shape) % 3 > 0)) for one in dense)
    found = fiberscope.analyze("extensor-energy", *files(tmp_path, a, b), settings=TILES)
    rows, columns = a.coords
    fibers = len(set(zip(rows.tolist(), (columns // 4).tolist(), strict=True)))
    microtiles = len(set(zip((rows // 4).tolist(), (columns // 4).tolist(), strict=True)))
    bits = 96 * a.nnz + 64 * (fibers + microtiles)
    assert found.levels["MainMemory"].tensors["A"].reads.actual == a.nnz
    assert found.traffic["A"].read_bytes == pytest.approx(bits / 8, abs=8)


def test_joint_statistics_can_be_left_out(tmp_path: Path) -> None:
    operands = files(tmp_path, *matrices(1))
    exact, apart = (
        fiberscope.analyze("extensor-energy", *operands, settings={**TILES, "joint": joint}).operations
        for joint in ("exact", "independent")
    )
    assert exact != apart


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        ("gamma", "a cascade of 2 Einsums"),
        ("outerspace", "a cascade of 3 Einsums"),
        ("graphicionado", "a cascade of 5 Einsums"),
        ("sigma", "flattens ranks, or cuts them by elements"),
        ("extensor", "nothing is held between the loops M1, N1, K1, M0, N0, K0 inside of LLB"),
    ],
)
def test_what_is_no_loop_nest_is_refused_with_those_that_are(machine: str, reason: str) -> None:
    with pytest.raises(
        InputError,
        match=f"{machine} is no nest of.*{reason}.*nests are: extensor-energy; `fiberscope model {machine} A",
    ):
        fiberscope.analyze(machine, "wiki-Vote")


def test_pieces_have_to_be_multiples_of_each_other() -> None:
    with pytest.raises(InputError, match=r"the pieces of K are no multiples of each other: \[18, 4\]"):
        fiberscope.analyze("extensor-energy", "wiki-Vote", settings={**TILES, "K1": 18})


def test_a_matrix_with_large_sides_is_counted() -> None:
    large = Actual((1 << 17, 1 << 17), [[0, 0], [1, 5], [99_999, 7]])
    assert large.maximum_nonempty((1 << 17, 1 << 17), (1 << 16, 1 << 16)).item() == 2
