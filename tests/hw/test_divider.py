"""The divider: every cycle of short runs by hand, long ones against divmod and against a list of stages."""

import pytest
from fibers import ROOM, STOP_TOKEN, check_accounting_of, pushed_at, stalls_of, values
from hypothesis import given, settings
from hypothesis import strategies as st
from staged import ClosesUp, Staged, check_same_cycles, taken
from streams import StreamSink, StreamSource, check_laws, run_block

from hw.divider import Divider, depth, subtractors
from hw.stream import DATA
from sim import Kernel, SimulationError

sizes = st.fixed_dictionaries({"capacity": st.integers(1, 5), "latency": st.integers(1, 4)})
stall_seeds = st.none() | st.integers(0, 1000)


@st.composite
def batches(draw):
    """Width, bits a stage, and fibers: a divisor and elements (dividend, value)."""
    width = draw(st.sampled_from([1, 4, 9, 32, 62]))
    small_or_large = st.integers(0, min(5, (1 << width) - 1)) | st.integers(0, (1 << width) - 1)
    element = st.tuples(small_or_large, values())
    fibers = st.lists(st.tuples(small_or_large, st.lists(element, max_size=8)), max_size=5)
    return width, draw(st.integers(1, width)), draw(fibers)


def inputs_of(fibers):
    dividends = []
    for _, elements in fibers:
        dividends += [(DATA, dividend, 7, value) for dividend, value in elements] + [STOP_TOKEN]
    return {"divisors": [(0, divisor, 0, 0.0) for divisor, _ in fibers], "dividends": dividends}


def divided(width, fibers):
    """What a divider makes of fibers: the reference."""
    tokens = []
    for divisor, elements in fibers:
        for dividend, value in elements:
            quotient, remainder = divmod(dividend, divisor) if divisor else ((1 << width) - 1, dividend)
            tokens.append((DATA, quotient, remainder, value))
        tokens.append(STOP_TOKEN)
    return tokens


def divider(width=32, bits_per_stage=1):
    return lambda: Divider("divider", width, bits_per_stage)


def check_divider(make, width, fibers, **bench):
    outcome = run_block(make(), inputs_of(fibers), ["results"], **bench)
    assert outcome.tokens("results") == divided(width, fibers)
    assert outcome.statistics["divider"].counters == {
        "divide": sum(len(elements) for _, elements in fibers),
        "by_zero": sum(len(elements) for divisor, elements in fibers if divisor == 0),
    }
    return outcome


def cycles_of(outcome):
    return [cycle for cycle, _ in outcome.received["results"]]


def positions(count):
    return [(number, float(number)) for number in range(count)]


