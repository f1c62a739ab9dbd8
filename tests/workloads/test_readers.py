import gzip
import io
import os

import numpy as np
import pytest
import scipy.io
from scipy import sparse

from fiberscope.workloads import WorkloadError, load, read_matrix

COORDINATE = "%%MatrixMarket matrix coordinate "


def put(tmp_path, name, content):
    path = tmp_path / name
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def refused(path):
    with pytest.raises(WorkloadError) as caught:
        read_matrix(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    return text.removeprefix(str(path))


@pytest.mark.parametrize(
    ("body", "dense"),
    [
        ("real general\n2 3 2\n1 1 1.5\n2 3 -2e1\n", [[1.5, 0, 0], [0, 0, -20]]),
        ("double general\n1 1 1\n1 1 .5", [[0.5]]),
        ("pattern general\n% a comment\n\n2 2 2\n1 2\n2 1\n", [[0, 1], [1, 0]]),
        ("integer symmetric\n2 2 2\n1 1 7\n2 1 -3\n", [[7, -3], [-3, 0]]),
        ("real skew-symmetric\n2 2 1\n2 1 3\n", [[0, -3], [3, 0]]),
        ("real general\r\n2 2 1\r\n 2\t1  +4. \r\n", [[0, 0], [4, 0]]),
        ("real general\n2 2 3\n1 1 1\n1 1 2\n2 2 5\n", [[3, 0], [0, 5]]),
        ("real general\n2 2 0\n", [[0, 0], [0, 0]]),
        ("real general\n1 1 1\n% a comment with\r5 5 5\n1 1 2\n", [[2]]),
    ],
)
@pytest.mark.parametrize("suffix", [".mtx", ".mtx.gz", ".dat"])
def test_coordinate_files(tmp_path, body, dense, suffix):
    matrix = read_matrix(put(tmp_path, "a" + suffix, COORDINATE + body))
    assert matrix.toarray().tolist() == dense
    assert (matrix.data.dtype, matrix.indices.dtype, matrix.indptr.dtype) == (np.float64, np.int64, np.int64)


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_array_files_agree_with_scipy(tmp_path, symmetry, size):
    dense = np.arange(size * size, dtype=float).reshape(size, size)
    dense = {"general": dense, "symmetric": dense + dense.T, "skew-symmetric": dense - dense.T}[symmetry]
    out = io.BytesIO()
    scipy.io.mmwrite(out, dense, symmetry=symmetry)
    matrix = read_matrix(put(tmp_path, "a.mtx", out.getvalue()))
    assert np.array_equal(matrix.toarray(), dense)
    assert matrix.nnz == np.count_nonzero(dense)


def test_explicit_zeros_and_empty_rows_are_kept(tmp_path):
    matrix = read_matrix(put(tmp_path, "a.mtx", COORDINATE + "real general\n4 4 2\n2 2 0\n4 1 1\n"))
    assert matrix.nnz == 2
    assert matrix.indptr.tolist() == [0, 0, 1, 1, 2]


def test_indices_are_sorted(tmp_path):
    matrix = read_matrix(put(tmp_path, "a.mtx", COORDINATE + "pattern general\n1 9 3\n1 7\n1 2\n1 5\n"))
    assert matrix.indices.tolist() == [1, 4, 6]
    assert matrix.has_canonical_format


def test_a_file_of_many_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("fiberscope.workloads.text.CHUNK_BYTES", 7)
    body = "".join(f"{i} {i} {i}.5\n%\n" for i in range(1, 60))
    path = put(tmp_path, "a.mtx", COORDINATE + "real general\n60 60 59\n" + body)
    assert read_matrix(path).diagonal().tolist() == [i + 0.5 for i in range(1, 60)] + [0]
    path.write_text(path.read_text().replace("40 40", "40 61"))
    assert refused(path).startswith(":81: the column is outside 1 to 60")


def test_edge_lists(tmp_path):
    text = "# SNAP\n# From To\n0 1\n2\t0\n% more\n2 1\n"
    assert read_matrix(put(tmp_path, "a.txt", text)).toarray().tolist() == [[0, 1, 0], [0, 0, 0], [1, 1, 0]]
    weighted = read_matrix(put(tmp_path, "b.el", "0 1 2.5\n0 1 0.5\n"))
    assert weighted.toarray().tolist() == [[0, 3], [0, 0]]
    assert read_matrix(put(tmp_path, "c.txt.gz", text)).nnz == 3


def test_frostt(tmp_path):
    matrix = read_matrix(put(tmp_path, "a.tns", "# c\n1 1 2\n3 2 4.5\n"))
    assert matrix.toarray().tolist() == [[2, 0], [0, 0], [0, 4.5]]
    assert "rank 3; only rank 2" in refused(put(tmp_path, "b.tns", "1 1 1 2\n"))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_npz(tmp_path, form):
    matrix = sparse.random_array((6, 8), density=0.3, format=form, rng=np.random.default_rng(1))
    sparse.save_npz(tmp_path / "a.npz", matrix)
    assert np.array_equal(read_matrix(tmp_path / "a.npz").toarray(), matrix.toarray())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("real general\n2 2 1\n3 1 1\n", ":3: the row is outside 1 to 2: '3 1 1'"),
        ("real general\n%\n2 2 1\n1 0 1\n", ":4: the column is outside 1 to 2: '1 0 1'"),
        ("real general\n2 2 2\n1 1 1.00000\n", ":3: ends after 1 of 2 entries"),
        ("real general\n2 2 1\n1 1 1\n\n1 2 1\n", ":5: an entry beyond the 1 declared"),
        ("real general\n2 2 1\n1 1 nan\n", ":3: '1 1 nan' holds a value that is not finite"),
        ("real general\n2 2 1\n1 1 -inf\n", ":3: '1 1 -inf' holds a value that is not finite"),
        ("real general\n2 2 1\n1 1 1e400\n", ":3: the value is too large for a double: '1 1 1e400'"),
        (
            "real general\n2 2 1\n1 1 1.5d2\n",
            ":3: '1 1 1.5d2' does not fit; a line here is <index> <index> <real>",
        ),
        (
            "integer general\n2 2 1\n1 1 1.5\n",
            ":3: '1 1 1.5' does not fit; a line here is <index> <index> <integer>",
        ),
        (
            "real general\n2 2 1\n1 1 1 x\n",
            ":3: '1 1 1 x' has 4 fields; a line here is <index> <index> <real>",
        ),
        ("pattern general\n2 2 1\n1 -1\n", ":3: '1 -1' does not fit; a line here is <index> <index>"),
        ("real general\n2 2\n", ":2: bad size line '2 2'; it is <rows> <columns> <entries>"),
        ("real general\n2 x 1\n", ":2: bad size line '2 x 1'; it is <rows> <columns> <entries>"),
        ("real general\n%\n", ":3: the file ends before its size line"),
        ("real general\n0 0 0\n", ":2: the shape 0 x 0 is empty; at least 1 x 1"),
        ("real symmetric\n2 3 0\n", ":2: a symmetric matrix of 2 x 3; it must be square"),
        (
            "real symmetric\n2 2 2\n1 2 1\n2 1 1\n",
            ": entries on both sides of the diagonal of a symmetric matrix;"
            " store one triangle, or say general",
        ),
        ("real skew-symmetric\n2 2 1\n1 1 1\n", ": a nonzero on the diagonal of a skew-symmetric matrix"),
        (
            "complex general\n1 1 1\n1 1 1 1\n",
            ":1: the field 'complex' is not supported; one of pattern, integer, real",
        ),
        (
            "real hermitian\n1 1 1\n1 1 1\n",
            ":1: the symmetry 'hermitian' is not supported; one of general, symmetric, skew-symmetric",
        ),
        ("real general\n10 10 99\n1 1 1\n", ":2: declares 99 entries, and the file has room for at most 1"),
        (
            "real general\n1000000000000000 2 1\n1 1 1\n",
            ":2: a shape of 1000000000000000 x 2 for 1 nonzeros; at most 10000016 rows or columns",
        ),
    ],
)
def test_bad_matrix_market_files(tmp_path, body, message):
    assert refused(put(tmp_path, "a.mtx", COORDINATE + body)) == message


