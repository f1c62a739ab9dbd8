"""The high-radix merger: short merges cycle by cycle, any others against sorting."""

import random
from itertools import count

import pytest
from fibers import STOP_TOKEN, check_accounting_of, fiber_tokens, values
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.fibers.merge import PHASES, RADIX, HighRadixMerger, fan_ins, nodes_of
from fiberscope.hw.stream import DATA
from fiberscope.sim import Kernel, SimulationError
from fiberscope.sim.testing import StreamSink, StreamSource, check_laws, run_block

NEW, ENDED = -1, 1 << 62  # heads that are not seen yet, and stops

stall_seeds = st.none() | st.integers(0, 1000)


def inputs_of(radix, merges):
    """Tokens at each port; a merge is a list of fibers, one for each way that takes part."""
    inputs = {"tasks": [(0, len(merge), 0, 0.0) for merge in merges]}
    for way in range(radix):
        fibers = [merge[way] for merge in merges if way < len(merge)]
        inputs[f"ways[{way}]"] = [token for fiber in fibers for token in fiber_tokens(fiber)]
    return inputs


def merged(merges):
    """What the merger makes of merges: the reference."""
    tokens = []
    for merge in merges:
        keyed = [(element[0], way, element) for way, fiber in enumerate(merge) for element in fiber]
        tokens += fiber_tokens(element for _, _, element in sorted(keyed, key=lambda item: item[:2]))
    return tokens


def check_merger(make, radix, merges, **bench):
    outcome = run_block(make(), inputs_of(radix, merges), ["merged"], **bench)
    assert outcome.tokens("merged") == merged(merges)
    counters = outcome.statistics["merger"].counters
    assert counters == {
        "merges": len(merges),
        "merged_elements": sum(len(fiber) for merge in merges for fiber in merge),
    }
    return outcome


def merger(radix, stages=1):
    return lambda: HighRadixMerger("merger", radix, stages)


def fiber_of(*coordinates):
    return [(coordinate, 10 + coordinate, float(coordinate)) for coordinate in coordinates]


def random_fibers(generator, count, length, span):
    return [
        [(coordinate, generator.randrange(1 << 40), generator.random()) for coordinate in coordinates]
        for coordinates in (sorted(generator.sample(range(span), length)) for _ in range(count))
    ]


@st.composite
def fibers(draw, span):
    coordinates = sorted(draw(st.sets(st.integers(0, span), max_size=6)))
    return [
        (coordinate, draw(st.integers(-(1 << 62), 1 << 62)), draw(values())) for coordinate in coordinates
    ]


@st.composite
def batches(draw):
    radix = draw(st.integers(2, 9))
    span = draw(st.sampled_from([4, 20, (1 << 55) - 1]))
    merges = draw(st.lists(st.lists(fibers(span), max_size=radix), max_size=5))
    return radix, merges


sizes = st.fixed_dictionaries({"capacity": st.integers(1, 5), "latency": st.integers(1, 4)})


def test_every_cycle_of_a_short_merge():
    merge = [fiber_of(1, 5), fiber_of(1, 2), fiber_of()]
    outcome = check_merger(merger(3), 3, [merge])
    # All heads are seen at 1, when the first leaves; one more a cycle; the stop leaves at 5.
    assert outcome.received["merged"] == [
        (2, (DATA, 1, 11, 1.0)),
        (3, (DATA, 1, 11, 1.0)),
        (4, (DATA, 2, 12, 2.0)),
        (5, (DATA, 5, 15, 5.0)),
        (6, STOP_TOKEN),
    ]
    assert outcome.run.cycles == 7
    check_accounting_of(outcome, "merger", busy=5, idle=2, input_stall={}, output_stall={})


def test_the_stop_takes_a_cycle_and_the_next_merge_follows_at_once():
    merges = [[fiber_of(1)], [], [fiber_of(), fiber_of(0)]]
    outcome = check_merger(merger(2), 2, merges)
    assert [(cycle, token[0]) for cycle, token in outcome.received["merged"]] == [
        (2, 0), (3, 1),  # an element and its stop
        (4, 1),  # a merge of no ways
        (5, 0), (6, 1),
    ]  # fmt: skip


