"""The level scanner: short fibers cycle by cycle, any others against lists, and before an intersector."""

from itertools import pairwise

import pytest
from fibers import ROOM, STOP_TOKEN, check_accounting_of, fiber_tokens, pushed_at, stalls_of
from hypothesis import given
from hypothesis import strategies as st
from intersect_model import extensor_steps
from levels import fibers_of_a_level, level_of, scan, scanned, scanned_tokens
from scanning import intersect_levels, references

from fiberscope.hw.fibers.intersect import TwoFingerIntersector
from fiberscope.hw.fibers.level import Level
from fiberscope.hw.fibers.scanner import LevelScanner
from fiberscope.hw.stream import DATA, FIBER_NUMBERS, STOP
from fiberscope.sim import Kernel, SimulationError
from fiberscope.sim.testing import StreamSink, StreamSource, check_accounting, check_laws, run_block

TEN = [[(coordinate, float(coordinate)) for coordinate in range(10)]]
stall_seeds = st.none() | st.integers(0, 1000)
sizes = st.fixed_dictionaries({"capacity": st.integers(1, 5), "latency": st.integers(1, 4)})
skip_tokens = st.lists(
    st.tuples(st.sampled_from([DATA, DATA, STOP]), st.integers(0, 26), st.integers(0, 3), st.just(0.0)),
    max_size=6,
)


@st.composite
def scans(draw):
    """A level's fibers, and which of them are scanned."""
    fibers = draw(fibers_of_a_level())
    return fibers, draw(st.lists(st.integers(0, len(fibers) - 1), max_size=6))


@st.composite
def intersections(draw):
    """Two levels, of which one may be far sparser, and pairs of their fibers."""
    a, b = (draw(fibers_of_a_level(span)) for span in draw(st.sampled_from([(9, 9), (60, 60), (60, 9)])))
    fiber_a, fiber_b = st.integers(0, len(a) - 1), st.integers(0, len(b) - 1)
    return a, b, draw(st.lists(st.tuples(fiber_a, fiber_b), max_size=6))


def scanner(fibers, window=1):
    return lambda: LevelScanner("scanner", level_of(fibers), window)


def check_scanner(make, fibers, numbers, **bench):
    outcome = run_block(make(), {"references": references(numbers)}, ["elements"], **bench)
    assert outcome.tokens("elements") == scanned_tokens(fibers, numbers)
    return outcome


