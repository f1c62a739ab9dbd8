"""Intersection over arrays against the blocks that intersect streams, and of masks against lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from intersect_model import held_scanner_steps, scanner_steps

from fiberscope.hw.fibers.arrays import integers_of, values_of
from fiberscope.hw.fibers.intersect import SkipAheadIntersector, TwoFingerIntersector
from fiberscope.hw.fibers.intersection import RULES, SKIP, FiberIntersection, MaskIntersector
from fiberscope.hw.fibers.scanner_pair import ScannerPair
from fiberscope.hw.stream import DATA, LAST, MET, STOP
from fiberscope.sim import SimulationError
from fiberscope.sim.testing import check_laws, run_block

TO_THE_MATCH = 1 << 62  # steps

long_fibers = st.sets(st.integers(0, 200), max_size=120).map(sorted)
fibers = st.one_of(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 5000), max_size=40)).map(sorted)


def block(*, skip):
    """The block that makes the same steps: windows that hold any fiber here, or two fingers."""
    return SkipAheadIntersector("block", 64) if skip else TwoFingerIntersector("block")


def by_block(pairs, *, skip):
    """Steps and matches of all pairs of fibers, as the block counts them."""
    streams = {
        port: [
            token for fibers in sides for token in (*((DATA, c, 0, 0.0) for c in fibers), (STOP, 0, 0, 0.0))
        ]
        for port, sides in zip(("a", "b"), zip(*pairs, strict=True), strict=True)
    }
    outcome = run_block(block(skip=skip), streams, ["matches_a", "matches_b"])
    matches = [token[1] for token in outcome.tokens("matches_a") if token[0] == DATA]
    return outcome.statistics["block"].counters["intersect"], matches


def by_arrays(pairs, *, skip, most):
    """The same over arrays, with at most so many steps at a time."""
    a, b = ([c for pair in pairs for c in pair[side]] for side in (0, 1))
    both = FiberIntersection(integers_of(a), integers_of(b), skip=skip)
    matches = []
    first_a = first_b = 0
    for fiber_a, fiber_b in pairs:
        both.begin(first_a, first_a + len(fiber_a), first_b, first_b + len(fiber_b))
        while not both.has_ended():
            if both.advance(most):
                assert a[both.a] == b[both.b]
                matches.append(a[both.a])
                both.pass_match()
        first_a, first_b = first_a + len(fiber_a), first_b + len(fiber_b)
    return both.steps, matches


@given(
    pairs=st.lists(st.tuples(fibers, fibers), min_size=1, max_size=5),
    skip=st.booleans(),
    most=st.sampled_from([1, 2, 7, TO_THE_MATCH]),
)
def test_makes_the_steps_of_the_blocks(pairs, skip, most):
    assert by_arrays(pairs, skip=skip, most=most) == by_block(pairs, skip=skip)


@given(a=fibers, of_b=st.lists(fibers, max_size=5), skip=st.booleans())
def test_adds_up_the_products_of_values_that_meet(a, of_b, skip):
    b = [c for fiber in of_b for c in fiber]
    coordinates, values = (integers_of(a), integers_of(b)), (values_of(a), values_of([2 * c for c in b]))
    begins = np.cumsum([0, *map(len, of_b)])
    both = FiberIntersection(*coordinates, *values, integers_of(begins), skip=skip)
    found, fiber = {}, both.find_match(0, len(a), 0, len(of_b))
    while fiber < len(of_b):
        found[fiber] = both.matches, both.total
        fiber = both.find_match(0, len(a), fiber + 1, len(of_b))
    common = [set(a) & set(fiber) for fiber in of_b]
    assert found == {n: (len(met), sum(2.0 * c * c for c in met)) for n, met in enumerate(common) if met}
    assert both.steps == sum(by_arrays([(a, fiber)], skip=skip, most=TO_THE_MATCH)[0] for fiber in of_b)


def scanned(a, of_b, held=0):
    """Steps of two scanners over a fiber of A and each of B's; what meets."""
    b = [c for fiber in of_b for c in fiber]
    begins = integers_of(np.cumsum([0, *map(len, of_b)]))
    ones = (values_of([1.0] * len(a)), values_of([1.0] * len(b)))
    both = FiberIntersection(integers_of(a), integers_of(b), *ones, begins)
    met, fiber = 0, both.find_match(0, len(a), 0, len(of_b))
    while fiber < len(of_b):
        met += both.matches
        fiber = both.find_match(0, len(a), fiber + 1, len(of_b))
    scanners = ScannerPair(integers_of(a), integers_of(b), begins, held)
    return scanners.steps(0, len(a), 0, len(of_b)), met


@given(a=fibers, of_b=st.lists(fibers, max_size=5))
def test_two_scanners_both_go_on_in_every_step(a, of_b):
    """Each step takes one of both, so that the shorter fiber has as many at the least."""
    steps, met = scanned(a, of_b)
    assert met == sum(len(set(a) & set(fiber)) for fiber in of_b)
    assert steps == sum(scanner_steps(a, fiber) for fiber in of_b)
    assert steps <= sum(min(len(a), len(fiber)) for fiber in of_b)


def test_two_scanners_by_hand():
    """A looks for 0, 3, 9; B for 1, 3, 8: the third step ends B, and 0 and 1 went by in one."""
    assert scanned([0, 3, 9, 12], [[1, 3, 8]]) == (3, 1)


