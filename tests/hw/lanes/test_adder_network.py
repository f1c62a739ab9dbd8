"""The forwarding adder network: SIGMA's worked examples, every segmentation, and vectors under stalls."""

import random
from itertools import groupby

import numpy as np
import pytest
from adder_tree import network, segmentations
from fibers import EMPTY_TOKEN, check_accounting_of
from hypothesis import given
from hypothesis import strategies as st
from rows import by_lane

from fiberscope.hw.lanes.adder_network import AdderNetwork, depth, level, neurons, output_lanes, sums
from fiberscope.hw.stream import DATA, EMPTY
from fiberscope.sim import SimulationError
from fiberscope.sim.testing import check_laws, run_block

POWERS = [1 << bit for bit in range(8)]
WORKED = [
    (POWERS, [0, 0, 0, 1, 1, 2, 2, 2], {1: (0, 7.0), 3: (1, 24.0), 5: (2, 224.0)}),
    (POWERS, [0, 1, 1, 1, 1, 1, 2, 2], {0: (0, 1.0), 3: (1, 62.0), 6: (2, 192.0)}),
]
sizes = st.fixed_dictionaries({"capacity": st.integers(1, 5), "latency": st.integers(1, 4)})
stall_seeds = st.none() | st.integers(0, 1000)


@st.composite
def vectors(draw):
    """Leaves, and vectors: for each leaf the id and the operand, or None."""
    leaves = draw(st.sampled_from([2, 4, 8, 16]))
    leaf = st.none() | st.tuples(st.integers(0, 3), st.floats(-1e6, 1e6, width=32))
    return leaves, draw(st.lists(st.lists(leaf, min_size=leaves, max_size=leaves), max_size=5))


def tokens_of(vector):
    return [EMPTY_TOKEN if leaf is None else (DATA, leaf[0], 0, float(leaf[1])) for leaf in vector]


def outputs_of(leaves):
    return [f"sums[{lane}]" for lane in range(leaves)]


def expected(vector):
    """The tokens that come of a vector, by the page's rules on ids that tell every neuron from any other."""
    runs = groupby(range(len(vector)), key=lambda leaf: vector[leaf] and vector[leaf][0])
    number = {leaf: run for run, (_, leaves) in enumerate(runs) for leaf in leaves}
    empty = {number[leaf] for leaf, given in enumerate(vector) if given is None}
    lanes, _ = network([0.0 if leaf is None else leaf[1] for leaf in vector], list(number.values()))
    row = [EMPTY_TOKEN] * len(vector)
    for lane, total in lanes.items():
        if number[lane] not in empty:
            row[lane] = (DATA, vector[lane][0], 0, total)
    return row


def run(leaves, rows, **bench):
    inputs = by_lane("leaves", leaves, [tokens_of(vector) for vector in rows])
    return run_block(AdderNetwork("network", leaves), inputs, outputs_of(leaves), **bench)


def check(leaves, rows, **bench):
    outcome = run(leaves, rows, **bench)
    found = [outcome.tokens(port) for port in outputs_of(leaves)]
    assert [list(row) for row in zip(*found, strict=True)] == [expected(vector) for vector in rows]
    return outcome


@pytest.mark.parametrize(("operands", "ids", "lanes"), WORKED)
def test_the_worked_examples_of_the_specification(operands, ids, lanes):
    outcome = check(8, [list(zip(ids, operands, strict=True))])
    found = {lane: outcome.tokens(f"sums[{lane}]")[0] for lane in range(8)}
    assert {lane: token[1::2] for lane, token in found.items() if token[0] == DATA} == lanes
    assert outcome.statistics["network"].counters == {"vectors": 1, "neurons": 3, "add": 5}


def test_the_levels_are_those_of_the_page():
    assert [level(adder) for adder in range(15)] == [0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0]


@pytest.mark.parametrize("leaves", [2, 4, 8])
def test_every_segmentation(leaves):
    generator = random.Random(leaves)
    rows = [[(neuron, generator.randrange(-99, 99)) for neuron in ids] for ids in segmentations(leaves)]
    outcome = check(leaves, rows)
    additions = sum(leaves - len(set(ids)) for ids in segmentations(leaves))
    assert outcome.statistics["network"].counters["add"] == additions


