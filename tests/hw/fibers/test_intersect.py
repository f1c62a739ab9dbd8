"""Intersectors: short fibers cycle by cycle, any others against sets."""

import random

import pytest
from fibers import ROOM, STOP_TOKEN, check_accounting_of, fiber_tokens, values
from hypothesis import given
from hypothesis import strategies as st
from intersect_model import extensor_steps, two_finger_steps

from fiberscope.hw.fibers.intersect import SkipAheadIntersector, TwoFingerIntersector
from fiberscope.hw.stream import DATA, FIBER_NUMBERS, STOP
from fiberscope.sim import Kernel
from fiberscope.sim.testing import StreamSink, StreamSource, check_laws, run_block

OUTPUTS = ["matches_a", "matches_b"]
SKIPS = ["skips_a", "skips_b"]

stall_seeds = st.none() | st.integers(0, 1000)
sizes = st.fixed_dictionaries({"capacity": st.integers(1, 5), "latency": st.integers(1, 4)})
windows = st.sampled_from([1, 2, 3, 5, 16])


@st.composite
def fibers(draw, span):
    coordinates = sorted(draw(st.sets(st.integers(0, span), max_size=12)))
    return [
        (coordinate, draw(st.integers(-(1 << 62), 1 << 62)), draw(values())) for coordinate in coordinates
    ]


@st.composite
def pairs_of_fibers(draw):
    """Pairs that meet often, and such where one side is far sparser than the other."""
    return draw(
        st.lists(
            st.sampled_from([4, 14, 40, (1 << 55) - 1]).flatmap(
                lambda span: st.tuples(fibers(span), fibers(span))
            ),
            max_size=5,
        )
    )


def fiber_of(*coordinates):
    return [(coordinate, 10 + coordinate, float(coordinate)) for coordinate in coordinates]


def pair_of(a, b):
    return fiber_of(*a), fiber_of(*b)


def inputs_of(pairs):
    return {
        "a": [token for a, _ in pairs for token in fiber_tokens(a)],
        "b": [token for _, b in pairs for token in fiber_tokens(b)],
    }


def matches_of(pairs):
    """What an intersector makes of pairs of fibers: the reference."""
    tokens = {"matches_a": [], "matches_b": []}
    for a, b in pairs:
        common = {element[0] for element in a} & {element[0] for element in b}
        tokens["matches_a"] += fiber_tokens(element for element in a if element[0] in common)
        tokens["matches_b"] += fiber_tokens(element for element in b if element[0] in common)
    return tokens


def coordinates_of(pairs):
    return [([element[0] for element in a], [element[0] for element in b]) for a, b in pairs]


def check_intersector(make, pairs, outputs=OUTPUTS, **bench):
    """Tokens on both sides, in the same cycles of the block, and the counts that do not depend on time."""
    outcome = run_block(make(), inputs_of(pairs), outputs, **bench)
    assert {port: outcome.tokens(port) for port in OUTPUTS} == matches_of(pairs)
    counters = outcome.statistics["block"].counters
    matches = sum(len(set(a) & set(b)) for a, b in coordinates_of(pairs))
    elements = sum(len(a) + len(b) for a, b in pairs)
    assert (counters["matches"], counters["fibers"]) == (matches, len(pairs))
    assert counters["dropped"] == elements - 2 * matches
    return outcome


def two():
    return TwoFingerIntersector("block")


def skip(window):
    return lambda: SkipAheadIntersector("block", window)


