"""Encoding and decoding: every format gives back what it was given, and takes the bits that it says."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tensors import ADVERSARIAL, uniform

from fiberscope.workloads import WorkloadError
from fiberscope.workloads.formats import FORMATS, Bsr, Rlc, from_bytes, to_bytes
from fiberscope.workloads.tensor import SparseTensor

ALL = [*FORMATS.values(), Rlc(5, True), Rlc(1), Rlc(3), Rlc(16, True), Bsr(1), Bsr(3), Bsr(7)]


def check(form, tensor, bits):
    """All that an encoding must do."""
    encoded = form.encode(tensor, bits)
    assert encoded.decode().equals(tensor)
    assert encoded.size_bits == form.size_bits(tensor, bits)
    assert encoded.size_bits == sum(field.bits for field in encoded.fields)
    for field in encoded.fields:
        assert field.items.size == 0 or int(field.items.max()) < 2**field.width
    packed = encoded.packed()
    assert len(packed) == encoded.line_bytes
    assert len(packed) % 64 == 0
    assert from_bytes(to_bytes(encoded), "here").difference(encoded) is None


@pytest.mark.parametrize(
    ("form", "name"),
    [(form, name) for form in ALL for name in ADVERSARIAL if form.holds(ADVERSARIAL[name].shape)],
    ids=repr,
)
def test_adversarial_tensors(form, name):
    check(form, ADVERSARIAL[name], 32)


SHAPES = st.lists(st.integers(1, 12), min_size=1, max_size=4).map(tuple)


@given(
    shape=SHAPES,
    part=st.sampled_from([0, 0.01, 0.1, 0.5, 0.9, 1]),
    bits=st.sampled_from([8, 16, 32]),
    form=st.sampled_from(ALL),
    seed=st.integers(0, 99),
)
def test_random_tensors(shape, part, bits, form, seed):
    tensor = uniform(shape, round(part * np.prod(shape)), bits, seed)
    assume(form.holds(tensor.shape))
    check(form, tensor, bits)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_a_hundred_thousand_round_trips(bits):
    rng = np.random.default_rng(bits)
    cases = 0
    while cases < 100_000 / 3:
        shape = tuple(rng.integers(1, 20, rng.integers(1, 5)).tolist())
        nonzeros = int(rng.random() ** 3 * (1 + np.prod(shape)))
        tensor = uniform(shape, nonzeros, bits, cases)
        able = [form for form in ALL if form.holds(tensor.shape)]
        assert able
        for form in able:
            check(form, tensor, bits)
        cases += len(able)


def test_stored_zeros_are_left_out():
    tensor = SparseTensor((1, 4), (np.array([0, 0]), np.array([1, 2])), np.array([0.0, 3.0]))
    for form in FORMATS.values():
        encoded = form.encode(tensor)
        assert encoded.nonzeros == 1
        assert encoded.decode().coordinates[1].tolist() == [2]
        assert form.size_bits(tensor, 32) == encoded.size_bits


def test_a_planted_wrong_bit_is_found():
    for form in FORMATS.values():
        encoded = form.encode(uniform((9, 9), 20))
        encoded.fields[0].items[0] ^= 1
        assert "[0] is" in encoded.difference(form.encode(uniform((9, 9), 20)))


@pytest.mark.parametrize("form", FORMATS.values(), ids=list(FORMATS))
def test_a_file_cut_short_or_changed_is_refused(form):
    encoded = form.encode(uniform((9, 30), 40))
    content = to_bytes(encoded)
    for length in (0, 10, 32, 64, len(content) - 64, len(content) - 1):
        with pytest.raises(WorkloadError, match=r"too short|cut short"):
            from_bytes(content[:length], "a.bin")
    with pytest.raises(WorkloadError, match=r"a\.bin: "):
        from_bytes(content + bytes(64), "a.bin")
    with pytest.raises(WorkloadError, match="does not begin with the header"):
        from_bytes(bytes(len(content)), "a.bin")
    rng = np.random.default_rng(1)
    for _ in range(60):
        broken = bytearray(content)
        place = int(rng.integers(4, len(broken)))
        broken[place] ^= 1 << int(rng.integers(8))
        try:
            found = from_bytes(bytes(broken), "a.bin")
        except WorkloadError as error:
            assert str(error).startswith("a.bin: ")  # noqa: PT017 - some changes are of values, and right
        else:
            assert form.encode(found.decode()).difference(found) is None