@given(a=long_fibers, of_b=st.lists(long_fibers, max_size=3), held=st.integers(1, 40))
def test_scanners_that_hold_some_coordinates_pass_the_others_one_by_one(a, of_b, held):
    """What the scanners hold changes no match."""
    steps, met = scanned(a, of_b, held)
    assert steps == sum(held_scanner_steps(a, fiber, held) for fiber in of_b)
    assert met == scanned(a, of_b)[1]


def test_a_scanner_that_holds_two_of_six_by_hand():
    """It holds 0 and 3. It takes 0; hears of 5, which is two behind 3: 1 + 2 steps; and that was its last."""
    assert scanned([0, 1, 2, 3, 4, 5], [[5]], held=2) == (4, 1)
    assert scanned([0, 1, 2, 3, 4, 5], [[5]], held=6) == (1, 1)


def test_a_scanner_goes_on_to_its_end_when_the_other_has_taken_its_last():
    """It takes 0, hears of 5, which it holds, and takes 8 and 9; or hears of 20 and passes both."""
    assert scanned([0, 1, 2, 5, 8, 9], [[5]], held=2) == (1 + 1 + 1 + 1, 1)
    assert scanned([0, 1, 2, 5, 8, 9], [[5, 20]], held=2) == (1 + 1 + (1 + 2), 1)


def test_stops_at_the_match_and_at_the_last_step():
    both = FiberIntersection(integers_of([1, 2, 3, 9]), integers_of([3, 8, 9]))
    both.begin(0, 4, 0, 3)
    assert not both.advance(1)
    assert (both.a, both.b, both.steps) == (2, 0, 1)
    assert both.advance(TO_THE_MATCH)
    assert (both.a, both.b, both.steps) == (2, 0, 2)
    both.pass_match()
    assert both.advance(TO_THE_MATCH)
    assert (both.a, both.b, both.steps, both.has_ended()) == (3, 2, 4, False)
    both.pass_match()
    assert both.has_ended()
    assert not both.advance(TO_THE_MATCH)


def test_planted_a_finger_that_skips_is_found():
    pairs = [(list(range(10)), [9])]
    with pytest.raises(AssertionError):
        assert by_arrays(pairs, skip=True, most=1) == by_block(pairs, skip=False)


WORDS, WIDTH = 3, 11
masks = st.sets(st.integers(0, WORDS * WIDTH - 1)).map(sorted)


def by_words(pairs):
    """The masks of fibers, by port."""
    tokens = {}
    for side, fibers in zip("ab", zip(*pairs, strict=True), strict=True):
        for word in range(WORDS):
            bits = [[c - word * WIDTH for c in fiber if c // WIDTH == word] for fiber in fibers]
            tokens[f"masks_{side}[{word}]"] = [(0, sum(1 << bit for bit in one), 0, 0.0) for one in bits]
    return tokens


def steps_of(a, b, rule):
    """Kind and coordinate of every step, by lists."""
    kind = 0
    while not kind & LAST:
        kind, coordinate = 0, 0
        if a[:1] == b[:1]:
            kind, coordinate = (MET, a[0]) if a else (0, 0)
            a, b = a[1:], b[1:]
        elif a and b:
            lower, other = sorted([a, b])
            rest = [c for c in lower if c >= other[0]] if rule == SKIP else lower[1:]
            a, b = (rest, b) if lower is a else (a, rest)
        kind |= LAST * (not a or not b)
        yield kind, coordinate


@given(pairs=st.lists(st.tuples(masks, masks), min_size=1, max_size=5), rule=st.sampled_from(RULES))
def test_a_step_of_masks_is_a_cycle(pairs, rule):
    block = MaskIntersector("block", WORDS, WIDTH, rule)
    outcome = run_block(block, by_words(pairs), ["results"])
    expected = [step for pair in pairs for step in steps_of(*pair, rule)]
    assert [token[:2] for token in outcome.tokens("results")] == expected
    cycles = [cycle for cycle, _token in outcome.received["results"]]
    assert cycles == list(range(cycles[0], cycles[0] + len(expected)))
    met = [set(a) & set(b) for a, b in pairs]
    counted = {"intersect": len(expected), "matches": sum(map(len, met)), "fibers": len(pairs)}
    assert outcome.statistics["block"].counters == counted


@pytest.mark.parametrize("seed", range(4))
def test_masks_keep_the_laws(seed):
    generator = np.random.default_rng(seed)
    pairs = [
        [sorted(generator.choice(WORDS * WIDTH, size, replace=False).tolist()) for size in (3 * seed, 9)]
        for _ in range(6)
    ]
    check_laws(lambda: MaskIntersector("block", WORDS, WIDTH), by_words(pairs), ["results"])


def test_a_word_that_is_too_wide_is_refused():
    tokens = by_words([([1], [2])]) | {"masks_b[1]": [(0, 1 << WIDTH, 0, 0.0)]}
    with pytest.raises(SimulationError, match="block: 2048 at word 1 of a mask has more than 11 bits"):
        run_block(MaskIntersector("block", WORDS, WIDTH), tokens, ["results"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0, 8), "lanes must be from 1 to 256, not 0"),
        ((1, 63), "width must be from 1 to 62, not 63"),
        ((1, 8, "leap"), "rule must be skip or two_finger, not leap"),
    ],
)
def test_masks_that_cannot_be_are_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        MaskIntersector("block", *arguments)


def test_masks_of_too_few_words_are_refused():
    tokens = by_words([([1], [2])])
    del tokens["masks_b[2]"]
    with pytest.raises(SimulationError, match="block: connect 3 masks_b, one a lane, not 2"):
        run_block(MaskIntersector("block", WORDS, WIDTH), tokens, ["results"])
