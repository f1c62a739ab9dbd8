"""Files that other programs write: narrow floating-point weights, MATLAB, and what is no matrix at all."""

import json
import pickle
import zipfile

import numpy as np
import pytest
import scipy.io
from scipy import sparse

from fiberscope import cli
from fiberscope.workloads import WorkloadError, load, load_tensor


def store_raw(path, kind, shape, stored):
    """A file of safetensors with values of a type that numpy lacks."""
    header = {"w": {"dtype": kind, "shape": list(shape), "data_offsets": [0, len(stored)]}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + stored)


def plain_value(code, exponents, mantissas, bias):
    """A number of 8 bits by its definition, NaN and infinity left aside."""
    sign, exponent, fraction = (
        code >> 7,
        code >> mantissas & (1 << exponents) - 1,
        code & (1 << mantissas) - 1,
    )
    magnitude = (
        fraction * 2.0 ** (1 - bias - mantissas)
        if exponent == 0
        else (1 + fraction / (1 << mantissas)) * 2.0 ** (exponent - bias)
    )
    return -magnitude if sign else magnitude


@pytest.mark.parametrize(
    ("kind", "exponents", "mantissas", "bias", "special"),
    [
        ("F8_E4M3", 4, 3, 7, {0x7F, 0xFF}),
        ("F8_E5M2", 5, 2, 15, {*range(0x7C, 0x80), *range(0xFC, 0x100)}),
        ("F8_E4M3FNUZ", 4, 3, 8, {0x80}),
        ("F8_E5M2FNUZ", 5, 2, 16, {0x80}),
    ],
)
def test_weights_of_8_bits_are_read_exactly(tmp_path, refusal, kind, exponents, mantissas, bias, special):
    finite = [code for code in range(256) if code not in special]
    store_raw(tmp_path / "w.safetensors", kind, [len(finite), 1], bytes(finite))
    expected = [plain_value(code, exponents, mantissas, bias) for code in finite]
    assert load(f"{tmp_path}/w.safetensors:w").matrix.toarray()[:, 0].tolist() == expected
    for code in special:
        store_raw(tmp_path / "w.safetensors", kind, [1, 2], bytes([0x38, code]))
        with pytest.raises(
            WorkloadError, match=r"w\.safetensors:w: the value at row 1, column 2 is (nan|-?inf)"
        ):
            load(f"{tmp_path}/w.safetensors:w")
    refusal("info", f"{tmp_path}/w.safetensors:w")