def test_it_waits_for_a_head_that_does_not_show_although_others_are_smaller():
    kernel = Kernel()
    kernel.clock("core", 10**9)
    block = kernel.add(HighRadixMerger("merger", 2))
    tokens = [[(0, 2, 0, 0.0)], fiber_tokens(fiber_of(1, 2)), fiber_tokens(fiber_of(9))]
    for port, latency, stream in zip(["tasks", "ways[0]", "ways[1]"], [1, 1, 20], tokens, strict=True):
        source = kernel.add(StreamSource(port, stream))
        kernel.connect(source, "out", block, port, capacity=4, latency=latency)
    sink = kernel.add(StreamSink("sink"))
    kernel.connect(block, "merged", sink, "in", capacity=4)
    kernel.run()
    assert [(cycle, token[1]) for cycle, token in sink.received] == [(21, 1), (22, 2), (23, 9), (24, 0)]
    assert kernel.statistics()["merger"].input_stall == {"ways[1]": 19}  # cycles 1 to 19


def test_a_full_output_is_an_output_stall():
    outcome = check_merger(merger(2), 2, [[fiber_of(1, 2, 3)]], capacity=1)
    # A capacity of 1: the output takes a token every other cycle, and so do the ways.
    assert [cycle for cycle, _ in outcome.received["merged"]] == [2, 4, 6, 8]
    check_accounting_of(outcome, "merger", busy=4, input_stall={"ways[0]": 3}, output_stall={})


@pytest.mark.parametrize("radix", range(RADIX[0], 65))
def test_one_element_a_cycle_at_every_radix(radix):
    generator = random.Random(radix)
    merges = [random_fibers(generator, radix, 12, 200), random_fibers(generator, radix, 4, 1 << 40)]
    outcome = check_merger(merger(radix), radix, merges)
    count = 16 * radix + 2
    assert [cycle for cycle, _ in outcome.received["merged"]] == list(range(2, 2 + count))
    check_accounting_of(outcome, "merger", busy=count, idle=2)


@pytest.mark.parametrize("latency", [1, 2, 5])
def test_one_element_a_cycle_from_a_single_way_with_a_capacity_of_latency_plus_one(latency):
    merges = [[fiber_of(*range(300)), fiber_of(*range(300, 600))]]
    outcome = check_merger(merger(2), 2, merges, capacity=latency + 1, latency=latency)
    assert outcome.received["merged"][-1][0] == 600 + 2 * latency


def test_the_largest_radix():
    generator = random.Random(0)
    merges = [random_fibers(generator, RADIX[1], 3, 40)]
    outcome = check_merger(merger(RADIX[1]), RADIX[1], merges)
    assert outcome.run.cycles == 3 * RADIX[1] + 3


@pytest.mark.parametrize("radix", [2, 3, 5, 8, 9, 33, 64])
def test_stages_delay_the_first_element_and_no_other(radix):
    generator = random.Random(radix)
    merges = [random_fibers(generator, radix, 12, 200), random_fibers(generator, radix, 4, 1 << 40)]
    levels = (radix - 1).bit_length()
    outcome = check_merger(merger(radix, stages=8), radix, merges)
    count = 16 * radix + 2
    assert [cycle for cycle, _ in outcome.received["merged"]] == list(range(1 + levels, 1 + levels + count))
    check_accounting_of(outcome, "merger", busy=count + levels - 1, idle=2)


def test_the_levels_are_shared_out_among_the_stages():
    assert fan_ins(64, 1) == (64,)
    assert fan_ins(64, 4) == (4, 4, 2, 2)
    assert fan_ins(64, 6) == fan_ins(64, 8) == (2,) * 6
    assert fan_ins(5, 2) == (4, 2)
    assert nodes_of(5, 2) == ((0, 4), (4, 1), (5, 2))


