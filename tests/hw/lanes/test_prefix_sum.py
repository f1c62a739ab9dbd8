"""The prefix sum in its three forms: every cycle of short runs, long ones against accumulate."""

from functools import partial
from itertools import accumulate

import pytest
from fibers import STOP_TOKEN, check_accounting_of, values
from hypothesis import given
from hypothesis import strategies as st
from rows import by_lane, rows_of

from fiberscope.hw.lanes.prefix_sum import FORMS, PARALLEL, SERIAL, WORK_EFFICIENT, PrefixSum
from fiberscope.hw.lanes.prefix_sum import depth as depth_of
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim import Kernel, SimulationError
from fiberscope.sim.testing import StreamSink, StreamSource, check_laws, run_block

forms = st.sampled_from(FORMS)
sizes = st.fixed_dictionaries({"capacity": st.integers(1, 5), "latency": st.integers(1, 4)})
stall_seeds = st.none() | st.integers(0, 1000)


@st.composite
def batches(draw):
    """Lanes, width, and arrays of elements (number, reference, value)."""
    lanes, width = draw(st.integers(1, 6)), draw(st.sampled_from([1, 5, 32, 62]))
    element = st.tuples(st.integers(0, (1 << width) - 1), st.integers(-(1 << 62), 1 << 62), values())
    lengths = st.sampled_from([0, 1, lanes - 1, lanes, 2 * lanes, 2 * lanes + 1])
    arrays = st.lists(
        lengths.flatmap(lambda length: st.lists(element, min_size=length, max_size=length)), max_size=4
    )
    return lanes, width, draw(arrays)


def summed(width, arrays):
    """What a prefix sum makes of arrays: the reference."""
    return [
        [
            (total % (1 << width), reference, value)
            for total, (_, reference, value) in zip(
                accumulate(number for number, _, _ in array), array, strict=True
            )
        ]
        for array in arrays
    ]


def numbers(*arrays):
    return [[(number, 10 + number, float(number)) for number in array] for array in arrays]


def prefix_sum(form, lanes, width=32, **options):
    return lambda: PrefixSum("prefix_sum", form, lanes, width, **options)


def outputs_of(lanes):
    return [f"sums[{lane}]" for lane in range(lanes)]


def check_sums(make, lanes, width, arrays, **bench):
    rows = rows_of(lanes, arrays)
    outcome = run_block(make(), by_lane("lanes", lanes, rows), outputs_of(lanes), **bench)
    expected = by_lane("sums", lanes, rows_of(lanes, summed(width, arrays)))
    assert {port: outcome.tokens(port) for port in expected} == expected
    assert outcome.statistics["prefix_sum"].counters == {"rows": len(rows), "numbers": sum(map(len, arrays))}
    return outcome


def cycles_at(outcome, port):
    return [cycle for cycle, _ in outcome.received[port]]


