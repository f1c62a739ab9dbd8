import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_line import one_line

from fiberscope.workloads import Spgemm, WorkloadError, file_of, load
from fiberscope.workloads.canonical import from_coordinates
from fiberscope.workloads.graph_view import GraphView, apply_view, graph_view

EDGES = "0 1 3\n0 1 2\n1 0 5\n2 2 1\n3 1 4\n3 0 9\n3 2 7\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.el"
    path.write_text(EDGES)
    return path


def edges(workload):
    """Source, destination and value of each edge, as they lie."""
    matrix = workload.matrix
    sources = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return [
        tuple(edge) for edge in np.column_stack([sources, matrix.indices, matrix.data]).astype(int).tolist()
    ]


def test_duplicates_are_added_or_the_least_taken_or_kept(file):
    assert edges(load(f"graph:of={file}"))[:2] == [(0, 1, 5), (1, 0, 5)]
    assert edges(load(f"graph:duplicates=least,of={file}"))[:2] == [(0, 1, 2), (1, 0, 5)]
    assert edges(load(f"graph:duplicates=keep,of={file}"))[:3] == [(0, 1, 3), (0, 1, 2), (1, 0, 5)]


def test_loops_may_go_and_edges_be_there_in_both_directions(file):
    found = load(f"graph:loops=drop,edges=undirected,duplicates=least,of={file}")
    assert edges(found) == [
        *((0, 1, 2), (0, 3, 9), (1, 0, 2), (1, 3, 4)),
        *((2, 3, 7), (3, 0, 9), (3, 1, 4), (3, 2, 7)),
    ]
    both = load(f"graph:edges=undirected,of={file}")
    assert ((both.matrix != both.matrix.T).nnz, both.matrix[2, 2], both.matrix[0, 1]) == (0, 1, 10)


def test_vertices_by_degree(file):
    """Degrees, in and out, a loop twice: 4, 4, 3, 3; those alike stay as they are."""
    text = "0 1\n0 3\n3 3\n4 3\n"
    file.write_text(text)
    found = load(f"graph:order=degree,of={file}")
    assert edges(found) == [(0, 0, 1), (1, 0, 1), (1, 2, 1), (3, 0, 1)]


def test_a_random_order_is_the_seeds_and_leaves_the_graph_the_same():
    text = "graph:order=random,seed={},of=rmat:scale=6,nonzeros=300"
    given, one, again, other = load("rmat:scale=6,nonzeros=300"), *(load(text.format(n)) for n in (1, 1, 2))
    assert one.digest == again.digest != other.digest
    assert sorted(np.diff(one.matrix.indptr)) == sorted(np.diff(given.matrix.indptr))
    assert sorted(one.matrix.data) == sorted(given.matrix.data)


def test_what_it_is_of_is_found_as_ever_and_its_notice_stays(file, tmp_path, monkeypatch):
    found = load("graph:order=degree,of=LFAT5")
    assert found.source == "surrogate"
    assert found.notice.startswith("SURROGATE: this is not LFAT5")
    assert found.name == "graph:order=degree,of=LFAT5"
    assert found.origin == "graph:loops=keep,edges=directed,duplicates=sum,order=degree,seed=0,of=LFAT5"
    assert file_of(f"graph:order=degree,of={file}") == file
    nested = load(f"graph:order=degree,of=graph:loops=drop,of={file}")
    assert nested.nonzeros == 5
    monkeypatch.setenv("FIBERSCOPE_DATA", str(tmp_path))
    assert load("graph:duplicates=keep,of=a").nonzeros == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph:order=degree", "graph:order=degree: no graph is named; end it with of=<a workload>"),
        ("graph:order=degree,of= ", "no graph is named"),
        ("graph:ordr=degree,of=LFAT5", "no key 'ordr'; did you mean order?"),
        ("graph:order=up,of=LFAT5", "order=up: input should be 'given', 'degree' or 'random'"),
        ("graph:of=relat3", "a graph is a square matrix, and this is 8 x 5; give an adjacency matrix"),
        ("graph:of=LFAT6", "'LFAT6' is not a file"),
    ],
)
def test_refusals(text, message):
    with one_line(WorkloadError, message):
        load(text)


def test_a_product_wants_one_value_a_place(file):
    with pytest.raises(WorkloadError, match=r"has several values at one place.* read it with duplicates=sum"):
        Spgemm([load(f"graph:duplicates=keep,of={file}")])


@given(
    drawn=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(-9, 9)), max_size=40),
    loops=st.sampled_from(["keep", "drop"]),
    direction=st.sampled_from(["directed", "undirected"]),
    duplicates=st.sampled_from(["sum", "least", "keep"]),
)
def test_against_a_plain_list_of_edges(drawn, loops, direction, duplicates):
    columns = [np.array([edge[place] for edge in drawn], dtype=int) for place in range(3)]
    read = "sum" if duplicates == "sum" else "keep"
    matrix = from_coordinates(columns[0], columns[1], columns[2].astype(float), (7, 7), "m", read)
    found = apply_view(matrix, GraphView(loops=loops, edges=direction, duplicates=duplicates), "m")
    plain = [edge for edge in drawn if loops == "keep" or edge[0] != edge[1]]
    if direction == "undirected":
        plain += [(v, u, w) for u, v, w in plain if u != v]
    at = {}
    for u, v, weight in plain:
        at.setdefault((u, v), []).append(weight)
    merge = {"sum": lambda some: [sum(some)], "least": lambda some: [min(some)], "keep": sorted}[duplicates]
    ours = {}
    for row in range(7):
        for place in range(found.indptr[row], found.indptr[row + 1]):
            ours.setdefault((row, int(found.indices[place])), []).append(int(found.data[place]))
    assert {place: sorted(some) for place, some in ours.items()} == {k: merge(some) for k, some in at.items()}
    assert found.has_sorted_indices


def test_the_last_key_takes_the_rest():
    view, of = graph_view("graph:order=random, of = uniform:rows=3,cols=3,nonzeros=2,seed=4")
    assert (view.order, of) == ("random", "uniform:rows=3,cols=3,nonzeros=2,seed=4")
