"""The touched bitmap: against a set, its rounds by the cycle, runs of empty words."""

import pytest
from fibers import STOP_TOKEN, check_accounting_of
from hypothesis import given, settings
from hypothesis import strategies as st

from fiberscope.hw.memory.touched import CLEAR, WIDTHS, TouchedBitmap
from fiberscope.hw.stream import DATA
from fiberscope.sim import SimulationError
from fiberscope.sim.testing import check_laws, run_block

SCAN = (0, 0, 0, 0.0)


def tokens_of(numbers):
    return [(DATA, number, 0, 0.0) for number in numbers]


def inputs_of(rounds):
    """Rounds of the numbers that each writer sets, and a scan each."""
    writers = max(map(len, rounds))
    inputs = {f"sets[{w}]": [] for w in range(writers)}
    for numbers in rounds:
        for writer, mine in enumerate(numbers):
            inputs[f"sets[{writer}]"] += [*tokens_of(mine), STOP_TOKEN]
    return inputs | {"scans": [SCAN] * len(rounds)}


def found_in(rounds, block):
    """What leaves: the bits of each round in order, and its stop."""
    bits = [sorted({number // block for mine in numbers for number in mine}) for numbers in rounds]
    return [token for found in bits for token in [*tokens_of(found), STOP_TOKEN]]


@st.composite
def rounds_of(draw):
    """Rounds of as many writers: thin, dense and empty ones."""
    writers, bits = draw(st.integers(1, 3)), draw(st.sampled_from([1, 31, 64, 65, 300]))
    block = draw(st.sampled_from([1, 3, 8]))
    numbers = st.lists(st.integers(0, bits * block - 1), max_size=draw(st.sampled_from([3, 60])))
    rounds = [[draw(numbers) for _ in range(writers)] for _ in range(draw(st.integers(1, 3)))]
    return rounds, bits, block


@settings(max_examples=25)
@given(
    case=rounds_of(), width=st.sampled_from(WIDTHS), readers=st.integers(1, 3),
    capacity=st.integers(1, 4), latency=st.integers(1, 3), seed=st.none() | st.integers(0, 99),
)  # fmt: skip
def test_it_is_a_set_in_order(case, width, readers, capacity, latency, seed):
    rounds, bits, block = case
    outputs = ["ready", *(f"found[{reader}]" for reader in range(readers))]
    bench = {"capacity": capacity, "latency": latency}

    def make():
        return TouchedBitmap("bitmap", bits, width=width, block=block)

    outcome = run_block(make(), inputs_of(rounds), outputs, seed=seed, **bench)
    expected = found_in(rounds, block)
    for port in outputs[1:]:
        assert outcome.tokens(port) == expected
    counts = [sum(map(len, numbers)) for numbers in rounds]
    assert [token[2] for token in outcome.tokens("ready")] == counts
    assert outcome.statistics["bitmap"].counters == {
        "set_tokens": sum(counts),
        "words_done": len(rounds) * -(-bits // width),
        "bits_found": len(expected) - len(rounds),
    }
    check_laws(make, inputs_of(rounds), outputs, seeds=[seed], **bench)


def test_every_cycle_of_two_rounds():
    """Words of 32: bits 1 and 5 are in the first, 70 in the third of four."""
    block = TouchedBitmap("bitmap", 128)
    outcome = run_block(block, inputs_of([[[5, 70, 1, 5]], [[127]]]), ["ready", "found[0]"])
    # Set in 1 to 4, the stop in 5; the count leaves in 6, the scan is taken in 7. Words are looked at in
    # 8 and 9 (two bits), 10, 11, 12; the stop leaves in 13. The second round is set from 14 on.
    assert outcome.received["ready"] == [(7, (0, 0, 4, 0.0)), (17, (0, 0, 1, 0.0))]
    assert outcome.received["found[0]"] == [
        (9, (DATA, 1, 0, 0.0)), (10, (DATA, 5, 0, 0.0)), (12, (DATA, 70, 0, 0.0)), (14, STOP_TOKEN),
        (22, (DATA, 127, 0, 0.0)), (23, STOP_TOKEN),
    ]  # fmt: skip
    check_accounting_of(outcome, "bitmap", busy=22, idle=2)


def test_a_round_may_be_dropped_at_once():
    inputs = inputs_of([[[5, 70]], [[9]]]) | {"scans": [(CLEAR, 0, 0, 0.0), SCAN]}
    outcome = run_block(TouchedBitmap("bitmap", 128), inputs, ["ready", "found[0]"])
    # Set in 1 and 2, the stop in 3; told in 4, cleared in 5, ended in 6; the second round from 7 on.
    assert outcome.received["found[0]"][0] == (7, STOP_TOKEN)
    assert outcome.tokens("found[0]") == [STOP_TOKEN, (DATA, 9, 0, 0.0), STOP_TOKEN]
    assert outcome.statistics["bitmap"].counters == {"set_tokens": 3, "words_done": 4, "bits_found": 1}


def test_empty_words_cost_a_cycle_each_and_hardly_a_tick():
    ticks = []

    class Counting(TouchedBitmap):
        def tick(self, now):
            ticks.append(now)
            return super().tick(now)

    outcome = run_block(Counting("bitmap", 1 << 20), inputs_of([[[]]]), ["ready", "found[0]"])
    ((cycle, _),) = outcome.received["found[0]"]
    assert cycle == 3 + 1 + (1 << 20) // 32 + 1
    assert len(ticks) < 10


def test_the_last_bit_of_a_word_of_64():
    outcome = run_block(TouchedBitmap("b", 64, width=64), inputs_of([[[63, 0]]]), ["ready", "found[0]"])
    assert [token[1] for token in outcome.tokens("found[0]")] == [0, 63, 0]


@pytest.mark.parametrize("number", [80, -1])
def test_a_bit_that_is_not_there_is_refused(number):
    with pytest.raises(SimulationError, match=rf"bitmap: there is no bit for {number}; they are for 0 to 79"):
        run_block(TouchedBitmap("bitmap", 10, block=8), inputs_of([[[number]]]), ["ready", "found[0]"])


def test_what_cannot_be_made_is_refused():
    with pytest.raises(ValueError, match="bitmap: bits and block must be at least 1, not 0 and 1"):
        TouchedBitmap("bitmap", 0)
    with pytest.raises(ValueError, match="bitmap: width must be one of 32, 64, not 16"):
        TouchedBitmap("bitmap", 9, width=16)


def test_planted_a_bitmap_that_keeps_its_bits_is_found():
    class Keeps(TouchedBitmap):
        def tick(self, now):
            kept = list(self.contents)
            asked = super().tick(now)
            if self.phase == 0:
                self.contents[0] |= kept[0] | 2
            return asked

    rounds = [[[5]], [[9]]]
    outcome = run_block(Keeps("bitmap", 32), inputs_of(rounds), ["ready", "found[0]"])
    assert outcome.tokens("found[0]") != found_in(rounds, 1)
