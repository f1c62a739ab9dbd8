"""The multiplier and the accumulator: every cycle of short runs by hand, long ones against itertools."""

from array import array
from functools import reduce
from itertools import groupby
from operator import add, itemgetter

import pytest
from fibers import STOP_TOKEN, check_accounting_of, fiber_tokens, values
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.fibers.arithmetic import Accumulator, Multiplier, PairMultiplier
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim import Component, SimulationError
from fiberscope.sim.testing import check_laws, head, run_block

SCALES = array("d", [2.0, -0.5, 3.0])

streams = st.lists(
    st.tuples(
        st.sampled_from([DATA, DATA, DATA, STOP]),
        st.integers(0, 1 << 40),
        st.integers(-1, len(SCALES) - 1),
        values(),
    ),
    max_size=40,
)
sorted_fibers = st.lists(
    st.lists(st.tuples(st.integers(0, 5), st.just(0), values()), max_size=12).map(
        lambda fiber: sorted(fiber, key=itemgetter(0))
    ),
    max_size=6,
)
sizes = st.fixed_dictionaries({"capacity": st.integers(2, 5), "latency": st.integers(1, 4)})
stall_seeds = st.none() | st.integers(0, 1000)


def multiplier():
    return Multiplier("multiplier", SCALES)


def pair_multiplier():
    return PairMultiplier("pairs")


def accumulator():
    return Accumulator("accumulator")


def stream_of(fibers):
    return [token for fiber in fibers for token in fiber_tokens(fiber)]


def scaled(tokens):
    """What a multiplier makes of a stream: the reference."""
    return [
        (control, coordinate, reference, value * (SCALES[reference] if not control and reference >= 0 else 1))
        for control, coordinate, reference, value in tokens
    ]


def summed(fibers):
    """What an accumulator makes of fibers: the reference, with sums from left to right."""
    return stream_of(
        [
            (coordinate, 0, reduce(add, [value for _, _, value in run]))
            for coordinate, run in groupby(fiber, itemgetter(0))
        ]
        for fiber in fibers
    )


def check_multiplier(make, tokens, **bench):
    outcome = run_block(make(), {"operands": tokens}, ["products"], **bench)
    assert outcome.tokens("products") == scaled(tokens)
    return outcome


def check_accumulator(make, fibers, **bench):
    outcome = run_block(make(), {"products": stream_of(fibers)}, ["sums"], **bench)
    assert outcome.tokens("sums") == summed(fibers)
    return outcome


