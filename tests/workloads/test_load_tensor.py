"""Tensors of any order: files of FROSTT against a plain reader, and each fault with its line."""

import gzip
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from fiberscope.workloads import SparseTensor, WorkloadError, load, load_tensor, open_tensor
from fiberscope.workloads.named_tensor import NamedTensor
from fiberscope.workloads.tns import read_tns


@pytest.mark.parametrize("name", ["a.tns", "a.tns.gz"])
def test_a_file(tmp_path, name):
    text = b"# a comment\n2 3 1 5 -1.5\n\n1 1 1 1 2\n2 3 1 5 0.5\n1 1 1 2 0\n"
    file = tmp_path / name
    file.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    found = load_tensor(file)
    assert (found.name, found.source, found.tensor.shape) == ("a", "real", (2, 3, 1, 5))
    assert np.array(found.tensor.coordinates).T.tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [1, 2, 0, 4]]
    assert found.tensor.values.tolist() == [2, 0, -1]


@given(
    order=st.integers(1, 5),
    points=st.lists(st.lists(st.integers(1, 6), min_size=5, max_size=5), min_size=1, max_size=30),
)
def test_against_a_plain_reader(tmp_path_factory, order, points):
    lines = [(*point[:order], number) for number, point in enumerate(points, start=1)]
    file = tmp_path_factory.mktemp("tns") / "a.tns"
    file.write_text("".join(" ".join(map(str, line)) + "\n" for line in lines))
    sums: dict[tuple[int, ...], float] = {}
    for *index, value in lines:
        place = tuple(each - 1 for each in index)
        sums[place] = sums.get(place, 0) + value
    found = read_tns(file)
    assert found.shape == tuple(max(line[rank] for line in lines) for rank in range(order))
    assert {
        tuple(map(int, point)): value for *point, value in zip(*found.coordinates, found.values, strict=True)
    } == sums
    assert found.order == order


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no entry in the file"),
        ("# nothing\n", "no entry in the file"),
        ("1 1 1 1\n1 1 1\n", ":2: '1 1 1' has 3 fields; a line here is <index> <index> <index> <real>"),
        ("1 1 1 1\n1 0 1 1\n", ":2: the index of rank 2 is outside 1 to 268435456: '1 0 1 1'"),
        ("1 1 300000000 1\n", ":1: the index of rank 3 is outside 1 to 268435456"),
        ("1 1 1 nan\n", ":1: '1 1 1 nan' holds a value that is not finite"),
        ("1 1 1 1\n\n1 1 1 1e999\n", ":3: the value is too large for a double"),
        ("7\n", ":1: "),
    ],
)
def test_faults(tmp_path, text, fault):
    file = tmp_path / "a.tns"
    file.write_text(text)
    with pytest.raises(WorkloadError) as caught:
        read_tns(file)
    assert fault in str(caught.value)
    assert str(caught.value).startswith(str(file))


def test_a_matrix_is_a_tensor_of_order_2(tmp_path):
    found = load_tensor("uniform:rows=9,cols=7,nonzeros=12")
    assert (found.source, found.tensor.shape, found.tensor.nonzeros) == ("generated", (9, 7), 12)


def test_a_tensor_of_the_registry_needs_its_file(tmp_path, monkeypatch):
    with pytest.raises(WorkloadError, match=r"uber: its file is not there.*put uber\.tns into a folder"):
        load_tensor("uber")
    (tmp_path / "uber-pickups.tns").write_text("1 2 3 4 5\n")
    monkeypatch.setenv("FIBERSCOPE_DATA", str(tmp_path))
    assert load_tensor("Uber").tensor.shape == (1, 2, 3, 4)


def test_coordinates_outside_are_refused():
    with pytest.raises(WorkloadError, match="a coordinate of rank 2 is outside 0 to 2"):
        SparseTensor.from_coordinates((2, 3), [np.array([0]), np.array([3])], np.ones(1))
    with pytest.raises(WorkloadError, match="2 ranks need as many arrays of 1 coordinates each"):
        SparseTensor.from_coordinates((2, 3), [np.array([0])], np.ones(1))


def test_more_places_than_63_bits():
    vast = SparseTensor((2**32, 2**32), (np.array([1]), np.array([1])), np.ones(1))
    with pytest.raises(WorkloadError, match="more places than 63 bits number; store it as coo or csf"):
        vast.positions()


CUBE = np.arange(24.0).reshape(2, 3, 4) % 5


