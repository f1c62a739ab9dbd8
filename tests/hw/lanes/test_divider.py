"""The divider: every cycle of short runs by hand, long ones against divmod."""

from functools import partial

import pytest
from fibers import STOP_TOKEN, check_accounting_of, values
from hypothesis import given
from hypothesis import strategies as st
from rows import by_lane, rows_of

from fiberscope.hw.lanes.divider import Divider, depth
from fiberscope.hw.stream import DATA
from fiberscope.sim import Kernel, SimulationError
from fiberscope.sim.testing import StreamSink, StreamSource, check_laws, run_block

sizes = st.fixed_dictionaries({"capacity": st.integers(1, 5), "latency": st.integers(1, 4)})
stall_seeds = st.none() | st.integers(0, 1000)


@st.composite
def batches(draw):
    """Lanes, width, bits a stage, and arrays: a divisor and elements (dividend, value)."""
    lanes = draw(st.integers(1, 4))
    width = draw(st.sampled_from([1, 4, 9, 32, 62]))
    small_or_large = st.integers(0, min(5, (1 << width) - 1)) | st.integers(0, (1 << width) - 1)
    element = st.tuples(small_or_large, values())
    arrays = st.lists(st.tuples(small_or_large, st.lists(element, max_size=9)), max_size=5)
    return lanes, width, draw(st.integers(1, width)), draw(arrays)


def rows_in(lanes, arrays):
    return rows_of(lanes, [[(dividend, 7, value) for dividend, value in elements] for _, elements in arrays])


def inputs_of(lanes, arrays):
    divisors = [(0, divisor, 0, 0.0) for divisor, _ in arrays]
    return {"divisors": divisors} | by_lane("dividends", lanes, rows_in(lanes, arrays))


def outputs_of(lanes):
    return [f"results[{lane}]" for lane in range(lanes)]


def divided(width, arrays):
    """What a divider makes of arrays: the reference."""
    return [
        [
            (*(divmod(dividend, divisor) if divisor else ((1 << width) - 1, dividend)), value)
            for dividend, value in elements
        ]
        for divisor, elements in arrays
    ]


def divider(lanes=1, width=32, bits_per_stage=1, **options):
    return lambda: Divider("divider", lanes, width, bits_per_stage, **options)


def check_divider(make, arrays, **bench):
    block = make()
    lanes = block.lanes
    outcome = run_block(block, inputs_of(lanes, arrays), outputs_of(lanes), **bench)
    expected = by_lane("results", lanes, rows_of(lanes, divided(block.width, arrays)))
    assert {port: outcome.tokens(port) for port in expected} == expected
    assert outcome.statistics["divider"].counters == {
        "rows": len(rows_in(lanes, arrays)),
        "divide": sum(len(elements) for _, elements in arrays),
        "by_zero": sum(len(elements) for divisor, elements in arrays if divisor == 0),
    }
    return outcome


def cycles_of(outcome, port="results[0]"):
    return [cycle for cycle, _ in outcome.received[port]]


def positions(count):
    return [(number, float(number)) for number in range(count)]


class TestTiming:
    @pytest.mark.parametrize("registered", [True, False])
    @pytest.mark.parametrize(("lanes", "bits_per_stage"), [(1, 1), (3, 3), (8, 4)])
    def test_the_first_results_are_out_after_the_depth_and_one_row_a_cycle_after_that(
        self, lanes, bits_per_stage, registered
    ):
        """Without the last register the depth is a stage less."""
        arrays = [(7, positions(50 * lanes)), (3, []), (0, positions(20 * lanes - 1))]
        make = partial(Divider, "divider", lanes, 32, bits_per_stage, registered=registered)
        outcome = check_divider(make, arrays)
        stages, rows = depth(32, bits_per_stage) - (not registered), 51 + 1 + 20
        # Pushed at 0, seen and taken at 1, out at 1 + depth, seen by the sinks a cycle later.
        for port in outputs_of(lanes):
            assert cycles_of(outcome, port) == list(range(2 + stages, 2 + stages + rows))
        check_accounting_of(outcome, "divider", busy=rows + stages, idle=2, input_stall={}, output_stall={})

    def test_a_position_becomes_row_and_column(self):
        outcome = check_divider(divider(2, 8, 4), [(10, [(23, 1.5), (99, 2.5), (7, 4.5)]), (4, [(23, 3.5)])])
        assert outcome.received["results[0]"] == [
            (4, (DATA, 2, 3, 1.5)), (5, (DATA, 0, 7, 4.5)), (6, (DATA, 5, 3, 3.5)),
        ]  # fmt: skip
        assert outcome.received["results[1]"] == [(4, (DATA, 9, 9, 2.5)), (5, STOP_TOKEN), (6, STOP_TOKEN)]

    @pytest.mark.parametrize(
        ("width", "bits_per_stage", "stages"), [(32, 1, 32), (32, 2, 16), (32, 5, 7), (32, 32, 1), (1, 1, 1)]
    )
    def test_depth(self, width, bits_per_stage, stages):
        assert depth(width, bits_per_stage) == stages
        assert Divider("divider", 8, width, bits_per_stage).pipeline.depth == stages

    @pytest.mark.parametrize("late", ["divisors", "dividends[0]", "dividends[1]"])
    def test_what_is_late_is_waited_for(self, late):
        kernel = Kernel()
        kernel.clock("core", 10**9)
        block = kernel.add(Divider("divider", 2, 8, 8))
        for port, tokens in inputs_of(2, [(3, [])]).items():
            source = kernel.add(StreamSource(port, tokens))
            kernel.connect(source, "out", block, port, capacity=2, latency=20 if port == late else 1)
        for port in outputs_of(2):
            kernel.connect(block, port, kernel.add(StreamSink(f"sink.{port}")), "in", capacity=2)
        kernel.run()
        assert kernel.statistics()["divider"].input_stall == {late: 19}  # cycles 1 to 19

    def test_a_divisor_alone_waits_for_dividends_and_so_does_an_array_within(self):
        statistics = run_paused([(3, [(5, 0.0)])], pause=9)
        # In at 1, out at 2, the stop is seen at 11: waits from 3 to 10; in at 11, out at 12.
        assert (statistics.input_stall, statistics.busy) == ({"dividends[0]": 8}, 4)
        statistics = run_paused([(3, []), (3, [])], pause=9)
        assert (statistics.input_stall, statistics.busy) == ({"dividends[0]": 8}, 4)


