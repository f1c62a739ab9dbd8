"""Values as words: nearest, ties to even, and never zero or infinite where they were not."""

import numpy as np
import pytest

from fiberscope.workloads import WorkloadError
from fiberscope.workloads.formats import convert_to_numbers, convert_to_words


@pytest.mark.parametrize("bits", [8, 16])
def test_every_finite_number_comes_back(bits):
    words = np.arange(2**bits, dtype=f"<u{bits // 8}")
    values = convert_to_numbers(words, bits)
    finite = np.isfinite(values)
    assert np.array_equal(convert_to_words(values[finite], bits), words[finite])


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (0.0, 0),
        (1.0, 0x38),
        (-1.0, 0xB8),
        (448, 0x7E),
        (2**-9, 1),
        (1.0625, 0x38),
        (1.1875, 0x3A),
        (1.07, 0x39),
    ],
)
def test_eight_bits(value, word):
    """The numbers of the specification's Table 2, and ties."""
    assert convert_to_words(np.array([value]), 8)[0] == word


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_a_nonzero_stays_one_and_finite(bits):
    words = convert_to_words(np.array([1e-300, -1e-300, 1e300, -1e300, 0.0]), bits)
    values = convert_to_numbers(words, bits)
    assert np.all(np.isfinite(values))
    assert np.sign(values).tolist() == [1, -1, 1, -1, 0]
    assert values[2] == -values[3] == {8: 448.0, 16: 65504.0, 32: np.finfo(np.float32).max}[bits]


def test_eight_bits_are_the_nearest():
    known = convert_to_numbers(np.arange(127, dtype=np.uint8), 8)
    values = np.random.default_rng(0).uniform(0, 500, 2000)
    ours = convert_to_numbers(convert_to_words(values, 8), 8)
    nearest = np.abs(values[:, None] - known[None, :]).min(axis=1)
    assert np.array_equal(np.abs(values - ours), nearest)


def test_other_widths_are_refused():
    with pytest.raises(WorkloadError, match="values of 64 bits; formats hold values of 8, 16 or 32 bits"):
        convert_to_words(np.ones(1), 64)