def test_a_huge_array_declared_by_a_tiny_file(tmp_path):
    text = "%%MatrixMarket matrix array real general\n10000000 10000000\n1\n"
    assert "declares 100000000000000 entries" in refused(put(tmp_path, "a.mtx", text))
    assert "ends after 1 of" in refused(put(tmp_path, "a.mtx.gz", text))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.mtx", "1 1 1\n", ":1: bad banner"),
        ("a.mtx", "%%MatrixMarket matrix\n", ":1: bad banner"),
        ("a.mtx", b"", ": the file is empty"),
        ("a.mtx.gz", b"", ": the file is empty"),
        (
            "a.mtx",
            COORDINATE.encode() + b"real general\n1 1 1\n1 1 \xff\n",
            ":3: '1 1 \\\\xff' is not UTF-8 text",
        ),
        ("a.txt", "# only comments\n", ": no entry in the file"),
        ("a.txt", "0 1\n0 1 2\n", ":2: '0 1 2' has 3 fields; a line here is <index> <index>"),
        ("a.txt", "0\n", ":1: 1 columns; an edge list has"),
        ("a.txt", "0 -1\n", ":1: '0 -1' does not fit"),
        ("a.txt", "0 200000000\n", ": a shape of 200000001 x 200000001 for 1 nonzeros; at most 10000016"),
        ("a.txt", "0 99999999999999999999999\n", ":1: the column is outside 0 to 268435455"),
        ("a.txt", b"7" * 100_000_0, ":1: a line longer than 64 KiB"),
        ("a.tns", "0 1 1\n", ":1: the row is outside 1 to"),
        ("a.npz", b"PK\x03\x04 not really", ": not a matrix of scipy.sparse.save_npz (BadZipFile"),
        ("a.xyz", "1 2\n", ": neither its content nor its name tells a format"),
    ],
)
def test_bad_files(tmp_path, name, content, message, monkeypatch):
    monkeypatch.setattr("fiberscope.workloads.text.CHUNK_BYTES", 2**10)
    assert refused(put(tmp_path, name, content)).startswith(message)