class TestTwoFinger:
    def test_every_cycle_of_a_short_intersection(self):
        outcome = check_intersector(two, [pair_of([1, 2, 5], [2, 5, 7])])
        # Seen at 1: a's 1 is dropped; at 2 and 3 the matches leave; at 4 b's 7 goes, the stops leave at 5.
        expected = [(3, (DATA, 2, 12, 2.0)), (4, (DATA, 5, 15, 5.0)), (6, STOP_TOKEN)]
        assert outcome.received["matches_a"] == outcome.received["matches_b"] == expected
        check_accounting_of(outcome, "block", busy=5, idle=2, input_stall={}, output_stall={})
        assert outcome.statistics["block"].counters["intersect"] == 3

    def test_empty_fibers_cost_a_cycle_for_the_stop(self):
        outcome = check_intersector(two, [pair_of([], []), pair_of([], []), pair_of([1], [])])
        assert [cycle for cycle, _ in outcome.received["matches_a"]] == [2, 3, 5]

    def test_it_waits_for_the_side_that_shows_nothing(self):
        outcome = run_beside(two(), [pair_of([1, 2], [1, 2])], late_b=10)
        assert outcome["block"].input_stall == {"b": 9}

    def test_within_a_fiber_it_waits_also_where_both_sides_show_nothing(self):
        outcome = run_beside(two(), [pair_of([1], [1]), pair_of([2], [2])], pauses=(10, 0))
        # Pairs are seen at 1, 12, 13 and 24: a match, its stop, and so once more.
        assert outcome["block"].input_stall == {"a": 20}
        assert outcome["block"].idle == 2

    def test_a_full_output_is_an_output_stall_of_that_side(self):
        block = two()
        kernel, sinks = build(block, [pair_of(range(4), range(4))], stalls={"matches_b": (9,)})
        kernel.run()
        # The sink takes a token at 2, 12, 22: two more fit, so the fourth leaves at 13 and the stop at 23.
        assert [cycle for cycle, _ in sinks["matches_a"].received] == [2, 3, 4, 14, 24]
        assert kernel.statistics()["block"].output_stall == {"matches_b": 18}  # from 4 and from 14 on

    @given(pairs=pairs_of_fibers(), size=sizes, seed=stall_seeds)
    def test_intersects_anything_under_any_stalls(self, pairs, size, seed):
        outcome = check_intersector(two, pairs, seed=seed, **size)
        steps = sum(two_finger_steps(*pair) for pair in coordinates_of(pairs))
        assert outcome.statistics["block"].counters["intersect"] == steps
        check_laws(two, inputs_of(pairs), OUTPUTS, seeds=[seed], **size)


class TestSkipAhead:
    def test_every_cycle_of_a_short_intersection(self):
        pairs = [pair_of([1, 2, 5, 9], [5, 7])]
        outcome = check_intersector(skip(4), pairs, OUTPUTS + SKIPS, capacity=4)
        # Taken at 1 and compared at 2: a's 1 is below 5 and all there is; it goes on with 2 at 3. The match
        # leaves at 4, b's 7 goes at 5, a's 9 as the rest at 6, the stops leave at 7.
        expected = [(5, (DATA, 5, 15, 5.0)), (8, STOP_TOKEN)]
        assert outcome.received["matches_a"] == expected
        assert outcome.received["skips_a"] == [(3, (DATA, 5, 0, 0.0))]
        assert outcome.received["skips_b"] == []
        counters = outcome.statistics["block"].counters
        assert (counters["intersect"], counters["continued"], counters["skips"]) == (3, 1, 1)

    def test_what_the_window_holds_is_skipped_in_a_cycle(self):
        block = skip(128)()
        pairs = [pair_of(range(100), [50, 99])]
        kernel, sinks = build(block, pairs, late_b=200, capacity=4)
        kernel.run()
        # 50 comes at 200 and is compared at 201: fifty elements go, it leaves at 202; the same for 99.
        assert [cycle for cycle, _ in sinks["matches_a"].received] == [203, 205, 206]
        assert block.counters()["continued"] == 0

    def test_the_rest_is_dropped_a_window_a_cycle_and_the_source_is_told_once(self):
        pairs = [pair_of(range(30), []), pair_of([0], [0])]
        outcome = check_intersector(skip(2), pairs, OUTPUTS + SKIPS, capacity=4)
        assert outcome.received["skips_a"] == [(3, (STOP, 0, 0, 0.0))]
        assert outcome.statistics["block"].counters["intersect"] == 1
        assert outcome.statistics["block"].counters["skips"] == 1

    def test_a_skip_is_told_when_there_is_space(self):
        block = skip(2)()
        pairs = [pair_of([0], [0]), pair_of([0], [0]), pair_of(range(40), [90]), pair_of(range(20), [90])]
        kernel, sinks = build(block, pairs, stalls={"skips_a": (25,)}, capacity=1, skips=True)
        kernel.run()
        told = [(token[1], token[2]) for _, token in sinks["skips_a"].received]
        assert told == [(90, 2), (90, 3)]
        assert block.counters()["skips"] == 2

    def test_a_fiber_number_wraps(self):
        pairs = [pair_of([], [])] * (FIBER_NUMBERS + 3) + [pair_of([1, 2], [9])]
        outcome = run_block(skip(2)(), inputs_of(pairs), OUTPUTS + SKIPS)
        assert outcome.tokens("skips_a") == [(DATA, 9, 3, 0.0)]

    @given(pairs=pairs_of_fibers(), size=sizes, seed=stall_seeds, window=windows, told=st.booleans())
    def test_intersects_anything_under_any_stalls(self, pairs, size, seed, window, told):
        outputs = OUTPUTS + SKIPS * told
        outcome = check_intersector(skip(window), pairs, outputs, seed=seed, **size)
        steps = sum(extensor_steps(*pair) for pair in coordinates_of(pairs))
        assert outcome.statistics["block"].counters["intersect"] == steps
        check_laws(skip(window), inputs_of(pairs), outputs, seeds=[seed], **size)

    @given(pairs=pairs_of_fibers(), seed=stall_seeds)
    def test_with_a_window_of_one_it_takes_the_cycles_of_two_fingers(self, pairs, seed):
        counters = check_intersector(skip(1), pairs, seed=seed).statistics["block"].counters
        steps = sum(two_finger_steps(*pair) for pair in coordinates_of(pairs))
        assert counters["intersect"] + counters["continued"] == steps

    def test_within_a_fiber_it_waits_also_where_both_sides_show_nothing(self):
        outcome = run_beside(skip(4)(), [pair_of([1], [1]), pair_of([2], [2])], pauses=(10, 0))
        # Pairs are taken at 1, 12, 13 and 24, and leave a cycle later; the first's stop is awaited from 3 on.
        assert outcome["block"].input_stall == {"a": 18}
        assert outcome["block"].idle == 2

    @given(pairs=pairs_of_fibers())
    def test_a_step_a_cycle_where_the_windows_hold_the_fibers(self, pairs):
        held_up = pair_of(range(4), range(4))
        block = skip(ROOM)()
        kernel, sinks = build(block, [held_up, *pairs], stalls={"matches_a": (500,) + (0,) * ROOM})
        kernel.run()
        # The sink takes the first match and pauses for so long that all comes into the windows; the channel
        # holds two more, the fourth leaves as soon as the sink takes the second.
        cycles = 2 + sum(extensor_steps(a, b) + rest_of(a, b) + 1 for a, b in coordinates_of(pairs))
        first = sinks["matches_a"].received[0][0]
        assert sinks["matches_a"].received[-1][0] == first + 500 + 2 + cycles
        assert block.counters()["continued"] == 0

    @pytest.mark.parametrize("window", [0, -3])
    def test_a_window_that_holds_nothing_is_refused(self, window):
        with pytest.raises(ValueError, match=f"block: window must be at least 1, not {window}"):
            SkipAheadIntersector("block", window)


