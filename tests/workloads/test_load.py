import hashlib
import os
import re
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from class_tables import MULTIPLIES, PRODUCT_NONZEROS
from scipy import sparse

from fiberscope import workloads
from fiberscope.workloads import Workload, WorkloadError, cache, from_scipy, load, registry
from fiberscope.workloads.locality import product_nonzeros

MATRIX = "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"
DENSE = [[0.0, 2.0], [3.0, 0.0]]


@pytest.fixture
def data(tmp_path, monkeypatch):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    monkeypatch.setenv("FIBERSCOPE_DATA", os.pathsep.join(map(str, folders)))
    return folders


def test_a_path(tmp_path):
    (tmp_path / "some.thing.mtx").write_text(MATRIX)
    found = load(tmp_path / "some.thing.mtx")
    again = load(str(tmp_path / "some.thing.mtx"))
    assert replace(found, matrix=None) == replace(again, matrix=None)
    assert (found.name, found.source, found.origin, found.notice) == (
        "some.thing",
        "real",
        "some.thing.mtx",
        None,
    )


def test_what_looks_like_a_path_is_one(here):
    for text in ("wiki-Vote.mtx", "./wiki-Vote", "a/wiki-Vote"):
        with pytest.raises(WorkloadError, match=f"{text}: no such file"):
            load(text)


def test_a_folder_called_like_a_matrix_is_not_taken_for_it(here):
    (here / "LFAT5").mkdir()
    assert load("LFAT5").source == "surrogate"


def test_a_specification():
    found = load("uniform:rows=4,cols=5,nonzeros=6")
    assert (found.source, found.origin) == ("generated", "uniform:rows=4,cols=5,nonzeros=6,seed=0")
    assert found.notice is None


def test_the_data_path_is_searched_in_order(data):
    (data[1] / "mine.mtx").write_text(MATRIX)
    assert load("mine").matrix.shape == (2, 2)
    (data[0] / "mine.el").write_text("0 2\n")
    assert load("mine").matrix.shape == (3, 3)


def test_a_registered_name_on_the_data_path(data):
    (data[0] / "wi.mtx").write_text(MATRIX)
    found = load("Wiki-vote")
    assert (found.name, found.source, found.origin) == ("wiki-Vote", "real", "wi.mtx")
    assert found.notice == "NOTE: wi.mtx is 2 x 2, and the registry's wiki-Vote is 8297 x 8297"


def test_a_bad_file_on_the_data_path_is_an_error_and_no_surrogate(data):
    (data[0] / "wiki-Vote.mtx").write_text("nonsense")
    with pytest.raises(WorkloadError, match="bad banner"):
        load("wiki-Vote")


def test_a_surrogate_says_so_loudly():
    found = load("relat3")
    assert found.source == "surrogate"
    assert found.notice == (
        "SURROGATE: this is not relat3 but a stand-in: uniform; only shape and nonzeros match "
        "(relat3: FIBERSCOPE_OFFLINE forbids downloads); "
        "for the real one put relat3.mtx into a folder on FIBERSCOPE_DATA"
    )


def test_exact_forbids_it():
    with pytest.raises(WorkloadError) as caught:
        load("relat3", exact=True)
    assert str(caught.value) == (
        "relat3: the exact matrix is not available (relat3: FIBERSCOPE_OFFLINE forbids downloads); "
        "put relat3.mtx into a folder on FIBERSCOPE_DATA"
    )


def test_no_address():
    with pytest.raises(
        WorkloadError, match=r"speech2: the exact matrix is not available \(speech2: no download address"
    ):
        load("speech2", exact=True)


def test_unknown_names_and_tensors():
    with pytest.raises(WorkloadError, match=r"'relat4' is not a file, .*; did you mean relat3"):
        load("relat4")
    with pytest.raises(WorkloadError, match="uber: a tensor of rank 4; a matrix is needed"):
        load("uber")


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_from_any_scipy_format(form):
    given = sparse.csr_array(DENSE).asformat(form)
    found = from_scipy(given)
    assert found.matrix.toarray().tolist() == DENSE
    assert (found.name, found.source) == ("memory", "memory")
    assert found.digest == from_scipy(np.array(DENSE)).digest


