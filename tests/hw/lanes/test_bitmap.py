"""SIGMA's filter on bitmaps and the running counts of their ones: against numpy, under stalls."""

from itertools import chain

import numpy as np
import pytest
from fibers import check_accounting_of
from hypothesis import given
from hypothesis import strategies as st
from rows import by_lane, rows_of

from fiberscope.hw.lanes.bitmap import Regor
from fiberscope.hw.lanes.prefix_sum import FORMS, PARALLEL, PrefixPopcount, depth
from fiberscope.hw.stream import COLUMN, ROW
from fiberscope.sim import SimulationError
from fiberscope.sim.testing import check_laws, run_block

sizes = st.fixed_dictionaries({"capacity": st.integers(1, 5), "latency": st.integers(1, 4)})
stall_seeds = st.none() | st.integers(0, 1000)


@st.composite
def problems(draw):
    """Vectors a cycle, words, width; and slices: a streaming bitmap (K x N) and a stationary one (M x K)."""
    vectors, count = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    width = draw(st.sampled_from([1, 5, 32, 62]))
    generator = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    k, density = count * width, draw(st.sampled_from([0.0, 0.05, 0.5, 1.0]))

    def bitmap(*shape):
        return generator.random(shape) < density

    sizes_of = draw(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), max_size=3))
    return vectors, count, width, [(bitmap(k, n), bitmap(m, k)) for n, m in sizes_of]


def words(row, width):
    """A row of bits as words, the first bit lowest."""
    return [int(sum(1 << i for i in np.flatnonzero(part))) for part in row.reshape(-1, width)]


def tokens_of(bitmap, width, kind):
    """The words of each vector of a bitmap, those of the stationary operand with their row."""
    return [
        [(kind, word, row * (kind == ROW), 0.0) for word in words(bits, width)]
        for row, bits in enumerate(bitmap)
    ]


def lanes_of(port, vectors, count, rows):
    """Vectors side by side, so many in a row, the last row filled up."""
    filled = [*rows, *[[(ROW, 0, 0, 0.0)] * count] * (-len(rows) % vectors)]
    side_by_side = [list(chain(*filled[first : first + vectors])) for first in range(0, len(filled), vectors)]
    return by_lane(port, vectors * count, side_by_side)


def outputs_of(port, lanes):
    return [f"{port}[{lane}]" for lane in range(lanes)]


def inputs_of(vectors, count, width, slices):
    rows = []
    for streaming, stationary in slices:
        rows += tokens_of(streaming.T, width, COLUMN) + tokens_of(stationary, width, ROW)
    return lanes_of("bitmaps", vectors, count, rows)


@given(problem=problems(), size=sizes, seed=stall_seeds)
def test_keeps_the_bits_that_meet_a_nonzero(problem, size, seed):
    vectors, count, width, slices = problem
    inputs, outputs = inputs_of(*problem), outputs_of("kept", vectors * count)
    outcome = run_block(Regor("regor", vectors, count, width), inputs, outputs, seed=seed, **size)
    rows = []
    for streaming, stationary in slices:
        rows += [[(COLUMN, 0, 0, 0.0)] * count] * streaming.shape[1]
        rows += tokens_of(stationary & streaming.any(axis=1), width, ROW)
    expected = lanes_of("kept", vectors, count, rows)
    assert {port: outcome.tokens(port) for port in expected} == expected
    assert outcome.statistics["regor"].counters == {
        "rows": -(-len(rows) // vectors),
        "ones": sum(int(stationary.sum()) for _, stationary in slices),
        "kept": sum(word.bit_count() for row in rows for _, word, *_ in row),
    }
    check_laws(lambda: Regor("regor", vectors, count, width), inputs, outputs, seeds=[seed], **size)


def test_a_row_of_vectors_a_cycle_of_either_bitmap():
    inputs = inputs_of(2, 2, 4, [(np.ones((8, 5), bool), np.ones((3, 8), bool))])
    outcome = run_block(Regor("regor", 2, 2, 4), inputs, outputs_of("kept", 4))
    # Columns at 1 to 3, the first row with the last of them; each seen behind a cycle later.
    assert [cycle for cycle, _ in outcome.received["kept[3]"]] == [2, 3, 4, 5]
    check_accounting_of(outcome, "regor", busy=4, idle=2, input_stall={}, output_stall={})


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


@given(
    form=st.sampled_from(FORMS),
    lanes=st.integers(1, 6),
    widths=st.tuples(st.sampled_from([1, 8, 32, 62]), st.sampled_from([1, 4, 32])),
    lengths=st.lists(st.integers(0, 13), max_size=4),
    registers=st.integers(0, 1),
    generator=st.randoms(use_true_random=False),
    seed=stall_seeds,
)
def test_counts_the_ones_of_any_arrays(form, lanes, widths, lengths, registers, generator, seed):
    width, sum_width = widths
    arrays = [[(generator.getrandbits(width), 3, 0.5) for _ in range(length)] for length in lengths]
    rows = rows_of(lanes, arrays)
    inputs, outputs = by_lane("words", lanes, rows), outputs_of("counts", lanes)
    block = PrefixPopcount("counts", form, lanes, width, sum_width, registers)
    outcome = run_block(block, inputs, outputs, seed=seed)
    expected = by_lane("counts", lanes, rows_of(lanes, counts_of(width, sum_width, arrays)))
    assert {port: outcome.tokens(port) for port in outputs} == expected
    assert outcome.statistics["counts"].counters == {"rows": len(rows), "words": sum(lengths)}
    if seed is None and rows:
        assert outcome.received[outputs[0]][0][0] == 2 + (1 + depth(form, lanes)) * registers


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
    assert found == [int(bitmap.ravel()[:place].sum()) for place in range(0, bitmap.size, 32)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([(COLUMN, 16), (COLUMN, 0)], r"regor: 16 at bitmaps\[0\] is no word of 4 bits"),
        ([(ROW, 0), (ROW, -1)], r"regor: -1 at bitmaps\[1\] is no word of 4 bits"),
        ([(COLUMN, 1), (ROW, 1)], r"regor: the vector that ends at bitmaps\[1\] is of both operands"),
    ],
)
def test_a_row_that_is_none_is_refused(row, message):
    inputs = by_lane("bitmaps", 2, [[(kind, word, 0, 0.0) for kind, word in row]])
    with pytest.raises(SimulationError, match=message):
        run_block(Regor("regor", 1, 2, 4), inputs, outputs_of("kept", 2))


def test_what_cannot_be_built_is_refused():
    with pytest.raises(ValueError, match="regor: width must be from 1 to 62, not 63"):
        Regor("regor", 2, 1, 63)
    for vectors, words, lanes in ((65, 4, 260), (-2, -3, -3), (-2, 3, -6), (2, -3, -3)):
        with pytest.raises(ValueError, match=f"regor: lanes must be from 1 to 256, not {lanes}"):
            Regor("regor", vectors, words)
    with pytest.raises(
        ValueError, match="counts: form must be one of serial, work-efficient, parallel, not tree"
    ):
        PrefixPopcount("counts", "tree", 2)
