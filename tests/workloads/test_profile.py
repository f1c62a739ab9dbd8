"""Profiles of any matrix, what is drawn from them, and what is refused."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import check_kept
from scipy import sparse

from fiberscope.workloads import WorkloadError, load
from fiberscope.workloads.canonical import canonical
from fiberscope.workloads.profile import Profile, measure_profile, profiles, read_profile
from fiberscope.workloads.surrogate import draw_matrix
from fiberscope.workloads.wiring import Nodes, draw_directed_edges, draw_undirected_edges

LOCALITIES = st.sampled_from([0.001, 0.1, 1.0])
SEEDS = st.integers(0, 5)


@st.composite
def matrices(draw, densities=(0.0, 0.05, 0.3)):
    """Square or not, symmetric or not, with hubs or without, with a diagonal or without."""
    rows = draw(st.integers(1, 40))
    columns = draw(st.one_of(st.just(rows), st.integers(1, 40)))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    chance = draw(st.sampled_from(densities)) * np.outer(rng.random(rows) + 0.5, rng.random(columns) + 0.5)
    chance[: draw(st.integers(0, 3))] *= 3
    dense = rng.random((rows, columns)) < chance
    if rows == columns and draw(st.booleans()):
        dense |= dense.T
    if rows == columns:
        dense[np.diag_indices(rows)] &= draw(st.booleans())
        dense[np.diag_indices(rows)] |= draw(st.booleans())
    return canonical(sparse.csr_array(dense.astype(float)), "drawn")


@given(matrix=matrices(), locality=LOCALITIES, seed=SEEDS)
def test_what_is_drawn_has_the_same_profile(matrix, locality, seed):
    profile = measure_profile(matrix, "m", "a test").model_copy(update={"locality": locality})
    again = draw_matrix(profile, seed)
    found = measure_profile(again, "m", "a test")
    if found.classes == profile.classes:  # else a join had no swap, see below
        assert found.model_copy(update={"locality": locality}) == profile
    assert (found.shape, found.nonzeros, found.symmetric) == (
        profile.shape,
        profile.nonzeros,
        profile.symmetric,
    ) or (found.symmetric and not profile.symmetric)
    assert sum(one.diagonal for one in found.classes) == sum(one.diagonal for one in profile.classes)


@pytest.mark.parametrize("symmetric", [False, True])
def test_what_a_seed_draws_from_a_profile_stays(symmetric):
    matrix = load("uniform:rows=60,cols=60,nonzeros=300,values=ones").matrix
    matrix = canonical(matrix + matrix.T, "symmetric") if symmetric else matrix
    drawn = draw_matrix(measure_profile(matrix, "m", "a test"), 1)
    places = hashlib.sha256(np.stack(drawn.nonzero()).astype(np.int64).tobytes()).hexdigest()[:16]
    kept = f"profile of {'symmetric' if symmetric else 'uniform'}"
    check_kept(Path(__file__).parent / "generated.json", kept, {"places": places})


def test_degrees_are_kept_where_classes_are_not_crowded():
    matrix = load("chung-lu:rows=2000,cols=2000,nonzeros=8000,exponent=2.8,seed=2").matrix
    profile = measure_profile(matrix, "m", "a test")
    assert all(measure_profile(draw_matrix(profile, seed), "m", "a test") == profile for seed in range(5))


@given(matrix=matrices(densities=(0.3, 0.8, 1.0)), locality=LOCALITIES, seed=SEEDS)
def test_however_dense_a_matrix_is_drawn(matrix, locality, seed):
    profile = measure_profile(matrix, "m", "a test").model_copy(update={"locality": locality})
    again = draw_matrix(profile, seed)
    assert (again.shape, again.nnz) == (matrix.shape, matrix.nnz)
    assert (again.diagonal() != 0).sum() == (
        (matrix.diagonal() != 0).sum() if profile.square else (again.diagonal() != 0).sum()
    )


@given(size=st.integers(2, 30), density=st.sampled_from([0.1, 0.5, 0.9]), locality=LOCALITIES, seed=SEEDS)
@pytest.mark.parametrize("wire", [draw_directed_edges, draw_undirected_edges])
def test_joins_are_distinct_and_as_many_between_classes_as_wanted(wire, size, density, locality, seed):
    rng = np.random.default_rng(seed)
    wanted = np.triu(rng.random((size, size)) < density, 1)
    if wire is draw_directed_edges:
        wanted |= np.tril(rng.random((size, size)) < density, -1)
    else:
        wanted |= wanted.T
    kinds = np.sort(rng.integers(0, 3, size))
    between = np.zeros((3, 3), dtype=np.int64)
    np.add.at(between, tuple(kinds[ends] for ends in np.nonzero(wanted)), 1)
    nodes = Nodes(kinds, between, locality)
    counts = (
        [wanted.sum(axis=1)] if wire is draw_undirected_edges else [wanted.sum(axis=1), wanted.sum(axis=0)]
    )
    row, column = wire(nodes, *counts, rng)
    found = np.zeros_like(between)
    np.add.at(found, (kinds[row], kinds[column]), 1)
    edges = set(zip(row.tolist(), column.tolist(), strict=True))
    assert (found == between).all()
    assert len(edges) == len(row)
    assert all(a != b for a, b in edges)
    if wire is draw_undirected_edges:
        assert edges == {(b, a) for a, b in edges}


def faulty(**changes):
    document = profiles()["p2p-Gnutella31"].model_dump(mode="json")
    return document | changes


def between(row, column, value):
    table = [list(line) for line in profiles()["p2p-Gnutella31"].nonzeros_between]
    table[row][column] = value
    return table


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"format": "fiberscope profile 2"}, "format: Input should be 'fiberscope profile 1'"),
        ({"nonzeros": 5}, "nonzeros_between sums to 147892, not to nonzeros"),
        ({"shape": [4, 4]}, "the classes have 62586 nodes; the shape has 4"),
        ({"locality": 0}, "locality: Input should be greater than 0"),
        ({"nonzeros_between": [[1]]}, "nonzeros_between is not 16 x 16, by class"),
        (
            {"nonzeros_between": between(0, 0, 95), "nonzeros": 147893},
            "class 0 has 430 row nonzeros; nonzeros_between 431",
        ),
        ({"symmetric": True}, "symmetric, and nonzeros_between is not"),
        ({"extra": 1}, "extra: Extra inputs are not permitted"),
    ],
)
def test_a_profile_that_does_not_add_up_is_refused(tmp_path, changes, text):
    file = tmp_path / "p.json"
    file.write_text(json.dumps(faulty(**changes)))
    with pytest.raises(WorkloadError, match=re.escape(f"p.json: no profile: {text}; write one with")):
        read_profile(file)


def test_more_nonzeros_than_places_are_refused():
    row = {"degrees": [[2, 2, 2]]}
    crowded = {"name": "m", "source": "", "shape": [2, 2], "nonzeros": 4, "symmetric": True, "classes": [row]}
    with pytest.raises(
        ValueError, match=r"nonzeros_between\[0\]\[0\] is more than its classes have places for"
    ):
        Profile.model_validate(crowded | {"nonzeros_between": [[4]]})
    full = crowded | {"classes": [row | {"diagonal": 2}], "nonzeros_between": [[4]]}
    assert draw_matrix(Profile.model_validate(full), 0).toarray().all()


def test_what_is_no_profile_is_refused(tmp_path):
    with pytest.raises(
        WorkloadError,
        match=r"nope: cannot be read .No such file or directory.; give a file, or one of ca-CondMat",
    ):
        load("surrogate:profile=nope")
    file = tmp_path / "a.json"
    file.write_text("[")
    with pytest.raises(WorkloadError, match=r"a.json: no profile: Invalid JSON"):
        read_profile(file)
