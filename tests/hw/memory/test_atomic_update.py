"""The atomic update unit: the worked example by the cycle, and numpy's folds."""

from array import array

import numpy as np
import pytest
from fibers import ROOM, STOP_TOKEN
from hypothesis import given, settings
from hypothesis import strategies as st

from fiberscope.hw.memory.atomic_update import ADD, FORWARD, MIN, MODES, STALL, AtomicUpdate
from fiberscope.hw.stream import DATA
from fiberscope.sim import Kernel, SimulationError
from fiberscope.sim.testing import StreamSink, StreamSource, check_laws, run_block

INFINITE = float("inf")
WORKED = [(5, 9.0), (5, 4.0), (7, 1.0), (5, 6.0)]
ONE_EACH = {"read_latency": 1, "reduce_latency": 1, "write_latency": 1}

latencies = st.fixed_dictionaries({name: st.integers(1, 4) for name in ONE_EACH})
updates = st.lists(st.tuples(st.integers(0, 5), st.integers(-9, 9).map(float)), max_size=40)
hot = st.lists(st.tuples(st.integers(0, 1), st.integers(1, 9).map(float)), max_size=40)


def unit(operation=MIN, mode=STALL, size=8, neutral=INFINITE, **given_latencies):
    return AtomicUpdate(
        "unit", array("d", [neutral] * size), operation, neutral=neutral, mode=mode, **given_latencies
    )


def tokens_of(given_updates, *, stop=True):
    return [(DATA, place, 0, value) for place, value in given_updates] + [STOP_TOKEN] * stop


