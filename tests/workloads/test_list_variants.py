"""Edge lists and ``.tns`` files as other projects write them: commas, networkx, GAPBS, MLIR, ParTI."""

import gzip
from contextlib import suppress
from pathlib import Path

import networkx
import numpy as np
import pytest
from one_line import one_line

from fiberscope.workloads import WorkloadError, load, load_tensor

EDGES = np.array([[0, 5, 0], [0, 0, 7], [2, 0, 0]])


def _read(folder: Path, name: str, text: str) -> np.ndarray:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return load(str(path)).matrix.toarray()


@pytest.mark.parametrize("name", ["a.edges", "a.txt", "a.edges.gz"])
@pytest.mark.parametrize(
    "text",
    ["0,1,5\n1,2,7\n2,0,2\n", "0, 1, 5\r\n1 ,2 , 7\r\n2,0,2\r\n", "% a, b\n\n0,1,5\n# c,d\n1,2,7\n2,0,2\n"],
)
def test_commas_part_the_columns_of_an_edge_list(name: str, text: str, tmp_path: Path) -> None:
    assert (_read(tmp_path, name, text) == EDGES).all()


def test_commas_part_edges_without_weights(tmp_path: Path) -> None:
    assert (_read(tmp_path, "a.edges", "0,1\n1,2\n2,0\n") == (EDGES > 0)).all()


def test_weighted_lists_of_gapbs_are_read(tmp_path: Path) -> None:
    assert (_read(tmp_path, "a.wel", "0 1 5\n1 2 7\n2 0 2\n") == EDGES).all()


@pytest.mark.parametrize("name", ["a.edgelist", "a.edgelist.gz", "a.txt"])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_networkx_writes_is_read(name: str, weighted: bool, tmp_path: Path) -> None:
    graph = networkx.from_numpy_array(EDGES, create_using=networkx.DiGraph)
    if not weighted:
        for _from, _to, data in graph.edges(data=True):
            data.clear()
    networkx.write_edgelist(graph, tmp_path / name)
    assert (load(str(tmp_path / name)).matrix.toarray() == (EDGES if weighted else EDGES > 0)).all()


def test_the_weight_is_read_among_other_attributes(tmp_path: Path) -> None:
    file = tmp_path / "a.edgelist"
    file.write_text(
        "0 1 {'weight': 2.5, 'c': 'x'}\n1 0 {'c': 1, 'weight': 3}\n1 1 {'a': 1, 'weight': 4, 'b': 2}\n"
    )
    assert (load(str(file)).matrix.toarray() == [[0, 2.5], [3, 4]]).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 1 {'color': 'red'}\n", "a.edgelist:1: an edge has attributes but no 'weight'"),
        (
            "# {\n0 1 {'weight': 2, 'c': 1}\n1 2 {'c': 1, 'd': 2}\n",
            "a.edgelist:3: an edge has attributes but",
        ),
        ("0,,1\n", "a.edgelist:1: "),
        ("0,1,\n", "a.edgelist:1: "),
        ("0,1\n1;2\n", "a.edgelist:2: '1;2' "),
        ("0 1 {}\n1 2 {'weight': 3}\n", "a.edgelist:2: '1 2 3' has 3 fields"),
    ],
)
def test_other_edges_are_refused_with_their_line(text: str, said: str, tmp_path: Path, refusal) -> None:
    (tmp_path / "a.edgelist").write_text(text)
    assert said in refusal("info", str(tmp_path / "a.edgelist"))


ENTRIES = "1 1 1 2.0\n2 3 4 5.0\n"
HEADERS = {
    "MLIR": "# extended FROSTT format\n3 2\n4 5 6\n",
    "ParTI": "3\n4 5 6\n",
    "with comments": "# a\n\n3\n% b\n4\t5 6\n# c\n",
}


@pytest.mark.parametrize("header", HEADERS)
def test_the_shape_of_a_header_counts(header: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tns"
    path.write_text(HEADERS[header] + ENTRIES)
    tensor = load_tensor(str(path))
    assert tensor.shape == (4, 5, 6)
    path.write_text(ENTRIES)
    assert load_tensor(str(path)).shape == (2, 3, 4)


@pytest.mark.parametrize("header", ["2 2\n4 5\n", "2\n4 5\n"])
def test_a_matrix_with_a_header_is_read(header: str, tmp_path: Path) -> None:
    dense = _read(tmp_path, "a.tns", header + "1 1 2.0\n2 3 5.0\n")
    assert dense.shape == (4, 5)
    assert dense[1, 2] == 5


@pytest.mark.parametrize("header", ["# c\n2 2\n4 5\n", "2\n\n4 5\n"])
def test_an_entry_behind_a_header_has_its_line(header: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tns"
    path.write_text(header + "1 1 2.0\n2 x 5.0\n")
    for read in (load, load_tensor):
        with pytest.raises(WorkloadError, match=r"a\.tns:5: '2 x 5\.0' does not fit"):
            read(str(path))


@pytest.mark.parametrize("text", ["2 5\n3 1\n4 1\n", "2 5\n3 1\n", "3 2\n4 5\n", "1 5\n"])
def test_a_vector_is_no_header(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tns"
    path.write_text(text)
    lines = [line.split() for line in text.splitlines()]
    assert load_tensor(str(path)).shape == (max(int(index) for index, _value in lines),)


@pytest.mark.parametrize("text", ["1 0\n5\n", "3 0\n4 5 6\n", "# c\n3 0\n\n4 5 6\n# end\n", "3\n4 5 6\n"])
def test_a_header_without_entries_is_an_empty_tensor(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tns"
    path.write_text(text)
    read = load_tensor(str(path))
    assert read.shape in ((5,), (4, 5, 6))
    assert read.tensor.nonzeros == 0


@pytest.mark.parametrize("text", ["2 0\n3 4\n", "# c\n2 0\n\n3 4\n# end\n"])
def test_two_lines_that_are_a_header_or_two_entries_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tns"
    path.write_text(text)
    with pytest.raises(
        WorkloadError, match="a matrix without entries by its header, or a vector of two entries"
    ):
        load_tensor(str(path))


@pytest.mark.parametrize("text", ["0\n", "0 0\n", "2 0\n", "3 0\n4 5\n6 7\n", "2 0\n3 0 1\n1 1 1\n"])
def test_a_text_that_looks_like_a_header_never_ends_in_a_traceback(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tns"
    path.write_text(text)
    with suppress(WorkloadError):
        assert load_tensor(str(path)).shape


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3\n1 2 6\n" + ENTRIES, "an index of rank 1 is 2; the header has the shape 1 x 2 x 6"),
        ("3 7\n4 5 6\n" + ENTRIES, "the header promises 7 entries, there are 2"),
        ("3\n4 5 999999999999\n" + ENTRIES, "a.tns:2: a size is above"),
        ("3 2\n4 5 6\n1 1 1 2.0\n2 3 x 5.0\n", "a.tns:4: '2 3 x 5.0' does not fit"),
    ],
)
def test_what_is_at_odds_with_a_header_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tns"
    path.write_text(text)
    with one_line(WorkloadError, said):
        load_tensor(str(path))