def test_from_scipy_copies():
    given = sparse.csr_array(DENSE)
    found = from_scipy(given)
    given.data[:] = 7
    assert found.matrix.toarray().tolist() == DENSE


def test_duplicates_and_old_matrices():
    given = sparse.coo_matrix(([1, 2], ([0, 0], [1, 1])), shape=(1, 2))
    assert from_scipy(given).matrix.toarray().tolist() == [[0, 3]]


def test_a_vector_is_a_column(tmp_path):
    vector = np.array([0.0, 2.0, 3.0])
    np.save(tmp_path / "v.npy", vector)
    for found in (from_scipy(vector), from_scipy(sparse.coo_array(vector)), load(tmp_path / "v.npy")):
        assert found.matrix.toarray().tolist() == [[0.0], [2.0], [3.0]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros((2, 2, 2)), "m: 3 dimensions; a matrix has 2"),
        ("text", "m: values of type <U4; they must be real numbers"),
        (sparse.csr_array([[1j]]), "m: values of type complex128; they must be real numbers"),
        (np.array([["a"]]), "m: values of type <U1; they must be real numbers"),
        (np.array([[np.inf]]), "m: the value at row 1, column 1 is inf; values must be finite"),
        (np.zeros((0, 3)), "m: the shape 0 x 3 is empty; at least 1 x 1"),
    ],
)
def test_from_scipy_refuses(given, message):
    with pytest.raises(WorkloadError) as caught:
        from_scipy(given, "m")
    assert str(caught.value) == message


def test_from_scipy_refuses_an_unsound_matrix():
    given = sparse.csr_array(np.eye(2))
    given.indices[0] = 9
    with pytest.raises(WorkloadError, match="the coordinate 9 is outside 0 to 1"):
        from_scipy(given)


def test_the_digest_tells_shape_pattern_and_values_apart():
    base = sparse.csr_array(DENSE)
    wider = sparse.csr_array((base.data, base.indices, base.indptr), shape=(2, 3))
    others = [base * 2, base.T, wider, base]
    digests = [from_scipy(matrix).digest for matrix in others]
    assert len(set(digests)) == 4
    shape, indptr, indices, values = [2, 2], [0, 1, 2], [1, 0], [2.0, 3.0]
    expected = struct.pack("<7q2d", *shape, *indptr, *indices, *values)
    assert digests[-1] == hashlib.sha256(expected).hexdigest()


def test_a_workload_is_frozen():
    with pytest.raises(AttributeError):
        from_scipy(np.eye(2)).name = "other"


def test_the_room_imports_nothing_of_ours_but_itself():
    ours = r"fiberscope(?!\.workloads\b)"
    files = list(Path(workloads.__file__).parent.glob("*.py"))
    assert len(files) > 10
    for file in files:
        assert not re.search(rf"^\s*(import|from) {ours}\b", file.read_text(), re.MULTILINE), file.name


@pytest.mark.real
@pytest.mark.parametrize("name", ["wiki-Vote", "p2p-Gnutella31"])
def test_real_matrices_have_the_products_that_stand_ins_are_held_to(name):
    if cache.find(name) is None:
        pytest.skip(f"{name} is not on FIBERSCOPE_DATA")
    found = load(name, exact=True)
    rows = np.diff(found.matrix.indptr)
    cols = np.bincount(found.matrix.indices, minlength=found.matrix.shape[1])
    assert isinstance(found, Workload)
    assert (found.source, found.notice) == ("real", None)
    assert found.matrix.nnz == registry.lookup(name).nonzeros
    assert int(rows @ cols) == MULTIPLIES[name]
    assert product_nonzeros(found.matrix) == PRODUCT_NONZEROS[name]


def test_wiki_vote_comes_with_fiberscope_and_is_what_the_registry_says():
    found = load("wiki-Vote", exact=True)
    assert (found.source, found.origin, found.notice) == ("real", "wiki-Vote.mtx.gz", None)
    assert (found.matrix.shape, found.matrix.nnz) == ((8297, 8297), 103689)
    assert found.digest == "3b02f2dc99c104af0b4d0652de5c5fcc28479f824f4af8ebf49ee18b970b05a4"