class TestMultiplier:
    def test_an_element_leaves_in_the_cycle_in_which_it_is_seen(self):
        outcome = check_multiplier(multiplier, [(DATA, 5, 0, 1.5)], latency=3)
        # Pushed at 0, seen at 3 and pushed on then, seen by the sink at 6.
        assert outcome.received["products"] == [(6, (DATA, 5, 0, 3.0))]
        assert outcome.run.cycles == 7
        check_accounting_of(outcome, "multiplier", busy=1, idle=6)

    def test_elements_without_a_scale_and_stops_pass_unchanged_and_uncounted(self):
        tokens = [(DATA, 1, -1, 7.0), (STOP, 2, 1, 7.0), (DATA, 3, 1, 7.0)]
        outcome = check_multiplier(multiplier, tokens)
        assert outcome.tokens("products") == [(DATA, 1, -1, 7.0), (STOP, 2, 1, 7.0), (DATA, 3, 1, -3.5)]
        assert outcome.statistics["multiplier"].counters == {"multiply": 1}

    @pytest.mark.parametrize("latency", [1, 2, 7])
    def test_one_element_a_cycle_with_a_capacity_of_latency_plus_one(self, latency):
        tokens = [(DATA, number, number % 3, float(number)) for number in range(500)]
        outcome = check_multiplier(multiplier, tokens, capacity=latency + 1, latency=latency)
        assert [cycle for cycle, _ in outcome.received["products"]] == [
            2 * latency + number for number in range(500)
        ]
        check_accounting_of(outcome, "multiplier", busy=500, idle=2 * latency, output_stall={})

    def test_with_a_capacity_of_one_a_token_takes_two_cycles(self):
        outcome = check_multiplier(multiplier, [(DATA, 0, 0, 1.0)] * 10, capacity=1)
        assert [cycle for cycle, _ in outcome.received["products"]] == list(range(2, 22, 2))

    def test_it_uses_the_scale_that_the_register_holds_at_the_time(self):
        class Loader(Multiplier):
            def tick(self, now):
                wake = super().tick(now)
                registers[0] += 1.0
                return wake

        registers = array("d", [1.0])
        outcome = run_block(
            Loader("loader", registers), {"operands": [(DATA, 0, 0, 1.0)] * 3}, ["products"], sleep=False
        )
        # Ticks at 0 (nothing yet), 1, 2, 3.
        assert [value for _, _, _, value in outcome.tokens("products")] == [2.0, 3.0, 4.0]

    def test_a_reference_beyond_the_registers_is_refused(self):
        with pytest.raises(
            SimulationError, match=r"multiplier: reference 3 names no scale register; there are 3"
        ):
            run_block(multiplier(), {"operands": [(DATA, 0, 3, 1.0)]}, ["products"])

    @given(tokens=streams, size=sizes, seed=stall_seeds)
    def test_scales_any_stream_under_any_stalls(self, tokens, size, seed):
        check_multiplier(multiplier, tokens, seed=seed, **size)
        check_laws(multiplier, {"operands": tokens}, ["products"], seeds=[seed], **size)

    def test_planted_a_multiplier_that_also_scales_what_has_no_scale(self):
        class Overeager(Component):
            PORTS = Multiplier.PORTS

            def elaborate(self):
                self.operands, self.products = self.channel("operands"), self.channel("products")

            def tick(self, now):
                if not self.operands.can_pop():
                    return self.idle()
                control, coordinate, reference, value = head(self.operands)
                self.products.push(control, coordinate, reference, value * SCALES[reference])
                self.operands.pop()
                return self.busy(now + 1)

        with pytest.raises(AssertionError):
            check_multiplier(lambda: Overeager("multiplier"), [(DATA, 1, -1, 7.0)])


class TestPairMultiplier:
    @given(
        pairs=st.lists(st.tuples(st.sampled_from([DATA, DATA, STOP]), values(), values()), max_size=40),
        size=sizes,
        seed=stall_seeds,
    )
    def test_multiplies_what_comes_side_by_side_under_any_stalls(self, pairs, size, seed):
        inputs = {
            "a": [(control, 7 * i, i, left) for i, (control, left, _right) in enumerate(pairs)],
            "b": [(control, 0, -i, right) for i, (control, _left, right) in enumerate(pairs)],
        }
        outcome = run_block(pair_multiplier(), inputs, ["products"], seed=seed, **size)
        expected = [(control, 0, 0, left * right) for control, left, right in pairs]
        assert outcome.tokens("products") == expected
        elements = sum(control == DATA for control, *_ in pairs)
        assert outcome.statistics["pairs"].counters == {"multiply": elements}
        check_laws(pair_multiplier, inputs, ["products"], seeds=[seed], **size)

    def test_a_pair_a_cycle_and_a_wait_for_the_side_that_is_late(self):
        tokens = [(DATA, 0, 0, float(i)) for i in range(100)]
        outcome = run_block(pair_multiplier(), {"a": tokens, "b": tokens}, ["products"], capacity=2)
        assert [cycle for cycle, _ in outcome.received["products"]] == list(range(2, 102))
        outcome = run_block(pair_multiplier(), {"a": tokens[:1], "b": tokens[:1]}, ["products"], seed=3)
        waits = outcome.statistics["pairs"].input_stall
        assert set(waits) <= {"a", "b"}

    def test_a_fiber_that_ends_on_one_side_alone_is_refused(self):
        inputs = {"a": [(DATA, 0, 0, 1.0)], "b": [STOP_TOKEN]}
        with pytest.raises(SimulationError, match="pairs: a fiber ends on one side alone"):
            run_block(pair_multiplier(), inputs, ["products"])


