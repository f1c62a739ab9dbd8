import hashlib
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import check_kept
from one_line import one_line

from fiberscope.workloads import WorkloadError, generators
from fiberscope.workloads.spec import generate, is_spec
from fiberscope.workloads.tensor import SparseTensor

SPECS = {
    "uniform:rows=30,cols=40,nonzeros=200": 200,
    "uniform:rows=30,cols=40,nonzeros=1200": 1200,
    "banded:rows=50,cols=40,nonzeros=150,bandwidth=3": 150,
    "block:rows=40,cols=60,blocks=11,size=4": 176,
    "rmat:scale=7,nonzeros=900": 900,
    "chung-lu:rows=200,cols=100,nonzeros=900,exponent=2.5": 900,
    "structured:rows=10,cols=40,n=2,m=4": 200,
    "runs:rows=30,cols=40,nonzeros=203,length=5": 203,
}


@pytest.mark.parametrize("text", SPECS)
def test_exact_nonzeros_canonical_and_values_in_range(text):
    matrix, _ = generate(text)
    assert matrix.nnz == SPECS[text]
    assert matrix.has_canonical_format
    assert 0.5 < matrix.data.min() < matrix.data.max() < 1.5


@pytest.mark.parametrize(
    "text", [*SPECS, "tensor:shape=5x6x7,nonzeros=50", "rmat-graph:vertices=30,edges=90"]
)
@pytest.mark.parametrize("kind", ["integer", "bf16", "ones"])
def test_other_values_are_at_the_same_places(text, kind):
    uniform, name = generate(text)
    drawn, full = generate(f"{text},values={kind}")
    assert full == name.replace(",seed=0", f",values={kind},seed=0")
    assert generate(f"{text},values=uniform")[1] == name
    if isinstance(drawn, SparseTensor):
        values, places, expected = drawn.values, drawn.coordinates, uniform.coordinates
    else:
        values, places, expected = (
            drawn.data,
            (drawn.indices, drawn.indptr),
            (uniform.indices, uniform.indptr),
        )
    assert all(np.array_equal(*pair) for pair in zip(places, expected, strict=True))
    if kind == "bf16":
        assert not np.any(values.astype(np.float32).view(np.uint32) & 0xFFFF)
    else:
        assert set(np.abs(values)) == ({1.0} if kind == "ones" else {1.0, 2.0, 3.0, 4.0})


def test_values_that_are_none_are_named():
    with pytest.raises(
        WorkloadError, match="values=int: input should be 'uniform', 'integer', 'bf16' or 'ones'"
    ):
        generate("uniform:rows=5,cols=5,nonzeros=8,values=int")


@pytest.mark.parametrize("text", SPECS)
def test_the_seed_decides(text):
    once, full = generate(text)
    again, _ = generate(full)
    other, _ = generate(f"{text},seed=1")
    assert (once != again).nnz == 0
    assert (once != other).nnz > 0


def test_banded_stays_in_its_band_and_fills_it():
    entries = generators.banded(9, 7, 32, 2).tocoo()
    assert np.abs(entries.coords[0] - entries.coords[1]).max() == 2


def test_blocks_are_dense_and_on_the_grid():
    dense = generators.block(12, 9, 5, 3).toarray() != 0
    tiles = dense.reshape(4, 3, 3, 3).sum(axis=(1, 3))
    assert sorted(np.unique(tiles)) == [0, 9]
    assert (tiles == 9).sum() == 5


def test_structured_has_n_in_every_m():
    counts = (generators.structured(6, 20, 2, 4).toarray() != 0).reshape(6, 5, 4).sum(axis=2)
    assert np.all(counts == 2)


def test_runs_are_whole():
    dense = generators.runs(8, 30, 60, 5).toarray() != 0
    assert set(dense.reshape(8, 6, 5).sum(axis=2).ravel().tolist()) == {0, 5}
    shorter = (generators.runs(8, 30, 63, 5).toarray() != 0).reshape(48, 5)
    assert sorted(shorter.sum(axis=1).tolist())[-13:] == [3] + [5] * 12
    assert (np.diff(shorter.astype(int), axis=1) <= 0).all()  # each begins on the grid


def test_a_steeper_power_law_has_a_heavier_head():
    heads = [np.diff(generators.chung_lu(1000, 1000, 5000, e).indptr).max() for e in (4.0, 2.5, 2.0)]
    assert heads == sorted(heads)
    assert heads[-1] > 2 * heads[0]


def test_rmat_leans_to_the_first_quadrant():
    matrix = generators.rmat(8, 2000)
    assert matrix[:128, :128].nnz > 0.4 * matrix.nnz > 2 * matrix[128:, 128:].nnz


