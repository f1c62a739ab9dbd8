"""Scanners, generator and array: every cycle against plain models; those without a twin under any stalls."""

import pytest
from hypothesis import given, settings
from stream_checks import (
    capacities,
    check_as_hardware,
    check_every_cycle,
    gaps,
    quirk_masks,
    reference_streams,
    seeds,
)
from streams.plain_levels import ArrayLoad as PlainArray
from streams.plain_levels import BitVectorScanner as PlainBitVectors
from streams.plain_levels import CompressedScanner as PlainCompressed
from streams.plain_levels import DenseScanner as PlainDense
from streams.plain_repeat import RepeatSignalGenerator as PlainGenerator

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.bit_vector import BitVectorScanner
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.dense import DenseScanner
from fiberscope.hw.streams.quirks import NO_QUIRKS, PUBLIC, Q4, Q5, Q6, Q10
from fiberscope.hw.streams.repeater import RepeatSignalGenerator
from fiberscope.hw.streams.testing import run_streams, with_gaps
from fiberscope.sim import SimulationError

SEGMENTS, COORDINATES = [0, 3, 3, 4, 6, 13], [1, 4, 9, 6, 0, 2, 0, 1, 2, 5, 7, 8, 11]
WORDS = [6, 9, 0, (1 << 64) - 1, 1 << 63]
VALUES = [10.0, 20.5, 30.0, 0.0, -4.0]


class PlainBitVector(PlainBitVectors):
    outputs = ("bv", "ref")


# How each block and its model are made, with quirks; the input that is drawn, and the outputs.
BLOCKS = {
    "compressed": (
        lambda quirks: CompressedScanner("block", Level(SEGMENTS, COORDINATES), quirks),
        lambda quirks: PlainCompressed(SEGMENTS, COORDINATES, quirks),
    ),
    "dense": (
        lambda quirks: DenseScanner("block", 3, quirks & ~Q6),
        lambda quirks: PlainDense(3, frozenset(quirks) - {6}),
    ),
    "dense of none": (lambda quirks: DenseScanner("block", 0), lambda quirks: PlainDense(0, ())),
    "bit vector": (
        lambda quirks: BitVectorScanner("block", WORDS, quirks),
        lambda quirks: PlainBitVector(WORDS, quirks),
    ),
    "bit vectors of three words": (
        lambda quirks: BitVectorScanner("block", WORDS * 3, quirks, 3),
        lambda quirks: PlainBitVector(WORDS * 3, quirks, 3),
    ),
    "generator": (lambda quirks: RepeatSignalGenerator("block", quirks), PlainGenerator),
    "array": (lambda quirks: ArrayLoad("block", VALUES, quirks), lambda quirks: PlainArray(VALUES, quirks)),
}


@pytest.mark.parametrize("kind", BLOCKS)
@given(tokens=reference_streams(), gap=gaps, quirks=quirk_masks)
def test_every_cycle(kind, tokens, gap, quirks):
    make, model = BLOCKS[kind]
    port = model(()).inputs[0]
    check_every_cycle(make, model, {f"in_{port}": with_gaps(tokens, gap)}, quirks)


@pytest.mark.parametrize("kind", ["bit vector", "bit vectors of three words"])  # the others have twins
@settings(max_examples=25)
@given(tokens=reference_streams(), gap=gaps, seed=seeds, capacity=capacities)
def test_as_hardware(kind, tokens, gap, seed, capacity):
    make, model = BLOCKS[kind]
    plain = model(())
    inputs = {f"in_{plain.inputs[0]}": with_gaps(tokens, gap)}
    check_as_hardware(make, inputs, [f"out_{port}" for port in plain.outputs], seed=seed, capacity=capacity)