def rest_of(a, b):
    """Whether one fiber has elements left when the other has ended."""
    return bool(a or b) and (max(a, default=-1) != max(b, default=-1))


def build(block, pairs, *, late_b=1, pauses=(), stalls=None, capacity=2, skips=False):
    """A kernel with the block, whose ``b`` comes late, sources that pause and sinks with the given stalls."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    kernel.add(block)
    inputs = inputs_of(pairs)
    for port, latency in (("a", 1), ("b", late_b)):
        source = kernel.add(StreamSource(f"source.{port}", inputs[port], pauses))
        kernel.connect(source, "out", block, port, capacity=latency + 1, latency=latency)
    sinks = {}
    for port in OUTPUTS + SKIPS * skips:
        sinks[port] = kernel.add(StreamSink(f"sink.{port}", (stalls or {}).get(port, ())))
        kernel.connect(block, port, sinks[port], "in", capacity=capacity)
    return kernel, sinks


def run_beside(block, pairs, **options):
    kernel, _ = build(block, pairs, **options)
    kernel.run()
    return kernel.statistics()


class SkipsTooFar(SkipAheadIntersector):
    """Takes every third token of a away unseen."""

    def tick(self, now):
        a = self.connected["a"][0]
        if a.can_pop() and a.control() == DATA and a.pops % 3 == 2:
            a.pop()
            return self.busy(now + 1)
        return super().tick(now)


LONG = [pair_of(range(0, 60, 3), range(0, 60, 2))]


def test_planted_an_intersector_that_loses_elements():
    check_intersector(skip(3), LONG)
    with pytest.raises(AssertionError):
        check_intersector(lambda: SkipsTooFar("block", 3), LONG)


def test_fewer_cycles_than_two_fingers_where_both_sides_have_much_of_their_own():
    generator = random.Random(3)
    a, b = (sorted(generator.sample(range(600), 300)) for _ in range(2))
    slow = check_intersector(two, [pair_of(a, b)]).run.cycles
    fast = check_intersector(skip(8), [pair_of(a, b)]).run.cycles
    assert two_finger_steps(a, b) <= slow < two_finger_steps(a, b) + 10
    assert extensor_steps(a, b) <= fast < extensor_steps(a, b) + 10 < 0.85 * slow