def test_weights_of_bf16_are_read_exactly(tmp_path):
    codes = np.arange(2**16, dtype="<u2")
    finite = codes[(codes & 0x7F80) != 0x7F80]
    store_raw(tmp_path / "w.safetensors", "BF16", [len(finite), 1], finite.tobytes())
    expected = (finite.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    assert np.array_equal(load(f"{tmp_path}/w.safetensors:w").matrix.toarray()[:, 0], expected)
    store_raw(tmp_path / "w.safetensors", "BF16", [1, 1], b"\xc0\x7f")
    with pytest.raises(WorkloadError, match="is nan; values must be finite"):
        load(f"{tmp_path}/w.safetensors:w")


def test_scales_of_microscaling_are_powers_of_two_and_the_last_code_is_none(tmp_path):
    store_raw(tmp_path / "w.safetensors", "F8_E8M0", [255, 1], bytes(range(255)))
    values = load(f"{tmp_path}/w.safetensors:w").matrix.toarray()[:, 0].tolist()
    assert values == [2.0 ** (code - 127) for code in range(255)]
    store_raw(tmp_path / "w.safetensors", "F8_E8M0", [1, 2], b"\x7f\xff")
    with pytest.raises(WorkloadError, match="the value at row 1, column 2 is nan; values must be finite"):
        load(f"{tmp_path}/w.safetensors:w")


def test_weights_of_a_type_without_a_meaning_here_are_named(tmp_path):
    store_raw(tmp_path / "w.safetensors", "F4", [2, 2], b"\x12\x34")
    with pytest.raises(WorkloadError, match="values of type F4; known: F64, F32"):
        load(f"{tmp_path}/w.safetensors:w")


FOREIGN = {
    b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n": "a pointer of Git LFS",
    b"<!DOCTYPE html>\n<html><body>Not found</body></html>": "a web page",
    b"\n  <HTML><head>": "a web page",
    b"\xef\xbb\xbf<!doctype html>": "a web page",
    b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>': "an XML document",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    "%%MatrixMarket matrix coordinate real general\n".encode("utf-16"): "text in UTF-16",
    "0 1\n".encode("utf-16-be").join([b"\xfe\xff", b""]): "text in UTF-16",
    b"MATLAB 7.3 MAT-file, Platform: GLNXA64": "a file of MATLAB version 7.3",
    b'<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">': "a graph in GraphML",
    b'<?xml version="1.0"?>\n<gexf version="1.3">': r"a graph of Gephi \(GEXF\)",
    b"*Vertices 3\n1 v1\n*Arcs\n1 2 1\n": "a graph of Pajek",
    b'Creator "igraph"\nVersion 1\ngraph\n[\n  directed 1\n': "a graph in GML",
    b"# comment\ngraph [\n  node [ id 0 ]\n": "a graph in GML",
    b"strict digraph G {\n 0 -> 1;\n}": r"a graph of Graphviz \(DOT\)",
    b"c comment\nc\np edge 3 2\ne 1 2\ne 2 3\n": "a graph of DIMACS for colouring",
    pickle.dumps([1, 2]): "a pickle of Python",
    b"PAR1\x15\x04": "an Apache Parquet table",
}


@pytest.mark.parametrize("content", FOREIGN)
@pytest.mark.parametrize(
    "name",
    ["m.mtx", "m.npz", "m.npy", "m.mat", "m.tns", "m.el", "m.smtx", "m.npz:a", "m.mat:a", "m.safetensors:a"],
)
def test_a_file_that_is_something_else_is_named(tmp_path, refusal, content, name):
    (tmp_path / name.partition(":")[0]).write_bytes(content)
    for read in (load, load_tensor):
        with pytest.raises(WorkloadError, match=FOREIGN[content]):
            read(f"{tmp_path}/{name}")
    refusal("info", f"{tmp_path}/{name}")


def test_comments_like_the_beginning_of_a_graph_in_gml_are_checked_in_linear_time(tmp_path):
    (tmp_path / "m.el").write_bytes(b"# " * 250 + b"\n0 1\n")
    assert load(f"{tmp_path}/m.el").matrix.nnz == 1


def test_comma_separated_text_is_refused_with_both_meanings(tmp_path):
    (tmp_path / "m.csv").write_text("1,2\n3,4\n")
    with pytest.raises(WorkloadError, match=r"m\.csv: comma-separated text.*\.edges.*numpy\.save"):
        load(f"{tmp_path}/m.csv")


@pytest.mark.parametrize("is_sparse", [True, False])
def test_a_damaged_file_of_matlab_costs_one_line(tmp_path, capsys, is_sparse):
    """Damage that makes scipy's reader crash ends the process that reads, and not the one that asks."""
    dense = np.arange(12.0).reshape(3, 4)
    scipy.io.savemat(tmp_path / "m.mat", {"a": sparse.csc_array(dense) if is_sparse else dense})
    content = (tmp_path / "m.mat").read_bytes()
    outcomes = set()
    for place in range(128, len(content), 72):
        (tmp_path / "m.mat").write_bytes(content[:place] + b"\xff\xff\xff\x7f" + content[place + 4 :])
        code = cli.run(["info", str(tmp_path / "m.mat")])
        errors = capsys.readouterr().err
        assert (code, errors.count("\n")) in ((0, 0), (2, 1))
        outcomes.add(code)
    assert 2 in outcomes


def test_a_crash_of_the_reader_of_matlab_is_one_line(tmp_path, monkeypatch):
    from fiberscope.workloads import matlab_file

    scipy.io.savemat(tmp_path / "m.mat", {"a": np.eye(2)})
    monkeypatch.setattr(matlab_file.sys, "executable", "/bin/false")
    with pytest.raises(WorkloadError, match=r"m\.mat: not a matrix of MATLAB .*: the file is damaged"):
        load(tmp_path / "m.mat")


def test_a_zip_archive_of_other_files_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.writestr("m/m.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n")
    with pytest.raises(WorkloadError, match=r"m\.zip: a zip archive; unpack it, and name the matrix in it"):
        load(tmp_path / "m.zip")


def test_a_matrix_of_a_file_of_matlab_is_read_by_its_name(tmp_path):
    dense = np.array([[0, 1.5], [2, 0], [0, 0]])
    scipy.io.savemat(tmp_path / "m.mat", {"first": np.eye(2), "second": sparse.csc_array(dense)})
    fields = {"A": np.eye(2), "Zeros": sparse.csc_array(dense), "title": "x"}
    scipy.io.savemat(tmp_path / "f.mat", {"Problem": fields})
    for name in ("m.mat:second", "f.mat:Zeros"):
        assert load(f"{tmp_path}/{name}").matrix.toarray().tolist() == dense.tolist()
    with pytest.raises(WorkloadError, match=r"m\.mat: it has no array frist; did you mean first\?"):
        load(f"{tmp_path}/m.mat:frist")