def scan_with_skips(make, tokens, skips, *, at, capacity=ROOM, latency=1):
    """Tokens with their cycles, counters and cycles of output stall, where skips come in given cycles."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    block, sink = kernel.add(make()), kernel.add(StreamSink("sink"))
    source = kernel.add(StreamSource("source", tokens))
    pauses = [later - earlier - 1 for earlier, later in pairwise(at)]
    teller = kernel.add(StreamSource("teller", skips, pauses or (0,)))
    kernel.connect(source, "out", block, "references", capacity=ROOM, latency=latency)
    kernel.connect(teller, "out", block, "skips", capacity=ROOM, latency=at[0] if at else 1)
    kernel.connect(block, "elements", sink, "in", capacity=capacity, latency=latency)
    kernel.run()
    check_accounting(kernel.statistics())
    part = kernel.statistics()["scanner"]
    return sink.received, part.counters | {"stalled": sum(part.output_stall.values())}


def test_every_cycle_of_short_fibers():
    fibers = [[(3, 1.5), (5, 2.5)], [], [(4, 3.5)]]
    outcome = check_scanner(scanner(fibers), fibers, [0, 1, 2])
    # The first reference is seen at 1, when the first element leaves; a token a cycle from then on.
    assert outcome.received["elements"] == [
        (2, (DATA, 3, 0, 1.5)),
        (3, (DATA, 5, 1, 2.5)),
        (4, STOP_TOKEN),
        (5, STOP_TOKEN),
        (6, (DATA, 4, 2, 3.5)),
        (7, STOP_TOKEN),
    ]
    check_accounting_of(outcome, "scanner", busy=6, idle=2, input_stall={}, output_stall={})


def test_a_fiber_may_be_scanned_again_and_stops_among_references_give_nothing():
    tokens = [*references([0]), STOP_TOKEN, *references([0])]
    outcome = run_block(scanner([[(7, 1.0)]])(), {"references": tokens}, ["elements"])
    assert [(cycle, token[0]) for cycle, token in outcome.received["elements"]] == [
        (2, DATA), (3, STOP), (5, DATA), (6, STOP),
    ]  # fmt: skip


def test_a_level_without_values_gives_zeros():
    block = LevelScanner("scanner", Level([0, 2], [4, 6]))
    outcome = run_block(block, {"references": references([0])}, ["elements"])
    assert outcome.tokens("elements") == fiber_tokens([(4, 0, 0.0), (6, 1, 0.0)])


@pytest.mark.parametrize("latency", [1, 2, 5])
def test_one_element_a_cycle_with_a_capacity_of_latency_plus_one(latency):
    fibers = [[(coordinate, 1.0) for coordinate in range(300)]]
    outcome = check_scanner(scanner(fibers), fibers, [0], capacity=latency + 1, latency=latency)
    assert outcome.received["elements"][-1][0] == 300 + 2 * latency


@given(scan_of=scans(), size=sizes, seed=stall_seeds, window=st.integers(1, 4))
def test_scans_anything_under_any_stalls(scan_of, size, seed, window):
    fibers, numbers = scan_of
    outcome = check_scanner(scanner(fibers, window), fibers, numbers, seed=seed, **size)
    counters = outcome.statistics["scanner"].counters
    assert counters["elements"] == sum(len(fibers[number]) for number in numbers)
    assert (counters["fibers"], counters["skipped"]) == (len(numbers), 0)
    inputs = {"references": references(numbers)}
    check_laws(scanner(fibers, window), inputs, ["elements"], seeds=[seed], **size)


class TestSkips:
    def test_a_window_a_cycle_is_passed_over(self):
        skip = [(DATA, 8, 0, 0.0)]
        received, counters = scan_with_skips(scanner(TEN, 3), references([0]), skip, at=[3])
        # 0 and 1 leave at 1 and 2; the skip is seen at 3: 2, 3, 4 go at 3, 5, 6, 7 at 4, and 8 leaves at 5.
        assert [(cycle, token[1]) for cycle, token in received] == [(2, 0), (3, 1), (6, 8), (7, 9), (8, 0)]
        assert counters["skipped"] == 6
        assert (counters["skips"], counters["late_skips"]) == (1, 0)

    def test_what_stands_behind_the_skipped_in_the_window_leaves_in_the_same_cycle(self):
        received, _ = scan_with_skips(scanner(TEN, 3), references([0]), [(DATA, 4, 0, 0.0)], at=[3])
        assert [(cycle, token[1]) for cycle, token in received][2:4] == [(4, 4), (5, 5)]

    def test_the_rest_is_skipped_at_once(self):
        skip = [(STOP, 0, 0, 0.0)]
        received, counters = scan_with_skips(scanner(TEN), references([0]), skip, at=[3])
        assert received[2:] == [(4, STOP_TOKEN)]
        assert counters["skipped"] == 8

    def test_a_late_skip_changes_nothing(self):
        fibers = [[(1, 1.0)], TEN[0]]
        tokens = references([0, 1])
        late = [(STOP, 0, 0, 0.0), (DATA, 9, 2, 0.0), (DATA, 9, 0, 0.0)]
        received, counters = scan_with_skips(scanner(fibers), tokens, late, at=[3, 4, 90])
        assert [token for _, token in received] == scanned_tokens(fibers, [0, 1])
        assert (counters["skips"], counters["late_skips"]) == (0, 3)

    def test_skips_are_heeded_while_the_output_is_full(self):
        skip = [(DATA, 7, 0, 0.0)]
        received, _ = scan_with_skips(scanner(TEN, 2), references([0]), skip, at=[6], capacity=1, latency=4)
        # 0 leaves at 4 and is taken at 8; the next one leaves at 9. 1 to 6 are passed over at 6, 7 and 8.
        assert [(cycle, token[1]) for cycle, token in received][:2] == [(8, 0), (13, 7)]

    def test_heeding_a_skip_counts_as_busy_while_the_output_is_full(self):
        skip = [(STOP, 0, 0, 0.0)]
        received, counters = scan_with_skips(
            scanner(TEN), references([0]), skip, at=[6], capacity=1, latency=4
        )
        assert [(cycle, token[0]) for cycle, token in received] == [(8, DATA), (13, STOP)]
        assert (counters["skips"], counters["stalled"]) == (1, 3)  # at 5, 7 and 8

    def test_the_number_of_a_fiber_wraps(self):
        numbers = [0] * (FIBER_NUMBERS + 3) + [1]
        late, own = (STOP, 0, 2, 0.0), (STOP, 0, 3, 0.0)
        at = [FIBER_NUMBERS + 5, FIBER_NUMBERS + 6]
        fibers = [[], TEN[0]]
        received, counters = scan_with_skips(scanner(fibers), references(numbers), [late, own], at=at)
        assert (counters["late_skips"], counters["skips"], counters["skipped"]) == (1, 1, 8)
        assert len(received) == len(numbers) + 2

    @given(scan_of=scans(), skips=skip_tokens, size=sizes, seed=stall_seeds, window=st.integers(1, 4))
    def test_neither_sleep_nor_order_changes_anything(self, scan_of, skips, size, seed, window):
        inputs = {"references": references(scan_of[1]), "skips": skips}
        check_laws(scanner(scan_of[0], window), inputs, ["elements"], seeds=[seed], **size)

    @given(scan_of=scans(), skips=skip_tokens, seed=stall_seeds, window=st.integers(1, 4))
    def test_each_token_leaves_in_the_first_cycle_that_it_can(self, scan_of, skips, seed, window):
        check_timing(scanner(scan_of[0], window), scan, *scan_of, skips, seed, window)


def check_timing(make, model, fibers, numbers, skips, seed, window):
    """Every element in the cycle that the model says, where no channel ever fills."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    block, sink = kernel.add(make()), kernel.add(StreamSink("sink"))
    seen = []
    for number, (port, tokens) in enumerate((("references", references(numbers)), ("skips", skips))):
        source = kernel.add(StreamSource(port, tokens, stalls_of(seed, number)))
        kernel.connect(source, "out", block, port, capacity=ROOM)
        seen.append([cycle + 1 for cycle in pushed_at(len(tokens), seed, number)])
    kernel.connect(block, "elements", sink, "in", capacity=ROOM)
    kernel.run()
    found = [(cycle - 1, token[0], token[1]) for cycle, token in sink.received]
    coming, told = zip(seen[0], numbers, strict=True), zip(seen[1], skips, strict=True)
    assert found == model(fibers, coming, told, window)


