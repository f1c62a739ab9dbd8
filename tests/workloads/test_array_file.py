"""Matrices out of files of several arrays."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import fiberscope
from fiberscope.workloads import WorkloadError, file_of, load

GENERATOR = np.random.default_rng(0)
ARRAYS = {
    "fc1.weight": np.where(GENERATOR.random((6, 8)) < 0.4, GENERATOR.random((6, 8)), 0).astype(np.float32),
    "bias": np.array([0.0, 1.5, -2.0]),
    "conv": GENERATOR.integers(-2, 3, (4, 2, 3, 3)),
}


@pytest.fixture(params=[".npz", ".safetensors"])
def net(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path: Path = tmp_path / f"net{request.param}"
    if request.param == ".npz":
        np.savez(path, **ARRAYS)
    else:
        save_file(ARRAYS, path)
    return path


def test_an_array_is_named_behind_its_file(net: Path) -> None:
    found = load(f"{net}:fc1.weight")
    assert np.array_equal(found.matrix.toarray(), ARRAYS["fc1.weight"].astype(np.float64))
    assert found.matrix.nnz == np.count_nonzero(ARRAYS["fc1.weight"])
    assert (found.name, found.source, found.notice) == ("net:fc1.weight", "real", None)
    assert found.origin == f"{net.name}:fc1.weight"
    assert file_of(f"{net}:fc1.weight") == net


def test_a_vector_is_a_column(net: Path) -> None:
    assert np.array_equal(load(f"{net}:bias").matrix.toarray(), ARRAYS["bias"].reshape(-1, 1))


def test_weights_of_a_convolution_are_the_left_factor_of_its_product(net: Path) -> None:
    """Against the sum over inputs and places, written out."""
    weights, image = ARRAYS["conv"], GENERATOR.integers(0, 3, (2, 5, 6)).astype(float)
    found = load(f"{net}:conv")
    assert found.notice == "NOTE: net:conv is 4 x 2 x 3 x 3, and was read as a matrix of 4 x 18"
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))
    unrolled = windows.transpose(0, 3, 4, 1, 2).reshape(18, 12)
    made = fiberscope.simulate("sigma", found, unrolled).result
    expected = np.zeros((4, 3, 4))
    for (k, c, r, s), weight in np.ndenumerate(weights):
        expected[k] += weight * image[c, r : r + 3, s : s + 4]
    assert np.array_equal(np.asarray(made).reshape(4, 3, 4), expected)


def test_what_is_not_there_costs_a_line(net: Path, refusal) -> None:
    with pytest.raises(WorkloadError, match=r"it has no array fc1\.wait; did you mean fc1\.weight"):
        load(f"{net}:fc1.wait")
    with pytest.raises(WorkloadError, match="cannot be read"):
        load(f"{net.parent}/none{net.suffix}:a")
    net.write_bytes(net.read_bytes()[:40])
    with pytest.raises(WorkloadError, match="cannot be read"):
        load(f"{net}:bias")
    refusal("sim", "gamma", f"{net}:bias")


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (np.array(3.0), "a single number"),
        (np.ones((2, 2)) * 1j, "values of type complex128"),
        (np.array([[np.nan, 1.0]]), "values must be finite"),
    ],
)
def test_what_is_no_matrix_is_refused(array: np.ndarray, told: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", a=array)
    with pytest.raises(WorkloadError, match=told):
        load(f"{tmp_path}/a.npz:a")


def test_a_file_whose_name_has_a_colon_is_that_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npz:b.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n")
    assert load(path).matrix.toarray().tolist() == [[2.0]]


def test_a_folder_may_be_called_as_an_array_is_named(net: Path) -> None:
    folder = net.parent / f"old{net.suffix}:1"
    folder.mkdir()
    moved = net.rename(folder / net.name)
    assert np.array_equal(load(f"{moved}:fc1.weight").matrix.toarray(), ARRAYS["fc1.weight"])
