"""Tensors of any order: files of FROSTT against a plain reader, and each fault with its line."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.workloads import SparseTensor, WorkloadError, load_tensor
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
