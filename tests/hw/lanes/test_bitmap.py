"""SIGMA's filter on bitmaps and the running counts of their ones: against numpy, under stalls."""

import numpy as np
import pytest
from fibers import STOP_TOKEN, check_accounting_of
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import by_lane, rows_of

from fiberscope.hw.lanes.bitmap import Regor, addresses, filtered, regor, scan_cycles
from fiberscope.hw.lanes.prefix_sum import FORMS, PARALLEL, PrefixPopcount, depth
from fiberscope.sim import SimulationError
from fiberscope.sim.testing import check_laws, run_block

sizes = st.fixed_dictionaries({"capacity": st.integers(1, 5), "latency": st.integers(1, 4)})
stall_seeds = st.none() | st.integers(0, 1000)


@st.composite
def problems(draw):
    """Lanes, width, and slices: a streaming bitmap (K x N) and a stationary one (M x K)."""
    lanes, width = draw(st.integers(1, 4)), draw(st.sampled_from([1, 5, 32, 62]))
    generator = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    k, density = lanes * width, draw(st.sampled_from([0.0, 0.05, 0.5, 1.0]))

    def bitmap(*shape):
        return generator.random(shape) < density

    sizes_of = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=3))
    return lanes, width, [(bitmap(k, n), bitmap(m, k)) for n, m in sizes_of]


def words(row, width):
    """A row of bits as words, the first bit lowest."""
    return [int(sum(1 << i for i in np.flatnonzero(part))) for part in row.reshape(-1, width)]


def rows_of_words(bitmaps, width, lanes):
    """For each bitmap its rows as tokens, and a row of stops."""
    rows = []
    for bitmap in bitmaps:
        rows += [[(0, word, 7, 0.5) for word in words(row, width)] for row in bitmap]
        rows.append([STOP_TOKEN] * lanes)
    return rows


def outputs_of(port, lanes):
    return [f"{port}[{lane}]" for lane in range(lanes)]


def inputs_of(lanes, width, slices):
    streaming = rows_of_words([streaming.T for streaming, _ in slices], width, lanes)
    stationary = rows_of_words([stationary for _, stationary in slices], width, lanes)
    return by_lane("streaming", lanes, streaming) | by_lane("stationary", lanes, stationary)


@settings(max_examples=100, deadline=None)
@given(problem=problems(), size=sizes, seed=stall_seeds)
def test_keeps_the_bits_that_meet_a_nonzero(problem, size, seed):
    lanes, width, slices = problem
    inputs = inputs_of(lanes, width, slices)
    outcome = run_block(Regor("regor", lanes, width), inputs, outputs_of("kept", lanes), seed=seed, **size)
    kept = [stationary & streaming.any(axis=1) for streaming, stationary in slices]
    expected = by_lane("kept", lanes, rows_of_words(kept, width, lanes))
    assert {port: outcome.tokens(port) for port in expected} == expected
    bits = sum(int(bitmap.sum()) for bitmap in kept)
    assert outcome.statistics["regor"].counters == {
        "slices": len(slices),
        "columns": sum(streaming.shape[1] for streaming, _ in slices),
        "rows": sum(len(stationary) for _, stationary in slices),
        "bits": bits,
        "dropped": sum(int(stationary.sum()) for _, stationary in slices) - bits,
    }
    check_laws(lambda: Regor("regor", lanes, width), inputs, outputs_of("kept", lanes), seeds=[seed], **size)


def test_a_row_a_cycle_of_either_bitmap():
    streaming, stationary = np.ones((8, 5), bool), np.ones((3, 8), bool)
    inputs = inputs_of(2, 4, [(streaming, stationary)])
    outcome = run_block(Regor("regor", 2, 4), inputs, outputs_of("kept", 2))
    # Columns at 1 to 5 and their stops at 6; rows at 7 to 10, each seen behind a cycle later.
    assert [cycle for cycle, _ in outcome.received["kept[1]"]] == [8, 9, 10, 11]
    check_accounting_of(outcome, "regor", busy=10, idle=2, input_stall={}, output_stall={})


def test_planted_a_filter_that_keeps_the_register_of_the_slice_before():
    empty, full = np.zeros((4, 1), bool), np.ones((4, 1), bool)
    inputs = inputs_of(1, 4, [(full, full.T), (empty, full.T)])

    class Keeps(Regor):
        def _filter(self, ends):
            seen = self.seen
            super()._filter(ends)
            self.seen = seen

    kept = [
        [token[1] for token in run_block(block("regor", 1, 4), inputs, ["kept[0]"]).tokens("kept[0]")]
        for block in (Regor, Keeps)
    ]
    assert kept == [[15, 0, 0, 0], [15, 0, 15, 0]]