def test_uniform_is_uniform():
    counts = np.diff(generators.uniform(100, 1000, 50_000).indptr)
    assert 400 < counts.min() < counts.max() < 600


@given(rows=st.integers(1, 30), cols=st.integers(1, 30), share=st.floats(0, 1), seed=st.integers(0, 9))
def test_uniform_for_any_share(rows, cols, share, seed):
    nonzeros = int(share * rows * cols)
    assert generators.uniform(rows, cols, nonzeros, seed).nnz == nonzeros


@pytest.mark.parametrize(
    "text",
    [
        "uniform:rows=100000,cols=100000,nonzeros=1000000",
        "rmat:scale=17,nonzeros=1000000",
        "chung-lu:rows=100000,cols=100000,nonzeros=1000000",
    ],
)
def test_a_million_nonzeros_take_under_two_seconds_of_processor(text):
    start = time.process_time()
    assert generate(text)[0].nnz == 1_000_000
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unifrom:rows=3", "unifrom:rows=3: no generator 'unifrom'; did you mean uniform?"),
        ("uniform:rows=3,colz=3", "uniform:rows=3,colz=3: no key 'colz'; did you mean cols?"),
        ("uniform:rows=3,cols=3", "uniform:rows=3,cols=3: nonzeros is missing"),
        ("uniform:rows", "uniform:rows: rows has no value; write rows=<number>"),
        ("uniform:rows=1,rows=2", "uniform:rows=1,rows=2: rows is given twice"),
        ("rmat:scale=99,nonzeros=1", "scale=99: input should be less than or equal to 28"),
        ("rmat:scale=x,nonzeros=1", "scale=x: input should be a valid integer"),
        ("rmat:scale=3,nonzeros=1,a=0.9,b=0.9", "a=0.9, b=0.9, c=0.19 are not probabilities"),
        ("uniform:rows=3,cols=3,nonzeros=10", "nonzeros=10; it should be from 0 to 9"),
        ("banded:rows=3,cols=3,nonzeros=4,bandwidth=0", "nonzeros=4; it should be from 0 to 3"),
        ("block:rows=9,cols=9,blocks=1,size=2", "size=2 does not divide both"),
        ("structured:rows=9,cols=9,n=2,m=4", "n=2, m=4 for 9 columns"),
        ("runs:rows=9,cols=9,nonzeros=2,length=4", "length=4 does not divide cols=9"),
        ("chung-lu:rows=9,cols=9,nonzeros=2,exponent=1", "exponent=1: input should be greater than 1"),
        ("chung-lu:rows=100,cols=100,nonzeros=9999", "too steep for so many"),
        ("uniform:rows=20000000,cols=1,nonzeros=1", "a shape of 20000000 x 1 for 1 nonzeros"),
    ],
)
def test_refusals(text, message):
    with one_line(WorkloadError, message):
        generate(text)


@given(st.sampled_from(["uniform", "rmat", "runs", "x"]), st.text("rowscnze=,0123456789.-:", max_size=30))
def test_any_text_gives_a_matrix_or_a_workload_error(name, tail):
    try:
        matrix, full = generate(f"{name}:{tail}")
    except WorkloadError:
        return
    assert (generate(full)[0] != matrix).nnz == 0


def test_what_is_meant_as_a_specification():
    assert is_spec("uniform:")
    assert is_spec("unifrom:rows=1")
    assert not is_spec("wiki-Vote")
    assert not is_spec("a/b:c=1")


KEPT = (
    *SPECS,
    "uniform:rows=30,cols=40,nonzeros=200,seed=7",
    "rmat:scale=5,nonzeros=120,a=0.4,b=0.3,c=0.2",
    "chung-lu:rows=20,cols=30,nonzeros=99",
    "tensor:shape=5x6x7,nonzeros=50",
    "rmat-graph:vertices=30,edges=90",
    "runs:rows=30,cols=40,nonzeros=203,length=5,values=bf16,seed=2",
)


def digest(matrix) -> str:
    """Return a digest of shape, coordinates and values."""
    tensor = matrix if isinstance(matrix, SparseTensor) else SparseTensor.from_matrix(matrix)
    parts = [repr(tensor.shape).encode(), tensor.values.tobytes()]
    parts += [np.asarray(coordinate, dtype=np.int64).tobytes() for coordinate in tensor.coordinates]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


@pytest.mark.parametrize("text", KEPT)
def test_what_a_seed_draws_stays(text):
    matrix, name = generate(text)
    drawn = {} if text.startswith("chung-lu") else {"digest": digest(matrix)}  # a power differs by processor
    check_kept(Path(__file__).parent / "generated.json", text, {"name": name, **drawn})