class TestBeforeAnIntersector:
    @given(case=intersections(), window=st.integers(1, 5), size=sizes, seed=stall_seeds, told=st.booleans())
    def test_the_matches_and_the_steps_are_the_same_with_skips(self, case, window, size, seed, told):
        check_intersection(*case, window=window, seed=seed, skips=told, **size)

    @given(case=intersections(), window=st.integers(1, 5), size=sizes, seed=stall_seeds)
    def test_neither_sleep_nor_order_changes_anything(self, case, window, size, seed):
        a, b, pairs = case
        levels = level_of(a), level_of(b), pairs
        size = size | {"window": window, "seed": seed}
        expected = intersect_levels(*levels, **size)
        check_accounting(expected.statistics)
        for options in ({"sleep": False}, {"order_seed": 1}, {"sleep": False, "order_seed": 2}):
            assert intersect_levels(*levels, **size, **options) == expected

    def test_skips_told_to_the_scanners_save_most_cycles_of_a_long_fiber(self):
        dense = [[(coordinate, 1.0) for coordinate in range(1000)]]
        sparse = [[(coordinate, 1.0) for coordinate in range(0, 1000, 100)]]
        plain = check_intersection(dense, sparse, [(0, 0)], window=32, skips=False)
        told = check_intersection(dense, sparse, [(0, 0)], window=32)
        assert plain.run.cycles > 900  # an element a cycle comes up to the last match, at 900
        assert told.run.cycles < 0.2 * plain.run.cycles
        skipped = told.statistics["scanner_a"].counters
        assert skipped["elements"] + skipped["skipped"] == 1000
        assert skipped["skipped"] > 800

    def test_two_fingers_need_no_skips(self):
        level = level_of(TEN)
        two = TwoFingerIntersector("intersector")
        outcome = intersect_levels(level, level, [(0, 0)], intersector=two, skips=False)
        assert outcome.statistics["intersector"].counters["intersect"] == 10