class TestAccumulator:
    def test_every_cycle_of_a_short_fiber(self):
        outcome = check_accumulator(accumulator, [[(1, 0, 2.0), (1, 0, 3.0), (4, 0, 5.0)]], capacity=3)
        # Seen at 1: held. At 2: added. At 3: another coordinate, the sum leaves. At 4: the stop, which leaves
        # with the last sum; the sink takes one token a cycle.
        assert outcome.received["sums"] == [(4, (DATA, 1, 0, 5.0)), (5, (DATA, 4, 0, 5.0)), (6, STOP_TOKEN)]
        assert outcome.run.cycles == 7
        check_accounting_of(outcome, "accumulator", busy=4, idle=3)
        assert outcome.statistics["accumulator"].counters == {"add": 1, "emitted": 2}

    def test_equal_coordinates_of_different_fibers_stay_apart(self):
        outcome = check_accumulator(accumulator, [[(1, 0, 1.0)], [(1, 0, 1.0)], [], [(1, 0, 1.0)]])
        assert outcome.statistics["accumulator"].counters == {"add": 0, "emitted": 3}

    def test_an_empty_fiber_needs_one_slot_only(self):
        outcome = check_accumulator(accumulator, [[(1, 0, 1.0)], []], capacity=2)
        # The sum and its stop fill both slots at 2. The sink takes them at 3 and 4; so one slot is free from
        # cycle 4 on, in which the empty fiber's stop leaves.
        assert [cycle for cycle, _ in outcome.received["sums"]] == [3, 4, 5]
        check_accounting_of(outcome, "accumulator", busy=3, output_stall={"sums": 1})

    @pytest.mark.parametrize("latency", [1, 2, 7])
    def test_one_element_a_cycle_with_a_capacity_of_latency_plus_two(self, latency):
        fibers = [[(number, 0, 1.0)] for number in range(250)]
        outcome = check_accumulator(accumulator, fibers, capacity=latency + 2, latency=latency)
        # Each fiber is an element and a stop: 500 tokens in, the last of which is seen at 499 + latency.
        check_accounting_of(outcome, "accumulator", busy=500, input_stall={}, output_stall={})
        assert outcome.received["sums"][-1][0] == 500 + 2 * latency

    @given(fibers=sorted_fibers, size=sizes, seed=stall_seeds)
    def test_sums_any_fibers_under_any_stalls(self, fibers, size, seed):
        check_accumulator(accumulator, fibers, seed=seed, **size)
        check_laws(accumulator, {"products": stream_of(fibers)}, ["sums"], seeds=[seed], **size)

    def test_sums_with_a_single_slot_are_refused(self):
        with pytest.raises(SimulationError, match=r"sink.sums.in: .*capacity of at least 2, not 1"):
            run_block(accumulator(), {"products": [STOP_TOKEN]}, ["sums"], capacity=1)

    def test_planted_an_accumulator_that_does_not_stop_at_a_fiber(self):
        class Forgetful(Accumulator):
            """Drops every stop that is not the last token."""

            def elaborate(self):
                super().elaborate()
                self.operands = self.channel("products")

            def tick(self, now):
                if self.operands.can_pop() and self.operands.control() == STOP and self.operands.pushes < 4:
                    self.operands.pop()
                    return self.busy(now + 1)
                return super().tick(now)

        with pytest.raises(AssertionError):
            check_accumulator(lambda: Forgetful("accumulator"), [[(1, 0, 1.0)], [(1, 0, 1.0)]])
