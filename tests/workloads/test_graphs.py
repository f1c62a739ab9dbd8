import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_line import one_line
from scipy.sparse import csgraph

from fiberscope.workloads import WorkloadError, entries, load, lookup
from fiberscope.workloads.graphs import draw_random_words, rmat_graph, vertex_of_largest_out_degree
from fiberscope.workloads.surrogate import surrogate


def levels(matrix):
    """How many vertices each level of a search from the busiest vertex has, by scipy."""
    distances = csgraph.dijkstra(matrix, unweighted=True, indices=vertex_of_largest_out_degree(matrix))
    return np.bincount(distances[np.isfinite(distances)].astype(int)).tolist()


@given(
    vertices=st.integers(1, 300),
    share=st.floats(0, 0.3),
    tail=st.integers(0, 9),
    duplicates=st.sampled_from(["drop", "keep"]),
    seed=st.integers(0, 2**32),
)
def test_vertices_edges_and_tail_are_exact(vertices, share, tail, duplicates, seed):
    edges = int(share * vertices * vertices)
    matrix = rmat_graph(vertices, edges, tail, duplicates, seed=seed)
    matrix.check_format(full_check=True)
    assert (matrix.shape, matrix.nnz) == ((vertices + tail, vertices + tail), edges + tail)
    assert matrix.has_sorted_indices
    assert matrix.has_canonical_format or duplicates == "keep"
    assert (matrix.indices.dtype, matrix.indptr.dtype) == (np.int64, np.int64)
    if matrix.nnz:
        assert 0.5 < matrix.data.min() <= matrix.data.max() < 1.5


@pytest.mark.parametrize("duplicates", ["drop", "keep"])
def test_the_tail_is_a_chain_behind_the_last_level(duplicates):
    bare, tailed = (rmat_graph(1000, 8000, tail, duplicates, seed=3) for tail in (0, 25))
    assert levels(tailed) == levels(bare) + [1] * 25
    inner = tailed[:1000, :1000]
    assert (inner.indptr.tolist(), inner.indices.tolist()) == (bare.indptr.tolist(), bare.indices.tolist())


def test_edges_kept_twice_are_those_drawn():
    kept = rmat_graph(256, 5000, duplicates="keep")
    distinct = kept.copy()
    distinct.sum_duplicates()
    assert distinct.nnz < kept.nnz == 5000
    dropped = rmat_graph(256, 5000)
    assert ((dropped != 0) > (distinct != 0)).nnz == 5000 - distinct.nnz
    assert ((distinct != 0) > (dropped != 0)).nnz == 0


def test_quadrants_have_their_chances():
    """Of a power of two no edge is redrawn: undoing the order of vertices shows how many fall where."""
    matrix = rmat_graph(1024, 60_000, duplicates="keep", a=0.5, b=0.3, c=0.15, seed=9)
    place = np.empty(1024, dtype=int)
    place[np.argsort(draw_random_words(9, 1, 0, 1024), kind="stable")] = np.arange(1024)
    rows = place[np.repeat(np.arange(1024), np.diff(matrix.indptr))]
    counts = np.bincount(2 * (rows >= 512) + (place[matrix.indices] >= 512), minlength=4)
    assert counts / 60_000 == pytest.approx([0.5, 0.3, 0.15, 0.05], abs=0.01)
    deepest = np.bincount(2 * (rows % 2) + place[matrix.indices] % 2, minlength=4)
    assert deepest / 60_000 == pytest.approx([0.5, 0.3, 0.15, 0.05], abs=0.01)


PINNED_WORDS = [184131025862561657, 17942714128306959241, 13582905920758972342]
PINNED_DIGEST = "31695c595bafa58fb0190bda1959b76a44422803844349d6c48610757538e526"


def test_draws_are_those_of_philox_forever():
    assert draw_random_words(7, 0, 5, 3).tolist() == PINNED_WORDS
    assert load("rmat-graph:vertices=900,edges=7000,tail=5,seed=7").digest == PINNED_DIGEST


def test_more_candidates_than_are_drawn_together(monkeypatch):
    whole = rmat_graph(500, 9000, seed=1)
    assert whole.nnz == 9000
    monkeypatch.setattr("fiberscope.workloads.graphs.CANDIDATES", 2**8)
    again = rmat_graph(500, 9000, seed=1)
    assert again.nnz == 9000


@pytest.mark.parametrize("vertices", [1, 2, 3])
def test_a_graph_may_have_all_edges_that_there_are(vertices):
    assert rmat_graph(vertices, vertices**2).toarray().all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vertices=4,edges=17", "edges=17; it should be at most 16"),
        ("vertices=100,edges=9999", "too steep for so many; ask for fewer edges, or duplicates=keep"),
        ("vertices=9,edges=9,a=0.9,b=0.9", "a=0.9, b=0.9, c=0.19 are not probabilities"),
        ("vertices=5,edges=3,a=0,b=0,c=0", "none has both vertices below 5"),
        ("vertices=9,edges=9,duplicates=maybe", "duplicates=maybe: input should be 'drop' or 'keep'"),
        ("vertices=20000000,edges=1", "a shape of 20000000 x 20000000 for 1 nonzeros"),
    ],
)
def test_refusals(text, message):
    with one_line(WorkloadError, message):
        load(f"rmat-graph:{text}")


def test_a_stand_in_with_a_tail_says_so():
    flickr = lookup("flickr")
    graph = flickr.rmat.model_copy(update={"edges": 9000})
    small = flickr.model_copy(update={"shape": (2000, 2000), "rmat": graph})
    matrix, like = surrogate(small)
    assert (matrix.shape, matrix.nnz) == ((2010, 2010), 9010)
    assert levels(matrix)[-10:] == [1] * 10
    assert like == (
        "an R-MAT graph of 2000 vertices and 9000 edges, and behind its last level a TAIL of 10 vertices "
        "in a chain, which a search of the real graph may not have"
    )


def test_the_three_graphs_of_the_papers_have_tails():
    assert {entry.name: (entry.rmat.edges, entry.rmat.tail) for entry in entries() if entry.rmat} == {
        "flickr": (9_837_214, 10),
        "wikipedia-20070206": (42_375_912, 1400),
        "soc-LiveJournal1": (68_993_773, 10),
    }