def fed(block, tokens):
    """A kernel with a unit whose tokens show one behind another from cycle 1 on."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    kernel.add(block)
    source = kernel.add(StreamSource("source", tokens))
    kernel.connect(source, "out", block, "updates", capacity=ROOM)
    return kernel


def accepted_in(block, tokens):
    """The cycles in which a unit accepts tokens, counted from that in which the first shows."""
    kernel = fed(block, tokens)
    cycles = []
    while kernel.step():
        cycles += [kernel.clocks[0].cycle - 1] * (block.accepted - len(cycles))
    return cycles


@pytest.mark.parametrize(("mode", "expected"), [(STALL, [0, 3, 4, 6]), (FORWARD, [0, 1, 2, 3])])
def test_the_worked_example(mode, expected):
    block = unit(mode=mode, **ONE_EACH)
    assert accepted_in(block, tokens_of(WORKED, stop=False)) == expected
    assert (block.temporary[5], block.temporary[7]) == (4.0, 1.0)
    assert (
        block.counters()
        == {
            STALL: {"accepted": 4, "stalls": 3, "forwarded": 0},
            FORWARD: {"accepted": 4, "stalls": 0, "forwarded": 2},
        }[mode]
    )


@settings(max_examples=15)
@given(
    given_updates=updates | hot, mode=st.sampled_from(MODES), window=latencies,
    capacity=st.integers(1, 4), latency=st.integers(1, 3), seed=st.none() | st.integers(0, 99),
)  # fmt: skip
def test_it_folds_as_numpy_does_under_any_stalls(given_updates, mode, window, capacity, latency, seed):
    places = np.array([place for place, _ in given_updates], int)
    values = np.array([value for _, value in given_updates], float)
    for operation, fold, neutral in ((MIN, np.minimum, INFINITE), (ADD, np.add, 0.0)):
        made = []

        def make(operation=operation, neutral=neutral, made=made):
            made.append(unit(operation, mode, neutral=neutral, **window))
            return made[-1]

        inputs = {"updates": tokens_of(given_updates)}
        bench = {"capacity": capacity, "latency": latency}
        check_laws(make, inputs, ["touched"], seeds=[seed], **bench)
        expected = np.full(8, neutral)
        fold.at(expected, places, values)
        assert all(list(block.temporary) == list(expected) for block in made)


def test_floating_sums_are_added_in_the_order_of_arrival():
    values = [1e16, 1.0, -1e16, 1.0, 0.1, 0.2]
    block = unit(ADD, FORWARD, neutral=0.0, reduce_latency=4)
    run_block(block, {"updates": tokens_of([(3, value) for value in values])}, [])
    assert block.temporary[3] == np.add.accumulate(values)[-1]


def test_the_default_windows_are_four_cycles_and_seven_for_floating_sums():
    twice = tokens_of([(1, 1.0), (1, 2.0)], stop=False)
    assert accepted_in(unit(), twice) == [0, 4]
    assert accepted_in(unit(ADD, neutral=0.0, reduce_latency=4), twice) == [0, 7]
    assert accepted_in(unit(ADD, FORWARD, neutral=0.0, reduce_latency=4), twice) == [0, 4]


def test_an_operation_of_the_users_own():
    block = unit(max, neutral=-INFINITE)
    outcome = run_block(block, {"updates": tokens_of([(2, 4.0), (2, 7.0), (0, 1.0), (2, 5.0)])}, ["touched"])
    assert list(block.temporary)[:3] == [1.0, -INFINITE, 7.0]
    assert [token[1] for token in outcome.tokens("touched")[:-1]] == [2, 0]


def test_apply_reads_and_leaves_the_property_neutral():
    block = unit(mode=FORWARD)
    inputs = {"updates": tokens_of(WORKED), "reads": [(0, place, 0, 0.0) for place in (5, 5, 7, 0)]}
    outcome = run_block(block, inputs, ["touched", "temporaries"])
    # The first read waits for the last update of 5, the second for the first; then one a cycle.
    assert outcome.received["temporaries"] == [
        (13, (0, 5, 0, 4.0)), (17, (0, 5, 0, INFINITE)), (18, (0, 7, 0, 1.0)), (19, (0, 0, 0, INFINITE)),
    ]  # fmt: skip
    assert set(block.temporary) == {INFINITE}
    assert outcome.tokens("touched") == [(DATA, 5, 0, 0.0), (DATA, 7, 0, 0.0), STOP_TOKEN]


@settings(max_examples=15)
@given(
    given_updates=updates, reads=st.lists(st.integers(0, 5), max_size=20), mode=st.sampled_from(MODES),
    window=latencies, capacity=st.integers(1, 3), seed=st.none() | st.integers(0, 99),
)  # fmt: skip
def test_what_is_read_and_what_is_left_is_all_that_came(given_updates, reads, mode, window, capacity, seed):
    made = []

    def make():
        made.append(unit(ADD, mode, neutral=0.0, **window))
        return made[-1]

    inputs = {"updates": tokens_of(given_updates), "reads": [(0, place, 0, 0.0) for place in reads]}
    outputs = ["touched", "temporaries"]
    check_laws(make, inputs, outputs, seeds=[seed], capacity=capacity)
    outcome = run_block(make(), inputs, outputs, seed=seed, capacity=capacity)
    assert [token[1] for token in outcome.tokens("temporaries")] == reads
    read = sum(token[3] for token in outcome.tokens("temporaries"))
    assert read + sum(made[-1].temporary) == sum(value for _, value in given_updates)


def test_all_stand_while_touched_is_full():
    kernel = fed(unit(), tokens_of([(place, 1.0) for place in range(6)]))
    sink = kernel.add(StreamSink("sink"))
    kernel.connect(kernel.components[0], "touched", sink, "in", capacity=1)
    kernel.run()
    # A capacity of 1 halves the rate: from 5 on the unit waits in every second cycle.
    assert [cycle for cycle, _ in sink.received] == [*range(6, 19, 2)]
    found = kernel.statistics()["unit"]
    assert (found.busy, found.output_stall, found.input_stall) == (11, {"touched": 6}, {})


@pytest.mark.parametrize("place", [8, -1])
def test_a_destination_that_is_not_there_is_refused(place):
    with pytest.raises(
        SimulationError, match=rf"unit: there is no destination {place}; they are from 0 to 7"
    ):
        run_block(unit(), {"updates": [(0, place, 0, 1.0)]}, [])


def test_what_cannot_be_made_is_refused():
    with pytest.raises(ValueError, match="unit: mode must be one of stall, forward, not queue"):
        unit(mode="queue")
    with pytest.raises(ValueError, match="unit: operation must be a function or one of min, add, not max"):
        unit("max")
    with pytest.raises(ValueError, match="unit: latencies must be at least 1"):
        unit(write_latency=0)


class Silent(AtomicUpdate):
    """Tells nobody what was touched."""

    def tick(self, now):
        self.touched, kept = None, self.touched
        asked = super().tick(now)
        self.touched = kept
        return asked


def test_planted_a_unit_that_tells_of_nothing_is_found():
    inputs = {"updates": tokens_of(WORKED)}
    block = Silent("unit", array("d", [INFINITE] * 8), neutral=INFINITE)
    assert run_block(block, inputs, ["touched"]).tokens("touched") == []
    assert run_block(unit(), inputs, ["touched"]).tokens("touched") != []
