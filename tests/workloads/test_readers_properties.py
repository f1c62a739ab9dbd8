import gzip
import io

import numpy as np
import scipy.io
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from fiberscope.workloads import WorkloadError, read_matrix

VALUES = st.floats(allow_nan=False, allow_infinity=False, width=64)


@st.composite
def matrices(draw):
    rows, cols = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    places = draw(st.sets(st.tuples(st.integers(0, rows - 1), st.integers(0, cols - 1))))
    values = draw(st.lists(VALUES, min_size=len(places), max_size=len(places)))
    row, col = [np.array([place[axis] for place in sorted(places)], dtype=int) for axis in (0, 1)]
    return sparse.coo_array((np.array(values, dtype=float), (row, col)), shape=(rows, cols)).tocsr()


@given(matrix=matrices(), packed=st.booleans(), field=st.sampled_from([None, "pattern"]))
def test_what_scipy_writes_is_read_back(tmp_path_factory, matrix, packed, field):
    out = io.BytesIO()
    scipy.io.mmwrite(out, matrix, precision=17, field=field, symmetry="general")
    path = tmp_path_factory.mktemp("m") / "a.mtx"
    path.write_bytes(gzip.compress(out.getvalue()) if packed else out.getvalue())
    found = read_matrix(path)
    assert found.shape == matrix.shape
    assert found.indptr.tolist() == matrix.indptr.tolist()
    assert found.indices.tolist() == matrix.indices.tolist()
    assert found.data.tolist() == (matrix.data.tolist() if field is None else [1.0] * matrix.nnz)


@given(matrix=matrices())
def test_symmetric_files_agree_with_scipy(tmp_path_factory, matrix):
    size = max(matrix.shape)
    square = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
    square.resize(size, size)
    square.data = np.clip(square.data, -1e300, 1e300)
    whole = (square + square.T).tocsr()
    path = tmp_path_factory.mktemp("m") / "a.mtx"
    scipy.io.mmwrite(path, whole, precision=17, symmetry="symmetric")
    assert np.array_equal(read_matrix(path).toarray(), scipy.io.mmread(path, spmatrix=False).toarray())


@given(matrix=matrices(), name=st.sampled_from(["a.el", "a.tns"]))
def test_lists_of_coordinates(tmp_path_factory, matrix, name):
    base = int(name.endswith(".tns"))
    entries = matrix.tocoo()
    text = "".join(
        f"{row + base}\t{col + base} {float(value)!r}\n"
        for row, col, value in zip(*entries.coords, entries.data, strict=True)
    )
    path = tmp_path_factory.mktemp("m") / name
    assume(text)
    path.write_text(text)
    found = read_matrix(path).tocoo()
    assert [axis.tolist() for axis in found.coords] == [axis.tolist() for axis in entries.coords]
    assert found.data.tolist() == entries.data.tolist()


HEADS = st.sampled_from(
    [
        b"",
        b"%%MatrixMarket matrix coordinate real general\n",
        b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n",
        b"%%MatrixMarket matrix array integer skew-symmetric\n3 3\n",
        b"\x1f\x8b\x08\x00",
        b"PK\x03\x04",
        b"\x93NUMPY\x01\x00",
        b"MATLAB 5.0 MAT-file",
        b"3 3 2\n0 1 2 2\n0 2\n",
        b"\xef\xbb\xbf",
        b"0 1\n1 2\n",
    ]
)
LINES = st.lists(st.text("0123456789 .-+eE\tnaif%#\r\n\x00", max_size=12).map(str.encode), max_size=8)


@given(
    head=HEADS,
    lines=LINES,
    tail=st.binary(max_size=60),
    packed=st.booleans(),
    name=st.sampled_from(["a.mtx", "a.txt", "a.tns", "a.npz", "a.npy", "a.mat", "a.smtx", "a.el.gz", "a"]),
)
def test_whatever_the_bytes_only_a_workload_error_comes_out(
    tmp_path_factory, head, lines, tail, packed, name
):
    path = tmp_path_factory.mktemp("m") / name
    data = head + b"\n".join(lines) + tail
    path.write_bytes(gzip.compress(data) if packed else data)
    try:
        matrix = read_matrix(path)
    except WorkloadError:
        return
    assert np.isfinite(matrix.data).all()
    matrix.check_format(full_check=True)


@given(cut=st.integers(0, 400), flip=st.integers(0, 400), bit=st.integers(0, 7))
def test_a_damaged_npz(tmp_path_factory, cut, flip, bit):
    path = tmp_path_factory.mktemp("m") / "a.npz"
    sparse.save_npz(path, sparse.csr_array(np.eye(3)))
    data = bytearray(path.read_bytes()[: -cut or None])
    if data:
        data[flip % len(data)] ^= 1 << bit
    path.write_bytes(bytes(data))
    try:
        matrix = read_matrix(path)
    except WorkloadError:
        return
    assert matrix.toarray().tolist() == np.eye(3).tolist()


@given(matrix=matrices(), name=st.sampled_from(["a.npy", "a.mat", "a.smtx"]))
def test_what_other_libraries_write_is_read_back(tmp_path_factory, matrix, name):
    path = tmp_path_factory.mktemp("m") / name
    if name == "a.npy":
        np.save(path, matrix.toarray())
    elif name == "a.mat":
        scipy.io.savemat(path, {"matrix": matrix})
    else:
        lines = ([*matrix.shape, matrix.nnz], matrix.indptr, matrix.indices)
        path.write_text("".join(" ".join(map(str, line)) + "\n" for line in lines))
    found = read_matrix(path)
    if name == "a.smtx":
        assert (found.indptr.tolist(), found.indices.tolist()) == (
            matrix.indptr.tolist(),
            matrix.indices.tolist(),
        )
    else:
        assert np.array_equal(found.toarray(), matrix.toarray())