class TestTiming:
    @pytest.mark.parametrize("bits_per_stage", [1, 3, 4, 32])
    def test_the_first_result_is_out_after_the_depth_and_one_a_cycle_after_that(self, bits_per_stage):
        fibers = [(7, positions(100)), (3, []), (0, positions(20))]
        outcome = check_divider(divider(32, bits_per_stage), 32, fibers)
        stages = depth(32, bits_per_stage)
        # Pushed at 0, seen and taken at 1, out at 1 + depth, seen by the sink a cycle later.
        assert cycles_of(outcome) == list(range(2 + stages, 2 + stages + 123))
        check_accounting_of(outcome, "divider", busy=123 + stages, idle=2, input_stall={}, output_stall={})

    def test_a_position_becomes_row_and_column(self):
        outcome = check_divider(divider(8, 4), 8, [(10, [(23, 1.5), (99, 2.5)]), (4, [(23, 3.5)])])
        assert outcome.received["results"] == [
            (4, (DATA, 2, 3, 1.5)), (5, (DATA, 9, 9, 2.5)), (6, STOP_TOKEN),
            (7, (DATA, 5, 3, 3.5)), (8, STOP_TOKEN),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("width", "bits_per_stage", "stages"), [(32, 1, 32), (32, 2, 16), (32, 5, 7), (32, 32, 1), (1, 1, 1)]
    )
    def test_depth_and_subtractors(self, width, bits_per_stage, stages):
        assert depth(width, bits_per_stage) == stages
        assert Divider("divider", width, bits_per_stage).pipeline.depth == stages
        assert subtractors(width) == width

    def test_it_sleeps_until_the_oldest_leaves(self):
        class Counting(Divider):
            ticks = 0

            def tick(self, now):
                Counting.ticks += 1
                return super().tick(now)

        run_block(Counting("divider", 62), inputs_of([(3, [])]), ["results"])
        # A first look at 0; the stop in at 1, nothing to do at 2; out at 63, nothing to do at 64.
        assert Counting.ticks == 5

    def test_a_dividend_waits_for_its_divisor_and_a_divisor_for_its_dividend(self):
        outcomes = {}
        for late in ("divisors", "dividends"):
            kernel = Kernel()
            kernel.clock("core", 10**9)
            block = kernel.add(Divider("divider", 8, 8))
            for port, tokens in inputs_of([(3, [])]).items():
                source = kernel.add(StreamSource(port, tokens))
                latency = 20 if port == late else 1
                kernel.connect(source, "out", block, port, capacity=2, latency=latency)
            kernel.connect(block, "results", kernel.add(StreamSink("sink")), "in", capacity=2)
            kernel.run()
            outcomes[late] = kernel.statistics()["divider"].input_stall
        assert outcomes == {"divisors": {"divisors": 19}, "dividends": {"dividends": 19}}

    def test_within_a_fiber_it_waits_for_dividends_not_idle(self):
        outcome = run_paused([(3, [(5, 0.0)])], pause=9)
        statistics = outcome["divider"]
        # In at 1, out at 2, the stop is seen at 11: waits from 3 to 10; in at 11, out at 12.
        assert (statistics.input_stall, statistics.busy) == ({"dividends": 8}, 4)

    @settings(max_examples=150, deadline=None)
    @given(batch=batches(), latency=st.integers(1, 4), seed=stall_seeds)
    def test_each_token_leaves_depth_cycles_after_it_may_enter(self, batch, latency, seed):
        width, bits_per_stage, fibers = batch
        check_timing(divider(width, bits_per_stage), depth(width, bits_per_stage), fibers, seed, latency)

    def test_planted_a_divider_at_half_the_rate(self):
        class PausesAfterEach(Divider):
            def tick(self, now):
                return super().tick(now) if now % 2 else self.busy(now + 1)

        fibers = [(3, positions(3))]
        check_divider(lambda: PausesAfterEach("divider", 8, 2), 8, fibers)
        with pytest.raises(AssertionError):
            check_timing(lambda: PausesAfterEach("divider", 8, 2), 4, fibers, None, 1)