def test_damaged_npz_member(tmp_path):
    path = tmp_path / "a.npz"
    sparse.save_npz(path, sparse.eye_array(50), compressed=False)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))
    refused(path)


def test_npz_with_indices_out_of_range(tmp_path):
    matrix = sparse.csr_array(np.eye(3))
    matrix.indices[2] = 7
    sparse.save_npz(tmp_path / "a.npz", matrix)
    assert refused(tmp_path / "a.npz") == ": the coordinate 7 is outside 0 to 2"


def test_npz_with_nan(tmp_path):
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array([[0, 0], [0, np.nan]]))
    assert refused(tmp_path / "a.npz") == ": the value at row 2, column 2 is nan; values must be finite"


def test_no_such_file_directory_and_permission(tmp_path, monkeypatch):
    assert refused(tmp_path / "a.mtx") == ": no such file"
    assert refused(tmp_path) == ": not a file but a directory or a device"
    path = put(tmp_path, "b.mtx", "x")

    def forbidden(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", forbidden)
    assert refused(path) == ": no permission to read it"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.mtx")
    assert refused(tmp_path / "a.mtx") == ": not a file but a directory or a device"


def test_a_byte_order_mark_and_plus_signs_are_read_over(tmp_path):
    marked = b"\xef\xbb\xbf" + (COORDINATE + "real general\n2 2 1\n+1 +2 +3\n").encode()
    for name in ("a.mtx", "b.mtx.gz"):
        assert read_matrix(put(tmp_path, name, marked)).toarray().tolist() == [[0, 3], [0, 0]]
    assert read_matrix(put(tmp_path, "a.el", b"\xef\xbb\xbf0 1\n")).toarray().tolist() == [[0, 1], [0, 0]]


def test_the_pipe_of_a_command_and_standard_input(monkeypatch):
    content = (COORDINATE + "pattern general\n2 2 1\n1 2\n").encode()
    reading, writing = os.pipe()
    os.write(writing, gzip.compress(content))
    os.close(writing)
    assert read_matrix(f"/dev/fd/{reading}").nnz == 1
    os.close(reading)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert load("-").matrix.nnz == 1


def test_an_integer_that_a_double_would_round_is_refused(tmp_path):
    body = COORDINATE + "integer general\n2 2 3\n1 1 9007199254740993\n1 2 -5\n2 2 9007199254740992\n"
    message = ":3: the integer, beyond 2^53, is none that a double holds: '1 1 9007199254740993'"
    assert refused(put(tmp_path, "a.mtx", body)) == message
    kept = read_matrix(put(tmp_path, "b.mtx", body.replace("993", "994")))
    assert kept.data.tolist() == [9007199254740994, -5, 9007199254740992]
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(np.array([[2**60 + 1, 1]])))
    assert "1152921504606846977, beyond 2^53" in refused(tmp_path / "a.npz")


def test_dense_arrays_of_numpy_and_matrices_of_matlab(tmp_path):
    dense = np.array([[0, 1.5], [2, 0], [0, 0]])
    np.save(tmp_path / "a.npy", dense)
    scipy.io.savemat(tmp_path / "b.mat", {"x": sparse.csc_array(dense)})
    scipy.io.savemat(tmp_path / "c.mat", {"Problem": {"A": sparse.csc_array(dense), "name": "c"}})
    for name in ("a.npy", "b.mat", "c.mat"):
        found = read_matrix(tmp_path / name)
        assert (found.nnz, found.toarray().tolist()) == (2, dense.tolist())
    scipy.io.savemat(tmp_path / "d.mat", {"x": dense, "y": dense})
    fix = f"name one of them: {tmp_path / 'd.mat'}:x, {tmp_path / 'd.mat'}:y"
    assert refused(tmp_path / "d.mat") == f": it holds 2 matrices; {fix}"
    np.save(tmp_path / "e.npy", np.zeros((2, 2, 2)))
    assert refused(tmp_path / "e.npy") == ": a tensor of rank 3; a matrix has rank 2"


def test_an_npz_of_dense_arrays_holds_no_sparse_matrix(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.eye(2))
    path = tmp_path / "a.npz"
    said = f"no sparse matrix of scipy.sparse.save_npz; name one of its arrays: {path}:a"
    assert refused(path) == f": {said}"


def test_patterns_of_the_deep_learning_collection(tmp_path):
    good = "2, 3, 3\n0 1 3\n2 0 1\n"
    assert read_matrix(put(tmp_path, "a.smtx", good)).toarray().tolist() == [[0, 0, 1], [1, 1, 0]]
    for wrong, message in (
        ("2, 3\n", ":1: 2 numbers; there should be 3"),
        (good.replace("0 1 3", "0 4 3"), ":2: the row pointers do not rise from 0 to 3"),
        (good.replace("2 0 1", "2 0 3"), ":3: a column is outside 0 to 2"),
        (good.replace("2 0 1", "2 0 x"), ":3: not a whole number"),
        (good + "1 1 1\n", ":4: more than three lines"),
    ):
        assert refused(put(tmp_path, "b.smtx", wrong)) == message