class TestTiming:
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize(("lanes", "registered"), [(1, True), (3, True), (8, True), (8, False)])
    def test_the_first_row_is_out_after_the_depth_and_one_a_cycle_after_that(self, form, lanes, registered):
        """Without the last register the depth is a stage less."""
        arrays = numbers(range(30 * lanes), range(5 * lanes - 1))
        make = partial(PrefixSum, "prefix_sum", form, lanes, 32, registered=registered)
        outcome = check_sums(make, lanes, 32, arrays)
        # Pushed at 0, seen and taken at 1, out at 1 + depth, seen by the sink a cycle later.
        depth = depth_of(form, lanes) - (not registered)
        first = 2 + depth
        rows = 30 + 1 + 5
        for lane in range(lanes):
            assert cycles_at(outcome, f"sums[{lane}]") == list(range(first, first + rows))
        check_accounting_of(outcome, "prefix_sum", busy=rows + depth, idle=2, input_stall={}, output_stall={})

    def test_the_latency_of_the_channel_comes_on_top(self):
        outcome = check_sums(prefix_sum(PARALLEL, 4), 4, 32, numbers([1, 2, 3]), latency=5, capacity=6)
        assert cycles_at(outcome, "sums[0]") == [5 + depth_of(PARALLEL, 4) + 5]

    def test_every_token_of_two_short_arrays(self):
        outcome = check_sums(prefix_sum(WORK_EFFICIENT, 2), 2, 32, numbers([5, 7], [1]))
        assert outcome.received["sums[0]"] == [
            (4, (DATA, 5, 15, 5.0)), (5, STOP_TOKEN), (6, (DATA, 1, 11, 1.0)),
        ]  # fmt: skip
        assert outcome.received["sums[1]"] == [(4, (DATA, 12, 17, 7.0)), (5, STOP_TOKEN), (6, STOP_TOKEN)]

    def test_it_sleeps_until_the_oldest_row_leaves(self):
        class Counting(PrefixSum):
            ticks = 0

            def tick(self, now):
                Counting.ticks += 1
                return super().tick(now)

        run_block(
            Counting("prefix_sum", SERIAL, 200), by_lane("lanes", 200, [[STOP_TOKEN] * 200]), outputs_of(200)
        )
        # A first look at 0; the row in at 1, nothing to do at 2; the row out at 202, nothing to do at 203.
        assert Counting.ticks == 5

    def test_the_stages_move_in_step(self):
        """Rows 0 and 1 have a gap between them, which stays while row 0 cannot leave."""
        block = PrefixSum("prefix_sum", SERIAL, 2)
        outcome = run_with(
            block, [[STOP_TOKEN] * 2] * 3, source_stalls=(1,), sink_stalls={"sums[1]": (9,)}, capacity=1
        )
        # Taken at 1, 3 and 5. Row 0 is out at 4, seen by the sink at 5, which then pauses until 15; row 1 is
        # out at 6, fills the channel, and is taken at 15. So the slot is free from 16 on: row 2, in the last
        # stage since 8, leaves then, 8 cycles late.
        assert cycles_of(outcome, "sums[0]") == [5, 7, 17]
        assert outcome.statistics["prefix_sum"].output_stall == {"sums[1]": 8}

    def test_what_comes_behind_a_standstill_is_late_by_all_of_it(self):
        """Row 2 stands in the first stage while row 1 waits for space: no gap closes up."""
        block = PrefixSum("prefix_sum", SERIAL, 3)
        outcome = run_with(
            block, [[STOP_TOKEN] * 3] * 3, source_stalls=(0, 2, 0), sink_stalls={"sums[0]": (19,)}, capacity=1
        )
        # Taken at 1, 3 (a channel of one slot takes a token every other cycle) and 6. Row 0 is out at 5, seen
        # at 6; the sink pauses until 26. Row 1, out at 7, is taken then. Row 2, in the last stage from 10 on,
        # is out at 27.
        assert cycles_of(outcome, "sums[2]") == [6, 8, 28]
        assert outcome.statistics["prefix_sum"].output_stall == {"sums[0]": 17}