def check_intersection(a, b, pairs, **bench):
    outcome = intersect_levels(level_of(a), level_of(b), pairs, **bench)
    expected_a, expected_b, steps = [], [], 0
    for number_a, number_b in pairs:
        in_a, in_b = ({c for c, _ in fiber} for fiber in (a[number_a], b[number_b]))
        expected_a += fiber_tokens(e for e in scanned(a, number_a) if e[0] in in_b)
        expected_b += fiber_tokens(e for e in scanned(b, number_b) if e[0] in in_a)
        steps += extensor_steps(sorted(in_a), sorted(in_b))
    assert [token for _, token in outcome.matches_a] == expected_a
    assert [token for _, token in outcome.matches_b] == expected_b
    assert outcome.statistics["intersector"].counters["intersect"] == steps
    return outcome


def test_planted_the_model_of_another_window_is_found():
    skips = [(DATA, 9, 3, 0.0), (DATA, 9, 0, 0.0)]  # of another fiber, and of this one
    check_timing(scanner(TEN, 2), scan, TEN, [0], skips, None, 2)
    with pytest.raises(AssertionError):
        check_timing(scanner(TEN, 2), scan, TEN, [0], skips, None, 3)


def test_planted_a_scanner_of_another_level_is_found():
    with pytest.raises(AssertionError):
        check_scanner(scanner([[(1, 1.0), (3, 1.0)]]), [[(1, 1.0), (2, 1.0)]], [0])


@pytest.mark.parametrize("reference", [-1, 2])
def test_a_reference_to_no_fiber_is_refused(reference):
    message = f"scanner: reference {reference} names no fiber; the level has 2, from 0 on"
    with pytest.raises(SimulationError, match=message):
        run_block(scanner([[], []])(), {"references": references([reference])}, ["elements"])


def test_a_window_that_shows_nothing_is_refused():
    with pytest.raises(ValueError, match="scanner: window must be at least 1, not 0"):
        LevelScanner("scanner", Level([0], []), 0)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([], []), "segments must begin with 0 and end with 0, the number of coordinates"),
        (([1, 2], [3, 4]), "segments must begin with 0 and end with 2, the number of coordinates"),
        (([0, 1], [3, 4]), "segments must begin with 0 and end with 2, the number of coordinates"),
        (([0, 2, 1, 3], [1, 2, 3]), "fiber 1 ends before it begins"),
        (([0, 1, 3], [9, 4, 4]), "the coordinates of fiber 1 do not increase"),
        (([0, 2], [1, 2], [0.5]), "1 values for 2 coordinates"),
    ],
)
def test_arrays_that_make_no_level_are_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        Level(*arrays)