class TestArrays:
    def test_the_filter_and_the_addresses(self):
        generator = np.random.default_rng(1)
        streaming, stationary = generator.random((40, 6)) < 0.1, generator.random((9, 40)) < 0.3
        kept = filtered(stationary, streaming)
        for m, k in np.ndindex(kept.shape):
            assert kept[m, k] == (stationary[m, k] and any(streaming[k]))
        assert regor(streaming).tolist() == [any(row) for row in streaming]
        places = addresses(stationary)
        packed = stationary[stationary]
        assert [places[m, k] for m, k in np.argwhere(stationary)] == list(range(len(packed)))
        assert places[0, 0] == 0

    def test_the_cycles_of_a_scan(self):
        assert [scan_cycles(bits, 2048) for bits in (0, 1, 2048, 2049)] == [0, 1, 1, 2]


def counts_of(width, sum_width, arrays):
    """Each word's running count, and the word: the reference."""
    summed = []
    for array in arrays:
        ones = np.cumsum([word.bit_count() for word, *_ in array], dtype=object)
        summed.append(
            [
                (int(total) % (1 << sum_width), word, value)
                for total, (word, _, value) in zip(ones, array, strict=True)
            ]
        )
    return summed


@settings(max_examples=100, deadline=None)
@given(
    form=st.sampled_from(FORMS),
    lanes=st.integers(1, 6),
    widths=st.tuples(st.sampled_from([1, 8, 32, 62]), st.sampled_from([1, 4, 32])),
    lengths=st.lists(st.integers(0, 13), max_size=4),
    generator=st.randoms(use_true_random=False),
    seed=stall_seeds,
)
def test_counts_the_ones_of_any_arrays(form, lanes, widths, lengths, generator, seed):
    width, sum_width = widths
    arrays = [[(generator.getrandbits(width), 3, 0.5) for _ in range(length)] for length in lengths]
    rows = rows_of(lanes, arrays)
    inputs, outputs = by_lane("words", lanes, rows), outputs_of("counts", lanes)
    block = PrefixPopcount("counts", form, lanes, width, sum_width)
    outcome = run_block(block, inputs, outputs, seed=seed)
    expected = by_lane("counts", lanes, rows_of(lanes, counts_of(width, sum_width, arrays)))
    assert {port: outcome.tokens(port) for port in outputs} == expected
    assert outcome.statistics["counts"].counters == {"rows": len(rows), "words": sum(lengths)}
    if seed is None and rows:
        assert outcome.received[outputs[0]][0][0] == 2 + 1 + depth(form, lanes)


def test_the_counts_are_the_addresses_of_packed_nonzeros():
    bitmap = np.random.default_rng(2).random((6, 64)) < 0.3
    rows = rows_of(2, [[(word, 0, 0.0) for row in bitmap for word in words(row, 32)]])
    outcome = run_block(
        PrefixPopcount("counts", PARALLEL, 2), by_lane("words", 2, rows), outputs_of("counts", 2)
    )
    tokens = [
        token for row in zip(*(outcome.tokens(f"counts[{i}]") for i in (0, 1)), strict=True) for token in row
    ]
    found = [count - word.bit_count() for kind, count, word, _ in tokens if kind == 0]
    assert found == addresses(bitmap)[:, ::32].ravel().tolist()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([16, 0], r"regor: 16 at streaming\[0\] is no word of 4 bits"),
        ([0, -1], r"regor: -1 at streaming\[1\] is no word of 4 bits"),
        ([1, None], "regor: a row of streaming words has stops among them"),
    ],
)
def test_a_row_that_is_none_is_refused(row, message):
    tokens = [STOP_TOKEN if word is None else (0, word, 0, 0.0) for word in row]
    inputs = by_lane("streaming", 2, [tokens]) | by_lane("stationary", 2, [[STOP_TOKEN] * 2])
    with pytest.raises(SimulationError, match=message):
        run_block(Regor("regor", 2, 4), inputs, outputs_of("kept", 2))


def test_what_cannot_be_built_is_refused():
    with pytest.raises(ValueError, match="regor: width must be from 1 to 62, not 63"):
        Regor("regor", 2, 63)
    with pytest.raises(
        ValueError, match="counts: form must be one of serial, work-efficient, parallel, not tree"
    ):
        PrefixPopcount("counts", "tree", 2)
    inputs = by_lane("streaming", 2, [[STOP_TOKEN] * 2]) | by_lane("stationary", 1, [[STOP_TOKEN]])
    with pytest.raises(SimulationError, match="regor: connect 2 stationary, one a lane, not 1"):
        run_block(Regor("regor", 2, 4), inputs, outputs_of("kept", 2))
