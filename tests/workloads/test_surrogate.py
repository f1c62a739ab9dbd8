import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads import WorkloadError, load, lookup
from workloads.profile import degrees, profiles
from workloads.surrogate import surrogate
from workloads.wiring import directed, undirected

# Per cent by which multiplies and nonzeros of A times A may differ from the real matrix's. The docs give what
# is measured; these are the promises.
PROMISED = {
    "wiki-Vote": (0.1, 2),
    "p2p-Gnutella31": (0.1, 1),
    "ca-CondMat": (0.1, 2),
    "email-Enron": (0.1, 6),
}


@pytest.mark.parametrize("name", sorted(profiles()))
def test_a_profiled_surrogate_works_like_the_real_matrix(name):
    matrix, like = surrogate(lookup(name))
    profile = profiles()[name]
    rows = np.diff(matrix.indptr)
    cols = np.bincount(matrix.indices, minlength=profile.cols)
    assert (matrix.shape, matrix.nnz) == ((profile.rows, profile.cols), profile.nnz)
    assert (rows.max(), cols.max()) == (profile.max_row, profile.max_col)
    multiplies, product = PROMISED[name]
    assert int(rows @ cols) == pytest.approx(profile.multiplies_AA, rel=multiplies / 100)
    assert (matrix @ matrix).nnz == pytest.approx(profile.nnz_AA, rel=product / 100)
    assert "joint row/column degrees" in like
    if profile.symmetric:
        assert ((matrix != 0) != (matrix.T != 0)).nnz == 0


@pytest.mark.parametrize("name", sorted(profiles()))
def test_degrees_follow_the_groups(name):
    profile = profiles()[name]
    rows, cols = degrees(profile)
    groups = np.array(profile.nodes_by_mean_row_and_column_count)
    ends = np.cumsum(groups[:, 0]).astype(int)
    for first, last, (count, row, col) in zip([0, *ends], ends, groups, strict=False):
        assert abs(rows[first:last].sum() - count * row) <= 2
        assert abs(cols[first:last].sum() - count * col) <= 2


def test_the_same_every_time():
    once, again = (load("wiki-Vote").digest for _ in range(2))
    assert once == again


@pytest.mark.parametrize(
    ("name", "form"),
    [("cavity14", "banded"), ("geom", "power law"), ("Journals", "uniform"), ("lpl3", "uniform")],
)
def test_without_a_profile_only_shape_and_nonzeros_match(name, form):
    entry = lookup(name)
    matrix, like = surrogate(entry)
    assert (matrix.shape, matrix.nnz) == (entry.shape, entry.nonzeros)
    assert like == f"{form}; only shape and nonzeros match"


def test_a_rounded_row_says_so():
    entry = lookup("speech2").model_copy(update={"shape": (77, 26), "nonzeros": 100})
    assert "(rounded in its source)" in surrogate(entry)[1]


def test_a_tensor_has_none():
    with pytest.raises(WorkloadError, match="uber: a tensor of rank 4 has no surrogate"):
        surrogate(lookup("uber"))


SMALL = ("relat3", "LFAT5", "bcsstm26", "m3plates", "N_biocarta", "G33", "progas")


@pytest.mark.parametrize("name", SMALL)
def test_small_registry_rows(name):
    entry = lookup(name)
    matrix, _ = surrogate(entry)
    assert (matrix.shape, matrix.nnz) == (entry.shape, entry.nonzeros)


COUNTS = st.lists(st.integers(1, 4), min_size=12, max_size=30)


@given(counts=COUNTS, locality=st.sampled_from([0.001, 0.1, 10]), seed=st.integers(0, 5))
def test_directed_wiring_keeps_every_count(counts, locality, seed):
    rows = np.array(counts, dtype=np.int64)
    cols = rows[::-1].copy()
    row, col = directed(rows, cols, locality, np.random.default_rng(seed))
    assert np.bincount(row, minlength=len(rows)).tolist() == rows.tolist()
    assert np.bincount(col, minlength=len(cols)).tolist() == cols.tolist()
    assert len(set(zip(row.tolist(), col.tolist(), strict=True))) == len(row)


@given(size=st.integers(8, 30), locality=st.sampled_from([0.001, 0.1, 10]), seed=st.integers(0, 5))
def test_undirected_wiring_keeps_every_degree(size, locality, seed):
    wanted = np.full(size, 2, dtype=np.int64)
    row, col = undirected(wanted, locality, np.random.default_rng(seed))
    assert np.bincount(row, minlength=size).tolist() == wanted.tolist()
    edges = set(zip(row.tolist(), col.tolist(), strict=True))
    assert len(edges) == len(row)
    assert edges == {(b, a) for a, b in edges}
    assert all(a != b for a, b in edges)
