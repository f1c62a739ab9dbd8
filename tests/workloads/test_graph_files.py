"""Graphs as METIS, DIMACS and GAPBS write them: the adjacency matrix, or one line that says why not."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.workloads import WorkloadError, load, read_matrix

DIRECTED = np.array([[0, 5, 0], [0, 0, 7], [2, 0, 0]])


def read(folder: Path, name: str, content: str | bytes) -> np.ndarray:
    path = folder / name
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return load(str(path)).matrix.toarray()


def serialized(matrix: np.ndarray, weighted: bool, directed: bool = True) -> bytes:
    """What the writer of GAPBS stores."""
    parts = [bytes([directed]), np.array([np.count_nonzero(matrix), len(matrix)], "<i8").tobytes()]
    for adjacency in (matrix, matrix.T)[: 1 + directed]:
        places = np.argwhere(adjacency)
        pointers = np.concatenate([[0], np.cumsum(np.count_nonzero(adjacency, axis=1))])
        weights = adjacency[tuple(places.T)]
        neighbours = np.stack([places[:, 1], weights], axis=1) if weighted else places[:, 1]
        parts += [pointers.astype("<i8").tobytes(), neighbours.astype("<i4").tobytes()]
    return b"".join(parts)


def metis(matrix: np.ndarray, weighted: bool, edges: int) -> str:
    """A line a vertex, with a comment and a format where there are weights."""
    rows = [
        " ".join(
            f"{column + 1} {row[column]}" if weighted else f"{column + 1}" for column in np.flatnonzero(row)
        )
        for row in matrix
    ]
    return "\n".join([f"{len(matrix)} {edges}{' 1' if weighted else ''}", "% a comment", *rows, ""])


@st.composite
def graphs(draw):
    size = draw(st.integers(1, 6))
    weights = draw(st.lists(st.sampled_from([0, 0, 1, 2, 100]), min_size=size**2, max_size=size**2))
    return np.array(weights).reshape(size, size)


@given(matrix=graphs(), weighted=st.booleans())
def test_graphs_are_read_as_they_were_written(tmp_path_factory, matrix, weighted):
    folder = tmp_path_factory.mktemp("g")
    right = matrix if weighted else (matrix > 0).astype(int)
    assert (read(folder, "a.wsg" if weighted else "a.sg", serialized(matrix, weighted)) == right).all()
    assert (read(folder, "a.graph", metis(matrix, weighted, np.count_nonzero(matrix))) == right).all()
    arcs = "".join(f"a {row + 1} {column + 1} {matrix[row, column]}\n" for row, column in np.argwhere(matrix))
    dimacs = f"c a comment\np sp {len(matrix)} {np.count_nonzero(matrix)}\n{arcs}"
    assert (read(folder, "a.gr.gz", dimacs) == matrix).all()


def test_an_undirected_graph_of_metis_has_each_edge_twice(tmp_path):
    both = (DIRECTED + DIRECTED.T).astype(int)
    assert (read(tmp_path, "a.graph", metis(both, True, 3)) == both).all()
    assert (read(tmp_path, "b.sg", serialized(both, False, directed=False)) == (both > 0)).all()


@pytest.mark.parametrize("form", ["111 2", "110", "010 2", "10 1", "100", "011 3"])
def test_sizes_and_weights_of_vertices_are_passed_over(form, tmp_path):
    words = form.split()
    sizes, weights, weighted = (digit == "1" for digit in words[0].zfill(3))
    lead = sizes + weights * (int(words[1]) if len(words) > 1 else 1)
    both = (DIRECTED + DIRECTED.T).astype(int) if weighted else ((DIRECTED + DIRECTED.T) > 0).astype(int)
    header, comment, *rows = metis(both, weighted, 3).splitlines()
    lines = [f"{header.split()[0]} 3 {form}", comment, *(f"{'9 ' * lead}{row}" for row in rows)]
    assert (read(tmp_path, "a.graph", "\n".join(lines)) == both).all()


def test_graphs_of_gapbs_declare_sizes_and_have_none(tmp_path):
    assert (read(tmp_path, "a.graph", "3 2 100\n2 3\n\n\n") == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]).all()


def test_vertices_without_neighbours_at_the_end(tmp_path):
    assert read(tmp_path, "a.graph", "3 1\n2\n1\n\n").sum() == 2
    assert read(tmp_path, "b.graph", "3 1\n2\n1\n\n\n\n").shape == (3, 3)


def test_arcs_between_the_same_nodes_are_summed_or_kept(tmp_path):
    text = "p sp 2 2\na 1 2 3\na 1 2 4\n"
    assert (read(tmp_path, "a.gr", text) == [[0, 7], [0, 0]]).all()
    assert (read_matrix(tmp_path / "a.gr", "least").toarray() == [[0, 3], [0, 0]]).all()


@pytest.mark.parametrize("name", ["out.moreno", "a.tsv", "a.txt.gz"])
@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("% asym positive\n% 3 3 3\n1 2 5\n2 3 7\n3 1 2\n", DIRECTED),
        ("% asym weighted\n1\t2\t5\t1082040961\n2\t3\t7\t1082040962\n3\t1\t2\t-1\n", DIRECTED),
        (
            "% sym unweighted\n% 4 4 4\n1 2\n2 3\n3 1\n4 4\n",
            [[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]],
        ),
        ("% bip unweighted\r\n% 2 2 4\r\n1 3\r\n2 1\r\n", [[0, 0, 1, 0], [1, 0, 0, 0]]),
        ("% bip posweighted\n1 3 2\n2 1 4\n2 1 1\n", [[0, 0, 2], [5, 0, 0]]),
    ],
)
def test_graphs_of_konect_have_the_shape_and_the_symmetry_of_their_header(name, text, right, tmp_path):
    assert (read(tmp_path, name, text) == np.array(right)).all()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.gr", "c x\np tw 3 2\na 1 2 3\n", "a.gr:2: no graph of DIMACS, which has a line p sp NODES ARCS"),
        ("a.gr", "1 2 3\n", "a.gr: no graph of DIMACS"),
        ("a.gr", "p sp 3 1\ne 1 2 3\n", "a.gr:2: a line of a graph of DIMACS begins with c, p or a"),
        ("a.gr", "p sp 3 1\na 1 4 3\n", "a.gr:2: the column is outside 1 to 3"),
        ("a.gr", "p sp 3 1\na 0 1 3\n", "a.gr:2: the row is outside 1 to 3"),
        ("a.gr", "p sp 3 2\na 1 2 3\n", "a.gr:2: ends after 1 of 2 entries"),
        ("a.gr", "p sp 3 1\na 1 2 3\na 1 2 3\n", "a.gr:3: an entry beyond the 1 declared"),
        ("a.gr", "p sp 3 1\na 1 2 x\n", "a.gr:2: '1 2 x' does not fit"),
        ("a.gr", "p sp " + "9" * 5000 + " 1\n", "a.gr: no graph of DIMACS"),
        ("a.gr", b"\1" + b"\0" * 40, "a.gr: a binary graph of Galois"),
        ("a.graph", "3 3\n2 3\n1 x\n1 2\n", "a.graph:3: a word that is no whole number from 0 on"),
        ("a.graph", "3 3\n2 3\n1 " + "9" * 5000 + "\n1 2\n", "a.graph:3: a word that is no whole number"),
        ("a.graph", "3\n2 3\n", "a.graph:1: 1 words; the first line is VERTICES EDGES"),
        ("a.graph", "%\n3 3 5\n2 3\n1 3\n1 2\n", "a.graph:2: the format 5; it has three digits"),
        ("a.graph", "3 3\n2 3\n1 3\n", "a.graph: 2 lines for 3 vertices"),
        ("a.graph", "3 3\n2 3\n1 3\n1 2\n1\n", "a.graph:5: 4 lines for 3 vertices"),
        ("a.graph", "3 3\n2 3\n1 4\n1 2\n", "a.graph:3: the neighbour 4 is outside 1 to 3"),
        ("a.graph", "3 3\n2 3\n1 0\n1 2\n", "a.graph:3: the neighbour 0 is outside 1 to 3"),
        (
            "a.graph",
            "3 3 1\n2 3\n1\n1 2\n",
            "a.graph:3: 1 words; there are 0 of the vertex, then 2 a neighbour",
        ),
        ("a.graph", "3 3\n2 3\n1\n1 2\n", "a.graph: 5 neighbours for 3 edges; there should be 6"),
        ("a.graph", "999999999999 0\n", "a.graph:1: a shape of 999999999999 x 999999999999"),
        ("a.graph", "% only a comment\n", "a.graph: no line with the number of vertices"),
        ("out.a", "% sym unweighted\n% 2 2 2\n1 3\n", "out.a:3: the column is outside 1 to 2"),
        ("out.a", "% sym weighted\n1 2 3 4 5\n", "out.a:2: 5 columns; a graph of KONECT has <from> <to>"),
        ("out.a", "% sym weighted\n1 2 3 4\n1 2 x 4\n", "out.a:3: '1 2 x' does not fit"),
        ("out.a", "% sym weighted\n", "out.a: no entry in the file"),
        ("a.adj", "AdjacencyGraph\n3\n3\n", "a.adj: a graph of Ligra"),
        ("a.rua", "title  key\n 5 1 1 3 0\nRUA  4 4 4 0\n", "a.rua: a matrix in Harwell-Boeing or"),
        ("a.rb", "title  |12\n 5 1 1 3\nrsa  4 4 4 0\n(10I8)\n", "a.rb: a matrix in Harwell-Boeing or"),
        ("a.sg", b"\1\0", "a.sg: too short for a serialized graph of GAPBS"),
        (
            "a.sg",
            serialized(DIRECTED, True),
            "a.sg: 129 bytes; a graph of GAPBS with 3 nodes and 3 edges has 105",
        ),
        ("a.wsg", serialized(DIRECTED, False), "a.wsg: 105 bytes; a graph of GAPBS"),
        ("a.sg", b"\1" + b"\xff" * 16, "a.sg: 17 bytes; a graph of GAPBS with -1 nodes"),
        (
            "a.sg",
            serialized(DIRECTED, False)[:49] + b"\3" + serialized(DIRECTED, False)[50:],
            "a.sg: the neighbour 3 ",
        ),
    ],
)
def test_what_is_wrong_stands_in_one_line(name, content, said, tmp_path, refusal):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(WorkloadError):
        read_matrix(path)
    assert said in refusal("info", str(path))
