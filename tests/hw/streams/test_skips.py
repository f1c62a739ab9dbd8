"""The scanner with a skip port: every cycle against the plain model, and what it may never lose."""

from hypothesis import given
from hypothesis import strategies as st
from stream_checks import capacities, check_every_cycle, gaps, quirk_masks, reference_streams, seeds
from streams.plain_levels import SkippingScanner as PlainSkipping

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.quirks import NO_QUIRKS, PUBLIC, Q7
from fiberscope.hw.streams.skipping_scanner import SkippingScanner
from fiberscope.hw.streams.testing import run_streams, tokens_of, with_gaps

SEGMENTS, COORDINATES = [0, 3, 3, 4, 6, 13], [1, 4, 9, 6, 0, 2, 0, 1, 2, 5, 7, 8, 11]


@st.composite
def skip_streams(draw, longest=12):
    """What a joiner might feed back, or not."""
    skips = st.integers(0, 13) | st.just("S0")
    stream, cycle = [], draw(st.integers(0, 12))
    for token in draw(st.lists(skips, max_size=longest)):
        stream.append((cycle, token))
        cycle += draw(st.sampled_from([1, 1, 2, 5]))
    return stream


def skipping(quirks):
    return SkippingScanner("block", Level(SEGMENTS, COORDINATES), quirks)


def plain_skipping(quirks):
    return PlainSkipping(SEGMENTS, COORDINATES, quirks)


class TestSkips:
    @given(tokens=reference_streams(), gap=gaps, skips=skip_streams(), quirks=quirk_masks)
    def test_every_cycle(self, tokens, gap, skips, quirks):
        inputs = {"in_ref": with_gaps(tokens, gap), "in_skip": skips}
        block, plain = check_every_cycle(skipping, plain_skipping, inputs, quirks)
        counted = block.counters()
        names = ("skipped", "skips", "late_skips", "overtaken_skips", "longest_skip_queue")
        told = (plain.skipped, plain.applied, plain.late, plain.overtaken, plain.longest)
        assert tuple(counted[name] for name in names) == told
        if not quirks & Q7:
            elements = sum(SEGMENTS[at + 1] - SEGMENTS[at] for at in tokens if isinstance(at, int))
            assert counted["skipped"] + counted["out_crd_data"] == elements

    @given(tokens=reference_streams(), skips=skip_streams(), seed=seeds, capacity=capacities)
    def test_what_is_left_is_in_order_and_no_stop_is_lost(self, tokens, skips, seed, capacity):
        outputs = ["out_crd", "out_ref"]
        inputs = {"in_ref": with_gaps(tokens), "in_skip": skips}
        whole = run_streams(skipping(NO_QUIRKS), {**inputs, "in_skip": []}, outputs, same_shape=[outputs])
        bench = {"capacity": capacity, "seed": seed, "same_shape": [outputs]}
        found = run_streams(skipping(NO_QUIRKS), inputs, outputs, **bench)
        for port in outputs:
            left, all_of_it = fibers_of(found[port]), fibers_of(whole[port])
            assert len(left) == len(all_of_it)
            for some, fiber in zip(left, all_of_it, strict=True):
                assert [token for token in fiber if token in some] == some
        for order_seed, sleep in ((1, True), (2, False)):
            again = run_streams(
                skipping(NO_QUIRKS), inputs, outputs, order_seed=order_seed, sleep=sleep, **bench
            )
            assert again == found

    def test_a_skip_that_does_not_apply_at_a_first_element(self):
        """Q7: the coordinate sent last is of the fiber before, so that the skip seems to come late."""
        inputs = {"in_ref": [(0, 0), (1, 3), (2, "S0"), (3, "D")], "in_skip": [(1, "S0"), (2, 1)]}
        clean = run_streams(skipping(PUBLIC & ~Q7), inputs, ["out_crd"])
        assert tokens_of(clean["out_crd"]) == [1, "S0", 2, "S1", "D"]
        public = run_streams(skipping(PUBLIC), inputs, ["out_crd"], checked=False)
        assert tokens_of(public["out_crd"]) == [1, "S0", "S0", 2, "S1", "D"]

    def test_the_longest_queue_is_not_the_last(self):
        """Of four stops the first is pending, three wait until fibers come; the fifth waits for nothing."""
        block = skipping(NO_QUIRKS)
        references = [(20, 4), (21, 1), (22, 1), (23, 3), (60, 1), (61, "S0"), (62, "D")]
        stops = [(cycle, "S0") for cycle in (0, 1, 2, 3, 50)]
        run_streams(block, {"in_ref": references, "in_skip": stops}, ["out_crd"])
        found = block.counters()
        assert (found["longest_skip_queue"], found["skip_stops"]) == (3, 5)

    def test_skips_are_heard_while_the_output_is_full(self):
        inputs = {"in_ref": [(0, 4), (1, "D")], "in_skip": [(cycle, cycle) for cycle in range(3, 12)]}
        found = run_streams(skipping(NO_QUIRKS), inputs, ["out_crd"], capacity=1, seed=4)
        assert tokens_of(found["out_crd"])[-4:] == [8, 11, "S0", "D"]


def fibers_of(stream):
    """The fibers of a stream, each with its stop."""
    fibers = [[]]
    for token in tokens_of(stream):
        fibers[-1].append(token)
        if isinstance(token, str):
            fibers.append([])
    return fibers
