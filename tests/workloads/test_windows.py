"""The windows of an image, against numpy's of the padded one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_line import one_line

from fiberscope.workloads import WorkloadError, load, load_tensor
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.windows import Windows, unroll_windows


def full(tensor):
    dense = np.zeros(tensor.shape)
    dense[tensor.coordinates] = tensor.values
    return dense


def by_numpy(image, size, stride, pad):
    """Other ranks, then within a window, then which window."""
    slid = tuple(range(image.ndim - len(size), image.ndim))
    padded = np.pad(image, [(pad, pad) if axis in slid else (0, 0) for axis in range(image.ndim)])
    taken = np.lib.stride_tricks.sliding_window_view(padded, size, axis=slid)
    taken = taken[
        tuple(slice(None, None, stride) if axis in slid else slice(None) for axis in range(image.ndim))
    ]
    return np.moveaxis(taken, slid, tuple(range(-len(size), 0)))


@given(
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    size=st.lists(st.integers(1, 4), min_size=1, max_size=2),
    stride=st.integers(1, 3),
    pad=st.integers(0, 2),
    seed=st.integers(0, 99),
)
def test_against_numpy(shape, size, stride, pad, seed):
    draws = np.random.default_rng(seed)
    image = np.where(draws.random(shape) < 0.6, draws.random(shape), 0)
    view = Windows(size="x".join(map(str, size)), stride=stride, pad=pad)
    entries = SparseTensor.from_array(image, "image")
    if len(size) > len(shape) or any(
        have + 2 * pad < wide for have, wide in zip(shape[len(shape) - len(size) :], size, strict=True)
    ):
        with pytest.raises(WorkloadError):
            unroll_windows(entries, view, "image")
        return
    expected = by_numpy(image, size, stride, pad)
    assert unroll_windows(entries, view, "image").equals(SparseTensor.from_array(expected, "windows"))


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "image.npy"
    np.save(path, np.arange(36.0).reshape(2, 3, 6))
    return path


def test_as_a_tensor_and_as_the_right_factor_of_a_product(image):
    text = f"windows:size=2x3,of={image}"
    tensor, matrix = load_tensor(text), load(text)
    assert tensor.shape == (2, 2, 3, 2, 4)
    assert tensor.origin == "windows:size=2x3,stride=1,pad=0,of=image.npy"
    assert np.array_equal(matrix.matrix.toarray(), full(tensor.tensor).reshape(12, 8))
    assert matrix.notice == f"NOTE: {text} is 2 x 2 x 3 x 2 x 4, and was read as a matrix of 12 x 8"
    assert load_tensor(text).of_order(2, "A").digest == tensor.digest


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ("size=2x3", "no image is named; end it with of=<a workload>"),
        ("of={image}", "size is missing"),
        ("size=2x3,stride=0,of={image}", "stride=0"),
        ("size=2y3,of={image}", "sizes, each of at most 268,435,456, have an x between them, as 250x100"),
        ("size=4x3,of={image}", "a window of 4x3 does not fit an image of 3 x 6"),
        ("size=1x1x1x1,of={image}", "the windows have 4 ranks, but the image has only 3"),
        ("sise=1,of={image}", "no key 'sise'; did you mean size"),
        ("size=2x2,of=wiki-Vote", "wiki-Vote: no array; an image is one, as image.npy or net.npz:NAME"),
        (
            "size=0x3,of=image.npy",
            "windows:size=0x3,: size=0x3: sizes, each of at most 268,435,456, have an x",
        ),
        ("size=2x2,of=none.npy", "none.npy: no such file"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(image, view, said):
    with one_line(WorkloadError, said):
        load_tensor(f"windows:{view.format(image=image)}")