def run_with(block, rows, source_stalls, sink_stalls, capacity):
    """Run with chosen stalls: of all sources, and of the sinks that are named."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    kernel.add(block)
    for port, tokens in by_lane("lanes", block.lanes, rows).items():
        source = kernel.add(StreamSource(port, tokens, source_stalls))
        kernel.connect(source, "out", block, port, capacity=capacity)
    received = {}
    for port in outputs_of(block.lanes):
        sink = kernel.add(StreamSink(port, sink_stalls.get(port, ())))
        kernel.connect(block, port, sink, "in", capacity=capacity)
        received[port] = sink.received
    kernel.run()
    return Seen(received, kernel.statistics())


class Seen:
    def __init__(self, received, statistics):
        self.received, self.statistics = received, statistics


def cycles_of(seen, port):
    return [cycle for cycle, _ in seen.received[port]]


class TestStalls:
    @pytest.mark.parametrize("registered", [True, False])
    @given(form=forms, batch=batches(), size=sizes, seed=stall_seeds)
    def test_sums_any_arrays_under_any_stalls(self, registered, form, batch, size, seed):
        lanes, width, arrays = batch
        make = prefix_sum(form, lanes, width, registered=registered)
        check_sums(make, lanes, width, arrays, seed=seed, **size)
        inputs = by_lane("lanes", lanes, rows_of(lanes, arrays))
        check_laws(make, inputs, outputs_of(lanes), seeds=[seed], **size)

    def test_a_row_waits_for_its_last_lane(self):
        block = PrefixSum("prefix_sum", PARALLEL, 2)
        kernel = Kernel()
        kernel.clock("core", 10**9)
        kernel.add(block)
        for lane, latency in enumerate((1, 20)):
            source = kernel.add(StreamSource(f"source{lane}", [STOP_TOKEN]))
            kernel.connect(source, "out", block, f"lanes[{lane}]", capacity=2, latency=latency)
            sink = kernel.add(StreamSink(f"sink{lane}"))
            kernel.connect(block, f"sums[{lane}]", sink, "in", capacity=2)
        kernel.run()
        statistics = kernel.statistics()["prefix_sum"]
        assert statistics.input_stall == {"lanes[1]": 19}  # cycles 1 to 19
        assert (statistics.busy, statistics.idle) == (3, 2)

    def test_within_an_array_it_waits_for_input_not_idle(self):
        outcome = run_with(
            PrefixSum("prefix_sum", SERIAL, 1),
            [[(DATA, 1, 0, 0.0)], [STOP_TOKEN], [STOP_TOKEN]],
            source_stalls=(9,),
            sink_stalls={},
            capacity=2,
        )
        statistics = outcome.statistics["prefix_sum"]
        # In at 1, out at 3, the stop is seen at 11: waits from 4 to 10. Between the arrays it is idle.
        assert statistics.input_stall == {"lanes[0]": 7}
        assert statistics.busy == 9


class TestSums:
    @pytest.mark.parametrize("form", FORMS)
    def test_sums_wrap_at_the_width(self, form):
        outcome = check_sums(prefix_sum(form, 3, 4), 3, 4, numbers([15, 15, 15, 15, 15]))
        assert [token[1] for token in outcome.tokens("sums[0]")] == [15, 60 % 16]

    @pytest.mark.parametrize("form", FORMS)
    def test_the_largest_width_and_most_lanes(self, form):
        largest = (1 << 62) - 1
        check_sums(prefix_sum(form, 256, 62), 256, 62, [[(largest, -1, 0.5)] * 600, [(1, 1, 1.0)]])

    def test_planted_a_prefix_sum_that_keeps_the_offset_of_the_last_array(self):
        class Forgetful(PrefixSum):
            """Drops the stop of the first array."""

            def elaborate(self):
                super().elaborate()
                self.lane = self.channel("lanes")

            def tick(self, now):
                if self.lane.can_pop() and self.lane.control() == STOP and self.lane.pops < 3:
                    self.lane.pop()
                    return self.busy(now + 1)
                return super().tick(now)

        arrays = numbers([1], [2])
        check_sums(prefix_sum(SERIAL, 1), 1, 32, arrays)
        with pytest.raises(AssertionError):
            check_sums(lambda: Forgetful("prefix_sum", SERIAL, 1), 1, 32, arrays)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tree", 4), "prefix_sum: form must be one of serial, work-efficient, parallel, not tree"),
        (("serial", 0), "prefix_sum: lanes must be from 1 to 256, not 0"),
        (("serial", 257), "prefix_sum: lanes must be from 1 to 256, not 257"),
        (("serial", 4, 0), "prefix_sum: width must be from 1 to 62, not 0"),
        (("serial", 4, 63), "prefix_sum: width must be from 1 to 62, not 63"),
    ],
)
def test_what_cannot_be_built_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        PrefixSum("prefix_sum", *arguments)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1, 256], r"prefix_sum: 256 at lanes\[1\] is no unsigned integer of 8 bits"),
        ([-1, None], r"prefix_sum: -1 at lanes\[0\] is no unsigned integer of 8 bits"),
        (
            [None, 1],
            r"prefix_sum: lanes\[1\] shows a number in a row with a stop at lanes\[0\]; all lanes behind",
        ),
    ],
)
def test_a_row_that_is_none_is_refused(row, message):
    tokens = [STOP_TOKEN if number is None else (DATA, number, 0, 0.0) for number in row]
    with pytest.raises(SimulationError, match=message):
        run_block(PrefixSum("prefix_sum", SERIAL, 2, 8), by_lane("lanes", 2, [tokens]), outputs_of(2))


@pytest.mark.parametrize(
    ("connected", "message"),
    [
        ((1, 2), "prefix_sum: connect 2 lanes, one a lane, not 1"),
        ((2, 3), "prefix_sum: connect 2 sums, one a lane, not 3"),
    ],
)
def test_lanes_and_sums_must_be_connected_as_there_are_lanes(connected, message):
    lanes, sums = connected
    with pytest.raises(SimulationError, match=message):
        run_block(PrefixSum("prefix_sum", SERIAL, 2), by_lane("lanes", lanes, []), outputs_of(sums))