class TestQuirks:
    """Each quirk of these blocks on and off, in a short stream."""

    def streams(self, make, tokens, quirks, outputs, *, at=None):
        inputs = {"in_ref": with_gaps(tokens) if at is None else list(zip(at, tokens, strict=True))}
        return run_streams(make(quirks), inputs, outputs, checked=False)

    def test_q4_an_element_waits_for_the_next_token(self):
        make = BLOCKS["compressed"][0]
        late = {"tokens": [0, "D"], "outputs": ["out_crd"], "at": [0, 5]}
        waits = self.streams(make, quirks=Q4, **late)["out_crd"]
        assert waits == [(0, 1), (5, 4), (6, 9), (7, "S0"), (8, "D")]
        goes_on = self.streams(make, quirks=PUBLIC & ~Q4, **late)["out_crd"]
        assert goes_on == [(0, 1), (1, 4), (2, 9), (5, "S0"), (6, "D")]

    def test_q5_an_n_passes_before_its_stop(self):
        make = BLOCKS["compressed"][0]
        tokens = ["N", 2, "S0", "D"]
        public = self.streams(make, tokens, Q5, ["out_ref"])["out_ref"]
        assert public == [(0, "N"), (1, "S0"), (2, 3), (3, "S1"), (4, "D")]
        clean = self.streams(make, tokens, PUBLIC & ~Q5, ["out_ref"])["out_ref"]
        assert clean == [(1, "S0"), (2, 3), (3, "S1"), (4, "D")]

    @pytest.mark.parametrize(("token", "found"), [("S0", "a stop"), ("N", "N")])
    def test_q6_a_dense_scanner_takes_references_alone(self, token, found):
        with pytest.raises(SimulationError, match=rf"block: {found} where a reference is due: .* \(Q6\)"):
            self.streams(lambda quirks: DenseScanner("block", 3, quirks), [token, "S1", "D"], Q6, ["out_crd"])
        clean = self.streams(BLOCKS["dense"][0], [token, "S1", "D"], PUBLIC, ["out_crd"])["out_crd"]
        assert [token for _cycle, token in clean] == (["S1", "S2", "D"] if found == "a stop" else ["S2", "D"])

    def test_q6_a_dense_level_of_no_coordinates_has_one(self):
        for quirks, tokens in ((Q6, [0, "S0", "D"]), (PUBLIC & ~Q6, ["S0", "D"])):
            found = self.streams(lambda mask: DenseScanner("block", 0, mask), [0, "D"], quirks, ["out_crd"])
            assert [token for _cycle, token in found["out_crd"]] == tokens

    def test_q10_a_bare_stop_keeps_its_level(self):
        make = BLOCKS["bit vector"][0]
        for quirks, level in ((Q10, "S1"), (PUBLIC & ~Q10, "S2")):
            assert self.streams(make, ["S1", "D"], quirks, ["out_bv"])["out_bv"] == [(0, level), (1, "D")]


class TestRefusals:
    @pytest.mark.parametrize("kind", ["compressed", "bit vector", "bit vectors of three words"])
    def test_a_reference_that_names_no_fiber(self, kind):
        with pytest.raises(SimulationError, match=r"block: reference 5 names no .* has 5, from 0 on"):
            run_streams(BLOCKS[kind][0](0), {"in_ref": [(0, 5), (1, "D")]}, ["out_ref"])

    def test_a_reference_outside_an_array(self):
        with pytest.raises(SimulationError, match="block: reference 5 lies outside an array of 5 values"):
            run_streams(BLOCKS["array"][0](0), {"in_ref": [(0, 5), (1, "D")]}, ["out_val"])

    def test_a_negative_size(self):
        with pytest.raises(ValueError, match="block: the size of a dense level must not be negative"):
            DenseScanner("block", -1)

    def test_a_word_that_is_too_long(self):
        with pytest.raises(ValueError, match="a word of a bit vector has 64 bits, too few for"):
            BitVectorScanner("block", [1 << 64])

    @pytest.mark.parametrize("per_fiber", [0, 2])
    def test_words_that_are_no_fibers(self, per_fiber):
        with pytest.raises(ValueError, match=f"block: 5 words are no fibers of {per_fiber}"):
            BitVectorScanner("block", WORDS, NO_QUIRKS, per_fiber)


def test_counters():
    block = CompressedScanner("block", Level(SEGMENTS, COORDINATES))
    run_streams(block, {"in_ref": with_gaps([0, 0, 1, "N", "S0", "D"])}, ["out_crd"])
    counters = block.counters()
    assert counters["fibers"] == 2
    assert [counters[f"out_crd_{kind}"] for kind in ("data", "stops", "empties", "dones")] == [6, 4, 0, 1]
    assert counters["out_ref_data"] == 6
    array = ArrayLoad("block", VALUES)
    run_streams(array, {"in_ref": with_gaps([0, 0, 1, "N", "S0", "D"])}, ["out_val"])
    assert (array.loads, array.addresses) == (3, 2)


def test_a_planted_fault_is_found():
    inputs = {"in_ref": with_gaps([0, "D"])}
    with pytest.raises(AssertionError):
        check_every_cycle(BLOCKS["compressed"][0], BLOCKS["dense"][1], inputs, 0)
