"""All readers of arrays: what a public writer stores is read back, or refused in one line with its name."""

from pathlib import Path
from zipfile import ZipFile

import networkx
import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fiberscope.workloads import WorkloadError, from_scipy, load, load_tensor, open_tensor

KINDS = ["?", "<i1", ">i2", "<i8", ">i8", "<u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]


def matrices():
    """Dense arrays of small whole numbers, which every type but bool holds."""
    sizes = st.tuples(st.integers(1, 5), st.integers(1, 6))
    return sizes.flatmap(
        lambda shape: st.lists(
            st.sampled_from([0, 0, 0, 1, 2, 5, 100]),
            min_size=shape[0] * shape[1],
            max_size=shape[0] * shape[1],
        ).map(lambda numbers: np.array(numbers).reshape(shape))
    )


def write_pydata(path, dense, **changed):
    """As ``sparse.save_npz`` of release 0.19 writes COO."""
    kept = np.nonzero(dense)
    arrays = {
        "format": np.array("coo"),
        "data": dense[kept],
        "coords": np.array(kept),
        "shape": np.array(dense.shape),
        "fill_value": np.zeros((), dense.dtype),
    }
    np.savez(path, **{**arrays, **changed})


def write_gcxs(path, dense, **changed):
    """As ``sparse.save_npz`` writes GCXS, the last rank compressed."""
    columns = sparse.csc_array(dense.reshape(-1, dense.shape[-1]).astype(float))
    arrays = {
        "data": columns.data.astype(dense.dtype),
        "indices": columns.indices,
        "indptr": columns.indptr,
        "compressed_axes": np.array([dense.ndim - 1]),
        "shape": np.array(dense.shape),
        "fill_value": np.zeros((), dense.dtype),
    }
    np.savez(path, **{**arrays, **changed})


def scipy_layout(layout, dense):
    """A sparse array of scipy with values of any type, most of which scipy itself does not convert."""
    made = sparse.coo_array(dense.astype(np.float64)).asformat(layout)
    made.data = made.data.astype(dense.dtype)
    return made


LAYOUTS = ["coo", "csr", "csc", "bsr", "dia"]
WRITERS = {
    **{
        f"scipy {layout}.npz": lambda path, dense, layout=layout: sparse.save_npz(
            path, scipy_layout(layout, dense)
        )
        for layout in LAYOUTS
    },
    "pydata.npz": write_pydata,
    "gcxs.npz": write_gcxs,
    "numpy.npy": np.save,
    "fortran.npy": lambda path, dense: np.save(path, np.asfortranarray(dense)),
    "net.npz:a:0": lambda path, dense: np.savez(path, **{"a:0": dense, "b": np.ones(3)}),
    "safe.safetensors:x/y:0": lambda path, dense: write_safetensors(path, {"x/y:0": dense}),
    "matlab.mat": lambda path, dense: scipy.io.savemat(path, {"a": dense}),
    "csc.mat": lambda path, dense: scipy.io.savemat(path, {"a": sparse.csc_array(dense.astype(float))}),
    "suitesparse.mat": lambda path, dense: scipy.io.savemat(
        path, {"Problem": {"A": sparse.csc_array(dense.astype(float)), "title": "x"}}, do_compression=True
    ),
    "general.mtx": lambda path, dense: scipy.io.mmwrite(path, sparse.coo_array(dense.astype(float))),
    "unsigned.mtx": lambda path, dense: scipy.io.mmwrite(path, sparse.coo_array(dense.astype(np.uint64))),
    "array.mtx": lambda path, dense: scipy.io.mmwrite(path, dense.astype(float)),
}


def write_safetensors(path, arrays):
    from safetensors.numpy import save_file

    save_file({name: array.astype(array.dtype.newbyteorder("<")) for name, array in arrays.items()}, path)


@pytest.mark.parametrize("name", [name for name in WRITERS if not name.endswith(".mat")])
@given(dense=matrices(), kind=st.sampled_from(KINDS))
@settings(max_examples=4)
def test_what_a_public_writer_stores_is_read_back(tmp_path_factory, name, dense, kind):
    check_writer(tmp_path_factory, name, dense, kind)


@pytest.mark.parametrize("name", [name for name in WRITERS if name.endswith(".mat")])
@given(dense=matrices(), kind=st.sampled_from([kind for kind in KINDS if kind[1:] != "f2"]))
@settings(max_examples=2)  # each file is read in two processes of its own
def test_what_is_stored_for_matlab_is_read_back(tmp_path_factory, name, dense, kind):
    check_writer(tmp_path_factory, name, dense, kind)  # MATLAB has no halves


def check_writer(tmp_path_factory, name, dense, kind):
    array = dense.astype(kind)
    file, colon, inner = name.partition(":")
    path = tmp_path_factory.mktemp("read") / file
    WRITERS[name](path, array)
    text = f"{path}{colon}{inner}"
    assert np.array_equal(load(text).matrix.toarray(), array.astype(np.float64))
    assert np.array_equal(load_tensor(text).tensor.toarray(), array.astype(np.float64))


@given(dense=matrices(), kind=st.sampled_from(KINDS))
def test_what_a_python_object_holds_is_read_back(dense, kind):
    array = dense.astype(kind)
    objects = [array, np.asfortranarray(array), *(scipy_layout(layout, array) for layout in LAYOUTS)]
    objects += [sparse.lil_array(dense.astype(float)), sparse.dok_array(dense.astype(float))]
    for each in objects:
        expected = array.astype(np.float64) if each.dtype == array.dtype else dense
        assert np.array_equal(from_scipy(each).matrix.toarray(), expected)
        assert np.array_equal(open_tensor(each, "A").tensor.toarray(), expected)


@given(dense=matrices())
def test_a_graph_of_networkx_is_its_adjacency_matrix(dense):
    size = max(dense.shape)
    square = np.zeros((size, size))
    square[: dense.shape[0], : dense.shape[1]] = dense
    graph = networkx.from_numpy_array(square, create_using=networkx.DiGraph)
    assert np.array_equal(from_scipy(graph).matrix.toarray(), square)


class PydataCoo:
    """The attributes of an array of the library sparse."""

    def __init__(self, dense, fill_value=0):
        kept = np.nonzero(dense)
        self.coords, self.data, self.shape, self.fill_value = (
            np.array(kept),
            dense[kept],
            dense.shape,
            fill_value,
        )


def test_an_array_of_the_library_sparse_is_read_from_memory():
    dense = np.arange(24).reshape(2, 3, 4) % 5
    assert np.array_equal(open_tensor(PydataCoo(dense), "A").tensor.toarray(), dense)
    assert np.array_equal(from_scipy(PydataCoo(dense[0])).matrix.toarray(), dense[0])
    with pytest.raises(WorkloadError, match="A: entries that are not stored are 2"):
        open_tensor(PydataCoo(dense, 2), "A")


@pytest.mark.parametrize("shape", [(7,), (2, 3, 4), (2, 1, 3, 2)])
@pytest.mark.parametrize("writer", ["scipy", "pydata", "gcxs", "numpy"])
def test_arrays_of_other_ranks_are_tensors(tmp_path, shape, writer):
    dense = np.arange(int(np.prod(shape))).reshape(shape) % 3.0
    path = tmp_path / "t.npz"
    if writer == "scipy":
        sparse.save_npz(path, sparse.coo_array(dense))
    elif writer == "gcxs" and len(shape) > 1:
        write_gcxs(path, dense)
    elif writer == "numpy":
        np.savez(path, dense)
    else:
        write_pydata(path, dense)
    assert np.array_equal(load_tensor(path).tensor.toarray(), dense)


BAD_VALUES = {
    "nan": (np.array([1.0, np.nan]), "is nan"),
    "infinity": (np.array([1.0, -np.inf]), "is -inf"),
    "half infinity": (np.array([1.0, np.inf], np.float16), "is inf"),
    "complex": (np.array([1.0, 2j]), "values of type complex128"),
    "dates": (np.array(["2020-01-01", "2021-01-01"], "M8[D]"), "values of type datetime64[D]"),
    "durations": (np.array([1, 2], "m8[s]"), "values of type timedelta64[s]"),
    "texts": (np.array(["1", "2"]), "values of type <U1"),
    "bytes": (np.array([b"1", b"2"]), "values of type |S1"),
    "records": (np.array([(1, 2), (3, 4)], "i4,i4"), "values of type"),
    "large": (np.array([1, 2**64 - 1], np.uint64), "the integer 18446744073709551615, beyond 2^53"),
    "large negative": (np.array([1, -(2**53) - 1]), "the integer -9007199254740993, beyond 2^53"),
}
COO = {"format": np.array("coo"), "shape": np.array([3, 4]), "row": np.array([0, 2]), "col": np.array([1, 3])}
COORDS = {"shape": np.array([3, 4]), "coords": np.array([[0, 2], [1, 3]]), "fill_value": np.array(0.0)}
CSR = {
    "format": np.array(b"csr"),
    "shape": [3, 4],
    "indices": [1, 3],
    "indptr": [0, 1, 1, 2],
    "data": [1.0, 2],
}
CSC = {
    "format": np.array(b"csc"),
    "shape": [4, 3],
    "indices": [1, 3],
    "indptr": [0, 1, 1, 2],
    "data": [1.0, 2],
}
BSR = {
    "format": np.array(b"bsr"),
    "shape": [4, 6],
    "indices": [1, 0],
    "indptr": [0, 1, 2],
    "data": np.ones((2, 2, 3)),
}
DIA = {"format": np.array(b"dia"), "shape": [3, 4], "offsets": [-1, 2], "data": np.ones((2, 4))}


def refused(text, refusal):
    """The reason for which a file is refused, everywhere in the same way."""
    with pytest.raises(WorkloadError) as caught:
        load(text)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(text.split(".npz:")[0])
    assert Path(text.split(":")[0]).name in refusal("info", text)
    return str(caught.value)


@pytest.mark.parametrize("kind", BAD_VALUES)
@pytest.mark.parametrize("writer", ["coo", "pydata", "csr", "csc", "bsr", "dia", "npy", "npz:a"])
def test_values_that_are_no_finite_real_numbers_are_refused(tmp_path, refusal, kind, writer):
    values, reason = BAD_VALUES[kind]
    path = tmp_path / f"m.{writer if writer in ('npy', 'npz:a') else 'npz'}"
    if writer == "npy":
        np.save(path, values)
    elif writer == "npz:a":
        np.savez(tmp_path / "m.npz", a=values, b=values)
    else:
        layout = {"coo": COO, "pydata": COORDS, "csr": CSR, "csc": CSC, "bsr": BSR, "dia": DIA}[writer]
        shape = {"bsr": (2, 1, 1), "dia": (1, 2)}.get(writer, (2,))
        changed = {"bsr": {"shape": [2, 2]}, "dia": {"offsets": [0], "shape": [2, 2]}}.get(writer, {})
        np.savez(path, **{**layout, **changed, "data": values.reshape(shape)})
    assert reason in refused(str(path), refusal)


@pytest.mark.parametrize("kind", BAD_VALUES)
def test_values_in_memory_are_held_to_the_same(kind):
    values, reason = BAD_VALUES[kind]
    for read in (lambda each: from_scipy(each, "A"), lambda each: open_tensor(each, "A")):
        with pytest.raises(WorkloadError) as caught:
            read(values)
        assert reason in str(caught.value)
        matrix = sparse.coo_array((np.ones(2), ([0, 2], [1, 3])), shape=(3, 4))
        matrix.data = values
        with pytest.raises(WorkloadError) as caught:
            read(matrix)
        assert str(caught.value).startswith("A: ")
        assert reason in str(caught.value)


ENTRIES = {"data": np.array([1.0, 2.0])}
BAD_PLACES = {
    "fractional": ({**COO, **ENTRIES, "row": [0, 1.5]}, "coordinates must be whole numbers, not 1.5"),
    "fractional coords": (
        {**COORDS, **ENTRIES, "coords": [[0, 1.5], [1, 2]]},
        "must be whole numbers, not 1.5",
    ),
    "not a number": ({**COO, **ENTRIES, "row": [0, np.nan]}, "must be whole numbers, not nan"),
    "dates": ({**COO, **ENTRIES, "row": np.array([0, 1], "M8[D]")}, "coordinates of type datetime64[D]"),
    "texts": ({**COORDS, **ENTRIES, "coords": np.array([["0", "1"]] * 2)}, "coordinates of type <U1"),
    "one vector": ({**COORDS, **ENTRIES, "coords": [0, 1]}, "coordinates of rank 1"),
    "negative": ({**COO, **ENTRIES, "row": [0, -1]}, "-1 is outside 0 to 2"),
    "beyond": ({**COORDS, **ENTRIES, "coords": [[0, 1], [1, 4]]}, "4 is outside 0 to 3"),
    "huge": ({**COO, **ENTRIES, "row": np.array([0, 2**64 - 1], np.uint64)}, "must be below 2^63"),
    "too few": ({**COO, **ENTRIES, "row": [0]}, "1 coordinates of rank 1 for 2 values"),
    "ranks": ({**COORDS, **ENTRIES, "shape": [3, 4, 5]}, "coordinates of 2 ranks for a shape of 3"),
    "no rows": ({**COO, **ENTRIES, "shape": [0, 4]}, "the shape 0 x 4 is empty"),
    "half a row": ({**COO, **ENTRIES, "shape": [2.5, 4]}, "sizes must be whole numbers, not 2.5"),
    "no values": (COO, "the sparse array has no data"),
    "layout": ({**COO, **ENTRIES, "format": np.array("xyz")}, "a sparse array in the layout 'xyz'"),
    "fill": ({**COORDS, **ENTRIES, "fill_value": np.array(1.0)}, "entries that are not stored are 1.0"),
    "fill nan": (
        {**COORDS, **ENTRIES, "fill_value": np.array(np.nan)},
        "entries that are not stored are nan",
    ),
    "csr negative": ({**CSR, "indices": [1, -3]}, "the coordinate -3 is outside 0 to 3"),
    "csr beyond": ({**CSR, "indices": [1, 4]}, "the coordinate 4 is outside 0 to 3"),
    "csr falling": ({**CSR, "indptr": [0, 2, 1, 2]}, "the pointers do not rise from 0"),
    "csr pointers": ({**CSR, "indptr": [0, 1, 2]}, "3 pointers for 3 rows or columns"),
    "csr pointers beyond": ({**CSR, "indptr": [0, 1, 1, 9]}, "the pointers do not rise from 0"),
    "csr pointers fractional": ({**CSR, "indptr": [0, 0.5, 1, 2]}, "pointers must be whole numbers"),
    "csr fractional": ({**CSR, "indices": [1, 2.5]}, "coordinates must be whole numbers, not 2.5"),
    "csr ranks": ({**CSR, "shape": [3, 4, 5]}, "CSR with 3 ranks"),
    "csc negative": ({**CSC, "indices": [1, -3]}, "the coordinate -3 is outside 0 to 3"),
    "csc beyond": ({**CSC, "indices": [1, 4]}, "the coordinate 4 is outside 0 to 3"),
    "bsr negative": ({**BSR, "indices": [1, -1]}, "the coordinate of a block -1 is outside 0 to 1"),
    "bsr beyond": ({**BSR, "indices": [1, 2]}, "the coordinate of a block 2 is outside 0 to 1"),
    "bsr blocks": ({**BSR, "shape": [4, 7]}, "blocks of 2 x 3 do not divide a matrix of 4 x 7"),
    "bsr flat": ({**BSR, "data": [1.0, 2.0]}, "the values of BSR must be blocks"),
    "dia beyond": ({**DIA, "offsets": [-1, 4]}, "the diagonal 4 is outside -2 to 3"),
    "dia below": ({**DIA, "offsets": [-3, 1]}, "the diagonal -3 is outside -2 to 3"),
    "dia twice": ({**DIA, "offsets": [1, 1]}, "an offset appears twice"),
    "dia too many": ({**DIA, "offsets": [0, 1, 2]}, "3 offsets for values of shape (2, 4)"),
    "dia fractional": ({**DIA, "offsets": [0, 0.5]}, "offsets must be whole numbers"),
}


@pytest.mark.parametrize("kind", BAD_PLACES)
def test_coordinates_that_are_none_are_refused(tmp_path, refusal, kind):
    arrays, reason = BAD_PLACES[kind]
    np.savez(tmp_path / "m.npz", **arrays)
    assert reason in refused(str(tmp_path / "m.npz"), refusal)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr", "dia", "lil"])
@pytest.mark.parametrize("wrong", [-7, 9])
def test_a_matrix_of_scipy_that_was_broken_later_is_refused(layout, wrong):
    matrix = sparse.coo_array(np.eye(4)).asformat(layout)
    if layout == "coo":
        matrix.row[1] = wrong
    elif layout == "dia":
        matrix.offsets[0] = wrong
    elif layout == "lil":
        matrix.rows[1] = [wrong]
    else:
        matrix.indices[1] = wrong
    with pytest.raises(WorkloadError, match=r"^A: .*outside|^A: the lil matrix is not sound"):
        from_scipy(matrix, "A")


def test_masked_values_are_refused():
    with pytest.raises(WorkloadError, match="A: some values are masked"):
        from_scipy(np.ma.masked_equal([[1.0, 2.0]], 2.0), "A")


def test_a_zip_file_without_arrays_is_refused(tmp_path, refusal):
    with ZipFile(tmp_path / "m.npz", "w") as made:
        made.writestr("readme.txt", "nothing")
    assert "m.npz: a zip archive; unpack it" in refused(str(tmp_path / "m.npz"), refusal)


@pytest.mark.parametrize(
    ("count", "named"),
    [(2, "w.safetensors:a0, w.safetensors:a1"), (12, "w.safetensors:a6, w.safetensors:a7 and 2 more")],
)
def test_a_file_of_weights_without_the_name_of_an_array_names_them(count, named, here, refusal):
    write_safetensors("w.safetensors", {f"a{number}": np.eye(2) for number in range(count)})
    for command in (["info", "w.safetensors"], ["sim", "gamma", "w.safetensors"]):
        said = refusal(*command)
        assert said.startswith(
            f"fiberscope: w.safetensors: a file of {count} arrays; name one of its arrays: "
        )
        assert said.endswith(f"{named}\n")