def run_paused(fibers, pause):
    """The statistics of a run whose dividends come with a pause after each."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    block = kernel.add(Divider("divider", 8, 8))
    for port, tokens in inputs_of(fibers).items():
        kernel.connect(kernel.add(StreamSource(port, tokens, (pause,))), "out", block, port, capacity=2)
    kernel.connect(block, "results", kernel.add(StreamSink("sink")), "in", capacity=2)
    kernel.run()
    return kernel.statistics()


def entered(fibers, seed, latency):
    """Cycles in which tokens enter if nothing ever fills: when they are seen, one a cycle."""
    inputs = inputs_of(fibers)
    divisors, dividends = (
        iter([cycle + latency for cycle in pushed_at(len(tokens), seed, number)])
        for number, tokens in enumerate(inputs.values())
    )
    cycles, last, within = [], -1, False
    for control, *_ in inputs["dividends"]:
        last = max(last + 1, next(dividends), 0 if within else next(divisors))
        cycles.append(last)
        within = control == DATA
    return cycles


def check_timing(make, stages, fibers, seed, latency):
    kernel = Kernel()
    kernel.clock("core", 10**9)
    block = kernel.add(make())
    for number, (port, tokens) in enumerate(inputs_of(fibers).items()):
        source = kernel.add(StreamSource(port, tokens, stalls_of(seed, number)))
        kernel.connect(source, "out", block, port, capacity=ROOM, latency=latency)
    sink = kernel.add(StreamSink("sink"))
    kernel.connect(block, "results", sink, "in", capacity=ROOM, latency=latency)
    kernel.run()
    assert [cycle - latency - stages for cycle, _ in sink.received] == entered(fibers, seed, latency)


class TestDivisions:
    @settings(max_examples=200, deadline=None)
    @given(batch=batches(), size=sizes, seed=stall_seeds)
    def test_divides_any_fibers_under_any_stalls(self, batch, size, seed):
        width, bits_per_stage, fibers = batch
        make = divider(width, bits_per_stage)
        check_divider(make, width, fibers, seed=seed, **size)
        check_laws(make, inputs_of(fibers), ["results"], seeds=[seed], **size)

    @settings(max_examples=150, deadline=None)
    @given(batch=batches(), size=sizes, seed=st.integers(0, 1000))
    def test_it_is_a_pipeline_of_real_stages(self, batch, size, seed):
        width, bits_per_stage, fibers = batch
        check_stages(divider(width, bits_per_stage), depth(width, bits_per_stage), fibers, seed, size)

    def test_planted_a_pipeline_of_another_depth(self):
        fibers, size = [(3, positions(40))], {"capacity": 2, "latency": 1}
        check_stages(divider(8, 2), 4, fibers, 5, size)
        with pytest.raises(AssertionError):
            check_stages(divider(8, 3), 4, fibers, 5, size)

    def test_planted_a_pipeline_whose_gaps_close_up(self):
        fibers, size = [(3, positions(80))], {"capacity": 1, "latency": 1}
        check_stages(divider(8, 1), 8, fibers, 5, size)
        with pytest.raises(AssertionError):
            check_stages(lambda: DividendsCloseUp("divider", 8), 8, fibers, 5, size)

    @pytest.mark.parametrize("width", [1, 8, 62])
    def test_division_by_zero_is_that_of_risc_v(self, width):
        largest = (1 << width) - 1
        outcome = check_divider(divider(width), width, [(0, [(0, 1.0), (1, 1.0), (largest, 1.0)])])
        assert outcome.tokens("results")[:-1] == [
            (DATA, largest, 0, 1.0),
            (DATA, largest, 1, 1.0),
            (DATA, largest, largest, 1.0),
        ]

    def test_all_of_a_small_width(self):
        fibers = [(divisor, [(dividend, 0.0) for dividend in range(32)]) for divisor in range(32)]
        check_divider(divider(5, 2), 5, fibers)

    def test_planted_a_divider_that_keeps_the_first_divisor(self):
        class Keeps(Divider):
            def elaborate(self):
                super().elaborate()
                self.loads = self.channel("divisors")

            def tick(self, now):
                if self.loads.can_pop() and self.loads.pops:
                    self.loads.pop()
                return super().tick(now)

        fibers = [(3, positions(10)), (5, positions(10))]
        with pytest.raises((AssertionError, SimulationError)):
            check_divider(lambda: Keeps("divider", 8), 8, fibers)


def check_stages(make, stages, fibers, seed, size):
    """Compare cycle by cycle with a list of stages that moves, or does not, as a whole."""
    inputs = inputs_of(fibers)
    model = run_block(StagedDividends("divider", stages), inputs, ["results"], seed=seed, **size)
    check_same_cycles(run_block(make(), inputs, ["results"], seed=seed, **size), model)


class StagedDividends(Staged):
    PORTS = Divider.PORTS

    def elaborate(self):
        self.loads, self.source = self.channel("divisors"), self.channel("dividends")
        self.sinks = self.channels("results")
        self.within = False

    def enters(self):
        return self.source.can_pop() and (self.within or self.loads.can_pop())

    def take(self):
        if not self.within:
            self.loads.pop()
        token = taken(self.source)
        self.within = token[0] == DATA
        return [token]


class DividendsCloseUp(StagedDividends, ClosesUp):
    pass


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1), "divider: width must be from 1 to 62, not 0"),
        ((63, 1), "divider: width must be from 1 to 62, not 63"),
        ((8, 0), "divider: bits_per_stage must be from 1 to 8, its width, not 0"),
        ((8, 9), "divider: bits_per_stage must be from 1 to 8, its width, not 9"),
    ],
)
def test_what_cannot_be_built_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Divider("divider", *arguments)


@pytest.mark.parametrize(
    ("fiber", "message"),
    [
        ((256, []), "divider: 256 at divisors is no unsigned integer of 8 bits"),
        ((-1, []), "divider: -1 at divisors is no unsigned integer of 8 bits"),
        ((1, [(300, 0.0)]), "divider: 300 at dividends is no unsigned integer of 8 bits"),
        ((1, [(-2, 0.0)]), "divider: -2 at dividends is no unsigned integer of 8 bits"),
    ],
)
def test_a_number_that_does_not_fit_is_refused(fiber, message):
    with pytest.raises(SimulationError, match=message):
        run_block(Divider("divider", 8), inputs_of([fiber]), ["results"])