def test_a_way_that_shows_no_head_holds_up_only_its_node():
    kernel = Kernel()
    kernel.clock("core", 10**9)
    block = kernel.add(HighRadixMerger("merger", 4, 2))
    fibers = [fiber_of(1, 2, 3), fiber_of(5), fiber_of(9), fiber_of()]
    tokens = [[(0, 4, 0, 0.0)], *map(fiber_tokens, fibers)]
    for number, stream in enumerate(tokens):
        port = f"ways[{number - 1}]" if number else "tasks"
        source = kernel.add(StreamSource(f"source{number}", stream))
        kernel.connect(source, "out", block, port, capacity=4, latency=20 if number == 4 else 1)
    sink = kernel.add(StreamSink("sink"))
    kernel.connect(block, "merged", sink, "in", capacity=4)
    kernel.run()
    # Two elements have come into the buffer behind the first node when the last way shows its head, at 20.
    assert [(cycle, token[1]) for cycle, token in sink.received] == [
        (22, 1), (23, 2), (24, 3), (25, 5), (26, 9), (27, 0),
    ]  # fmt: skip
    statistics = kernel.statistics()["merger"]
    assert statistics.input_stall == {"ways[3]": 17}  # cycles 3 to 19
    assert statistics.busy == 2 + 7  # elements 1 and 2 leave their way at 1 and 2; 20 to 26


@given(batch=batches(), stages=st.integers(1, 4), size=sizes, seed=stall_seeds)
def test_merges_anything_under_any_stalls(batch, stages, size, seed):
    radix, merges = batch
    check_merger(merger(radix, stages), radix, merges, seed=seed, **size)
    check_laws(merger(radix, stages), inputs_of(radix, merges), ["merged"], seeds=[seed], **size)


@pytest.mark.parametrize("radix", [1, 0, -1, 257])
def test_a_radix_out_of_range_is_refused(radix):
    with pytest.raises(ValueError, match=f"merger: radix must be from 2 to 256, not {radix}"):
        HighRadixMerger("merger", radix)


def test_a_merger_without_a_stage_is_refused():
    with pytest.raises(ValueError, match="merger: stages must be at least 1, not 0"):
        HighRadixMerger("merger", 4, 0)


@pytest.mark.parametrize("fan_in", [3, -1])
def test_a_task_of_more_ways_than_there_are_is_refused(fan_in):
    inputs = inputs_of(2, []) | {"tasks": [(0, fan_in, 0, 0.0)]}
    with pytest.raises(SimulationError, match=f"merger: a task of {fan_in} ways, but it has 2"):
        run_block(HighRadixMerger("merger", 2), inputs, ["merged"])


@pytest.mark.parametrize("connected", [1, 3])
def test_ways_must_be_connected_as_the_radix_says(connected):
    with pytest.raises(SimulationError, match=f"merger: connect 2 ways, as its radix says, not {connected}"):
        run_block(HighRadixMerger("merger", 2), inputs_of(connected, []), ["merged"])


TIES = [[[(7, way, float(way))] for way in range(3)]]


class BreaksTiesBackwards(HighRadixMerger):
    def elaborate(self):
        self.connected["ways"].reverse()
        super().elaborate()


def test_planted_a_merger_that_breaks_ties_wrongly():
    with pytest.raises(AssertionError):
        check_merger(lambda: BreaksTiesBackwards("merger", 3), 3, TIES)


@given(st.randoms(use_true_random=False))
def test_signals_have_the_two_smallest_heads_of_the_ways(generator):
    kernel = Kernel()
    kernel.clock("core", 10**9)
    block = kernel.add(HighRadixMerger("merger", 4, generator.choice([1, 2])))
    merges = [random_fibers(generator, generator.randint(0, 4), generator.randint(0, 4), 6) for _ in range(3)]
    for number, (port, stream) in enumerate(inputs_of(4, merges).items()):
        source = kernel.add(StreamSource(f"source{number}", stream, [generator.randrange(3)]))
        kernel.connect(source, "out", block, port, capacity=4, latency=generator.randint(1, 4))
    sink = kernel.add(StreamSink("sink"))
    kernel.connect(block, "merged", sink, "in", capacity=4)
    for cycle in count(1):
        if kernel.run(cycle_limit=cycle).complete:
            break
        phase, _task, fan_in, alive, *smallest = block.sample()
        if block.merging == 0:
            assert (PHASES[phase], fan_in, alive, smallest) == ("idle", 0, 0, [-1] * 4)
            continue
        heads = sorted((head, way) for way, head in enumerate(block.heads[:fan_in]) if NEW < head < ENDED)
        is_loading = NEW in block.heads[:fan_in]
        assert PHASES[phase] == ("loading" if is_loading else "merging" if heads else "ending")
        assert alive == len(heads)
        (first, way), (second, rival) = [*heads, (-1, -1), (-1, -1)][:2]
        assert smallest == [way, first, rival, second]
    assert cycle > 1
