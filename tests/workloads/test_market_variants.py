"""MatrixMarket files as other programs write them: scipy, GraphBLAS, taco."""

import numpy as np
import pytest

from fiberscope.workloads import WorkloadError, load, load_tensor

BANNER = "%%MatrixMarket "
DENSE = [[0.0, 2.0], [3.0, 0.0]]


@pytest.mark.parametrize(
    ("text", "dense"),
    [
        ("matrix coordinate unsigned-integer general\n2 2 2\n1 2 2\n2 1 3\n", DENSE),
        ("matrix array unsigned-integer general\n2 2\n0\n3\n2\n0\n", DENSE),
        ("vector coordinate real general\n3 2\n1 2\n3 -1\n", [[2.0], [0.0], [-1.0]]),
        ("vector coordinate pattern general\n3 1\n2\n", [[0.0], [1.0], [0.0]]),
        ("vector array integer general\n3\n2\n0\n-1\n", [[2.0], [0.0], [-1.0]]),
        ("tensor coordinate real general\n% by taco\n2 2 2\n1 2 2\n2 1 3\n", DENSE),
        ("tensor array real general\n2 2\n0\n3\n2\n0\n", DENSE),
        ("matrix array real symmetric\n2 2\n1\n2\n3\n", [[1.0, 2.0], [2.0, 3.0]]),
        ("matrix array real symmetric\n2 2\n1\n2\n2\n3\n", [[1.0, 2.0], [2.0, 3.0]]),
        ("matrix array real skew-symmetric\n2 2\n0\n2\n-2\n0\n", [[0.0, -2.0], [2.0, 0.0]]),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("marks", ["%%", "%"])
@pytest.mark.parametrize("name", ["a.mtx", "a.ttx", "a"])
def test_variants_are_read(tmp_path, text, dense, end, marks, name):
    path = tmp_path / name
    path.write_bytes((BANNER + text).replace("%%", marks).replace("\n", end).encode())
    assert load(path).matrix.toarray().tolist() == dense
    assert load_tensor(path).of_order(2, "A").tensor.toarray().tolist() == dense


@pytest.mark.parametrize("suffix", [".mtx", ".ttx"])
@pytest.mark.parametrize("is_dense", [True, False])
def test_a_tensor_of_taco_has_its_ranks(tmp_path, suffix, is_dense):
    dense = np.arange(24.0).reshape(2, 3, 4) % 5
    kept = np.argwhere(dense)
    if is_dense:
        lines = ["array real general", "2 3 4", *(str(value) for value in dense.reshape(-1, order="F"))]
    else:
        entries = (f"{' '.join(map(str, place + 1))} {dense[tuple(place)]}" for place in kept)
        lines = ["coordinate real general", f"2 3 4 {len(kept)}", *entries]
    path = tmp_path / f"t{suffix}"
    path.write_text(BANNER + "tensor " + "\n".join(lines) + "\n")
    found = load_tensor(path)
    assert np.array_equal(found.tensor.toarray(), dense)
    assert found.has_shape
    with pytest.raises(WorkloadError, match="a tensor of rank 3; a matrix has rank 2"):
        load(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "matrix array real symmetric\n2 2\n1\n2\n9\n3\n",
            "the full square of a symmetric matrix is not symmetric",
        ),
        (
            "matrix array real symmetric\n2 2\n1\n2\n",
            "declares 3 entries, and the file has room for at most 2",
        ),
        ("matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n7\n", ":9: ends after 7 of 9 entries"),
        ("matrix array real symmetric\n2 2\n1\n2\n2\n3\n4\n", ":7: an entry beyond the 4 declared"),
        ("matrix array real general\n2 1\n1.00\n", ":3: ends after 1 of 2 entries"),
        ("tensor coordinate real general\n2 2 2 1\n1 2 3 2\n", ":3: the index of rank 3 is outside 1 to 2"),
        (
            "tensor coordinate integer general\n2 2 2 1\n1 2 1 9007199254740993\n",
            ":3: the integer, beyond 2^53",
        ),
        ("tensor coordinate real general\n2 2 2 1\n1 2 1 1\n1 1 1 1\n", ":4: an entry beyond the 1 declared"),
        ("tensor coordinate real general\n2 2 2 2\n1 2 1 1.0000000\n", ":3: ends after 1 of 2 entries"),
        ("tensor coordinate real general\n2 999999999999 2 1\n1 2 1 1\n", "sizes are 1 to 268435456"),
        (
            "graph coordinate real general\n2 2 1\n",
            ":1: the object 'graph' is not supported; one of matrix, vector",
        ),
        ("vector coordinate real general\n3\n", ":2: bad size line '3'; it is <length> <entries>"),
    ],
)
def test_faults_are_named(tmp_path, text, reason):
    path = tmp_path / "a.mtx"
    path.write_text(BANNER + text)
    with pytest.raises(WorkloadError) as caught:
        load_tensor(path)
    assert reason in str(caught.value)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("field", ["integer", "unsigned-integer"])
@pytest.mark.parametrize(
    "form",
    [
        "matrix coordinate {} general\n1 1 1\n1 1 {}\n",
        "matrix array {} general\n1 1\n{}\n",
        "vector coordinate {} general\n1 1\n1 {}\n",
        "tensor coordinate {} general\n1 1 1 1\n1 1 1 {}\n",
        "tensor array {} general\n1 1 1\n{}\n",
    ],
)
def test_an_integer_of_either_sign_that_a_double_would_round_is_refused(tmp_path, form, field, sign):
    path = tmp_path / "a.mtx"
    path.write_text(BANNER + form.format(field, f"{sign}9007199254740993"))
    with pytest.raises(WorkloadError, match="the integer, beyond 2"):
        load_tensor(path)
    path.write_text(BANNER + form.format(field, f"{sign}9007199254740994"))
    assert load_tensor(path).tensor.values.tolist() == [float(f"{sign}9007199254740994")]


@pytest.mark.parametrize("suffix", [".mtx", ".ttx"])
def test_a_file_without_a_banner_is_told_so(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_text("2 2 1\n1 2 3\n")
    with pytest.raises(WorkloadError, match=r":1: bad banner; the first line is %%MatrixMarket"):
        load(path)


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize(
    ("text", "dense"),
    [
        ("matrix array integer general\n2 1\n1\n2", [[1.0], [2.0]]),
        ("matrix coordinate pattern general\n1 1 1\n1 1", [[1.0]]),
        ("matrix coordinate integer general\n1 2 2\n1 1 3\n1 2 4", [[3.0, 4.0]]),
        ("vector coordinate integer general\n1 1\n1 3", [[3.0]]),
    ],
)
def test_the_last_line_of_the_shortest_file_need_not_end(tmp_path, text, dense, end):
    path = tmp_path / "a.mtx"
    path.write_text(BANNER + text + end)
    assert load(path).matrix.toarray().tolist() == dense