@pytest.fixture
def files(tmp_path):
    """The same array in a file of each kind that has any number of ranks."""
    np.save(tmp_path / "cube.npy", CUBE)
    np.savez(tmp_path / "one.npz", CUBE)
    np.savez(tmp_path / "net.npz", conv=CUBE, bias=np.ones(3))
    save_file({"conv": CUBE}, tmp_path / "net.safetensors")
    kept = np.nonzero(CUBE)
    np.savez(tmp_path / "sparse.npz", coords=np.array(kept), data=CUBE[kept], shape=np.array(CUBE.shape))
    lines = (" ".join(map(str, [*(place + 1), CUBE[tuple(place)]])) for place in np.argwhere(CUBE))
    (tmp_path / "cube.tns").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    "name", ["cube.npy", "one.npz", "net.npz:conv", "net.safetensors:conv", "sparse.npz", "cube.tns"]
)
def test_each_file_of_an_array_is_the_tensor_that_python_gives(files, name):
    found, given = load_tensor(f"{files}/{name}"), open_tensor(CUBE, "C")
    assert found.tensor.equals(given.tensor)
    assert found.digest == given.digest
    assert found.origin == name
    assert found.has_shape == (name != "cube.tns")


@pytest.mark.parametrize("array", [CUBE[0], CUBE[0, 0]])
def test_a_matrix_or_a_vector_has_the_digest_of_the_workload(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    assert load_tensor(tmp_path / "a.npy").digest == load(tmp_path / "a.npy").digest
    assert open_tensor(array, "A").digest == load(tmp_path / "a.npy").digest


@pytest.mark.parametrize(
    ("shape", "order", "expected"),
    [((3, 1, 4), 2, (3, 4)), ((1, 1), 0, ()), ((1, 5), 1, (5,)), ((5,), 2, (5, 1)), ((1, 1, 4), 2, (1, 4))],
)
def test_ranks_of_size_1_can_be_left_out(shape, order, expected):
    given = open_tensor(np.ones(shape), "A")
    found = given.of_order(order, "A")
    assert found.shape == expected
    assert found.nonzeros == given.nonzeros


@pytest.mark.parametrize(
    ("shape", "order", "said"),
    [
        ((2, 3), 3, "T: 3 ranks are asked for, and A is 2 x 3"),
        ((2, 3, 4), 2, "T: 2 ranks are asked for, and A is 2 x 3 x 4"),
        ((2, 3), 1, "T: 1 rank is asked for, and A is 2 x 3"),
        ((), 1, "T: 1 rank is asked for, and A is a single number"),
    ],
)
def test_other_ranks_are_refused(shape, order, said):
    with pytest.raises(WorkloadError, match=re.escape(said)):
        open_tensor(np.ones(shape), "A").of_order(order, "T")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.full((2, 2, 2), np.nan), "A: the value at (1, 1, 1) is nan; values must be finite"),
        (np.full((2, 2, 2), 1j), "A: values of type complex128"),
        (np.full((2, 2, 2), 2**53 + 1), "A: the integer 9007199254740993, beyond 2^53"),
        (np.ones((2, 0, 2)), "A: the shape 2 x 0 x 2 is empty"),
    ],
)
def test_arrays_without_a_tensor_in_them_are_refused(given, said):
    with pytest.raises(WorkloadError, match=re.escape(said)):
        open_tensor(given, "A")


def test_a_drawn_tensor_has_as_many_nonzeros_as_asked_for():
    found = load_tensor("tensor:shape=5x6x7,nonzeros=40,seed=3")
    assert (found.shape, found.nonzeros) == ((5, 6, 7), 40)
    assert len(np.unique(found.tensor.positions())) == 40
    assert found.tensor.values.min() > 0.5
    assert not found.tensor.equals(load_tensor("tensor:shape=5x6x7,nonzeros=40,seed=4").tensor)
    assert load("tensor:shape=5x6,nonzeros=9").matrix.nnz == 9
    with pytest.raises(WorkloadError, match="nonzeros=211; it should be from 0 to 210"):
        load_tensor("tensor:shape=5x6x7,nonzeros=211")
    with pytest.raises(WorkloadError, match=r"2 ranks are asked for, and .* is 5 x 6 x 7"):
        load("tensor:shape=5x6x7,nonzeros=40")


def test_a_file_of_several_arrays_wants_a_name(files):
    with pytest.raises(
        WorkloadError, match=r"net\.npz: 2 arrays, and a tensor is one; name one of its arrays"
    ):
        load_tensor(files / "net.npz")


@pytest.mark.parametrize(("shape", "rows"), [((10**4, 10**4, 2), 2), ((2, 10**4, 10**4), 1)])
def test_an_unfolded_tensor_with_too_many_rows_or_columns_is_refused(shape, rows):
    coordinates = tuple(np.array([0]) for _ in shape)
    tensor = NamedTensor("t", "real", SparseTensor(shape, coordinates, np.ones(1)), "t.tns", "0", rows=rows)
    sides = (10**8, 2) if rows == 2 else (2, 10**8)
    with pytest.raises(WorkloadError, match=f"^B: a shape of {sides[0]} x {sides[1]} for 1 nonzeros"):
        tensor.of_order(2, "B")