def run_paused(arrays, pause):
    """The statistics of a run of one lane whose dividends come with a pause after each."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    block = kernel.add(Divider("divider", 1, 8, 8))
    for port, tokens in inputs_of(1, arrays).items():
        source = kernel.add(StreamSource(port, tokens, (0,) if port == "divisors" else (pause,)))
        kernel.connect(source, "out", block, port, capacity=2)
    kernel.connect(block, "results[0]", kernel.add(StreamSink("sink")), "in", capacity=2)
    kernel.run()
    return kernel.statistics()["divider"]


class TestDivisions:
    @pytest.mark.parametrize("registered", [True, False])
    @given(batch=batches(), size=sizes, seed=stall_seeds)
    def test_divides_any_arrays_under_any_stalls(self, registered, batch, size, seed):
        lanes, width, bits_per_stage, arrays = batch
        make = divider(lanes, width, bits_per_stage, registered=registered)
        check_divider(make, arrays, seed=seed, **size)
        check_laws(make, inputs_of(lanes, arrays), outputs_of(lanes), seeds=[seed], **size)

    @pytest.mark.parametrize("width", [1, 8, 62])
    def test_division_by_zero_is_that_of_risc_v(self, width):
        largest = (1 << width) - 1
        outcome = check_divider(divider(1, width), [(0, [(0, 1.0), (1, 1.0), (largest, 1.0)])])
        assert outcome.tokens("results[0]")[:-1] == [
            (DATA, largest, 0, 1.0),
            (DATA, largest, 1, 1.0),
            (DATA, largest, largest, 1.0),
        ]

    def test_all_of_a_small_width(self):
        arrays = [(divisor, [(dividend, 0.0) for dividend in range(32)]) for divisor in range(32)]
        check_divider(divider(3, 5, 2), arrays)

    def test_planted_a_divider_that_keeps_the_first_divisor(self):
        class Keeps(Divider):
            def elaborate(self):
                super().elaborate()
                self.loads = self.channel("divisors")

            def tick(self, now):
                if self.loads.can_pop() and self.loads.pops:
                    self.loads.pop()
                return super().tick(now)

        with pytest.raises((AssertionError, SimulationError)):
            check_divider(lambda: Keeps("divider"), [(3, positions(10)), (5, positions(10))])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "divider: lanes must be from 1 to 256, not 0"),
        ((1, 0, 1), "divider: width must be from 1 to 62, not 0"),
        ((1, 63, 1), "divider: width must be from 1 to 62, not 63"),
        ((1, 8, 0), "divider: bits_per_stage must be from 1 to 8, its width, not 0"),
        ((1, 8, 9), "divider: bits_per_stage must be from 1 to 8, its width, not 9"),
    ],
)
def test_what_cannot_be_built_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Divider("divider", *arguments)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ((256, []), "divider: 256 at divisors is no unsigned integer of 8 bits"),
        ((-1, []), "divider: -1 at divisors is no unsigned integer of 8 bits"),
        ((1, [(300, 0.0)]), r"divider: 300 at dividends\[0\] is no unsigned integer of 8 bits"),
        ((1, [(2, 0.0), (-2, 0.0)]), r"divider: -2 at dividends\[1\] is no unsigned integer of 8 bits"),
    ],
)
def test_a_number_that_does_not_fit_is_refused(array, message):
    with pytest.raises(SimulationError, match=message):
        run_block(Divider("divider", 2, 8), inputs_of(2, [array]), outputs_of(2))