def check_arrays(ids, operands):
    """The functions on arrays against the page's rules, sums to the last bit."""
    lanes, added = network(list(operands), list(ids))
    ids = np.array(ids)
    first, last = neurons(ids)
    assert list(output_lanes(first, last)) == list(lanes)
    assert list(sums(np.array(operands), ids)) == list(lanes.values())
    assert added == len(ids) - len(first)


@pytest.mark.parametrize("leaves", [2, 4, 8])
def test_every_segmentation_by_arrays(leaves):
    generator = random.Random(leaves)
    for ids in segmentations(leaves):
        check_arrays(ids, [generator.uniform(-1, 1) for _ in ids])


@pytest.mark.slow
def test_every_segmentation_of_16_by_arrays():
    operands = [random.Random(16).uniform(-1, 1) for _ in range(16)]
    for ids in segmentations(16):
        check_arrays(ids, operands)


@pytest.mark.parametrize("leaves", [16, 32, 64, 128, 256])
def test_random_segmentations_by_arrays(leaves):
    generator = random.Random(leaves)
    for _ in range(20):
        cut = generator.choice([0.05, 0.3, 0.9])
        ids = np.cumsum([generator.random() < cut for _ in range(leaves)])
        check_arrays(ids.tolist(), [generator.uniform(-1, 1) for _ in range(leaves)])


def test_arrays_know_leaves_without_an_operand_and_many_vectors():
    ids = np.array([-1, 4, 4, -1, 4, 7, 7, 7])
    first, last = neurons(ids)
    assert (first.tolist(), last.tolist()) == ([1, 4, 5], [2, 4, 7])
    assert output_lanes(first, last).tolist() == [1, 4, 5]
    operands = np.arange(16.0, dtype=np.float32).reshape(2, 8)
    assert sums(operands, ids).tolist() == [[3.0, 4.0, 18.0], [19.0, 12.0, 42.0]]
    assert sums(operands, ids).dtype == np.float32
    assert operands.tolist() == np.arange(16.0).reshape(2, 8).tolist()  # as they were


@given(batch=vectors(), size=sizes, seed=stall_seeds)
def test_sums_any_vectors_under_any_stalls(batch, size, seed):
    leaves, rows = batch
    check(leaves, rows, seed=seed, **size)
    inputs = by_lane("leaves", leaves, [tokens_of(vector) for vector in rows])
    check_laws(lambda: AdderNetwork("network", leaves), inputs, outputs_of(leaves), seeds=[seed], **size)


@pytest.mark.parametrize("leaves", [2, 8, 64])
def test_a_vector_a_cycle_after_as_many_levels_and_the_output_register(leaves):
    outcome = check(leaves, [[(0, 1.0)] * leaves] * 10)
    first = 2 + depth(leaves)  # pushed at 0, taken at 1, out at 1 + depth, seen a cycle later
    assert depth(leaves) == leaves.bit_length() - 1 + 1
    for port in outputs_of(leaves):
        assert [cycle for cycle, _ in outcome.received[port]] == list(range(first, first + 10))
    check_accounting_of(outcome, "network", busy=10 + depth(leaves), idle=2, input_stall={}, output_stall={})


def test_planted_a_network_that_sums_from_left_to_right_rounds_otherwise():
    operands = [1.0, 2.0**-53, 2.0**-53, 2.0**-53]
    check(4, [[(0, operand) for operand in operands]])
    lanes, _ = network(operands, [0, 0, 0, 0])
    assert lanes[1] != sum(operands)


@pytest.mark.parametrize("leaves", [0, 1, 6, 512])
def test_what_cannot_be_built_is_refused(leaves):
    message = f"network: leaves must be a power of two from 2 to 256, not {leaves}"
    with pytest.raises(ValueError, match=message):
        AdderNetwork("network", leaves)


def test_as_many_leaves_must_be_connected():
    inputs = by_lane("leaves", 2, [[EMPTY_TOKEN] * 2])
    with pytest.raises(SimulationError, match="network: connect 4 leaves, one a lane, not 2"):
        run_block(AdderNetwork("network", 4), inputs, outputs_of(2))


def test_a_vector_of_empty_leaves_gives_empty_lanes():
    outcome = check(4, [[None] * 4])
    assert [token[0] for port in outputs_of(4) for token in outcome.tokens(port)] == [EMPTY] * 4
