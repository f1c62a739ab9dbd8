"""Writers: what they hold when they are done, against plain models and nested lists."""

from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st
from nested_lists import flatten, nested_lists, nested_streams
from stream_checks import check_every_cycle, gaps, quirk_masks
from streams.plain_levels import CompressedWriter as PlainCompressedWriter
from streams.plain_levels import ValuesWriter as PlainValuesWriter

from fiberscope.hw.streams.bit_words import BitVector
from fiberscope.hw.streams.quirks import PUBLIC, Q16
from fiberscope.hw.streams.testing import TimedSource, run_streams, with_gaps
from fiberscope.hw.streams.tokens import CRD
from fiberscope.hw.streams.writers import BitVectorWriter, CompressedWriter, ValuesWriter
from fiberscope.sim import Kernel


@given(stream=nested_streams(), gap=gaps, quirks=quirk_masks)
def test_compressed_as_its_model(stream, gap, quirks):
    inputs = {"in_crd": with_gaps(stream[1], gap)}
    block, plain = check_every_cycle(
        lambda mask: CompressedWriter("block", quirks=mask), PlainCompressedWriter, inputs, quirks
    )
    assert list(block.segments) == plain.segments
    assert list(block.coordinates) == plain.coordinates
    assert block.stored == len(plain.coordinates)


@given(drawn=nested_lists(deepest=1))
def test_a_matrix_comes_out_as_it_is(drawn):
    depth, nested = drawn
    rows = [nested] if depth == 0 else nested
    if rows == [[]] and depth == 1:
        rows = []  # one empty row and no row at all look alike: the parent stream alone tells
    block = CompressedWriter("block")
    run_streams(block, {"in_crd": with_gaps(flatten(nested, depth))}, [])
    ends = [sum(map(len, rows[:row])) for row in range(len(rows) + 1)]
    assert list(block.segments) == ends
    assert list(block.coordinates) == [coordinate for row in rows for coordinate in row]


def test_q16_an_empty_fiber_leaves_no_segment():
    tokens = [1, 4, "S0", "S0", 3, "S1", "D"]
    for quirks, segments in ((Q16, [0, 2, 3]), (PUBLIC & ~Q16, [0, 2, 2, 3])):
        block = CompressedWriter("block", quirks=quirks)
        run_streams(block, {"in_crd": with_gaps(tokens)}, [])
        assert list(block.segments) == segments


@given(stream=nested_streams(), gap=gaps)
def test_values_as_their_model(stream, gap):
    tokens = [token + 0.5 if isinstance(token, int) else token for token in stream[1]]
    inputs = {"in_val": with_gaps(tokens, gap)}
    block, plain = check_every_cycle(
        lambda mask: ValuesWriter("block", quirks=mask), PlainValuesWriter, inputs, 0
    )
    assert list(block.values) == plain.values


@given(rows=st.lists(st.lists(st.integers(0, (1 << 64) - 1), max_size=3), min_size=1, max_size=6))
def test_words_of_bits(rows):
    tokens = flatten(rows, 1)
    if rows == [[]]:
        tokens = ["S0", "D"]  # a matrix with one empty row and one without rows look alike
    for quirks, written in ((0, rows), (Q16, [row for row in rows if row])):
        block = BitVectorWriter("block", quirks=quirks)
        run_streams(block, {"in_bv": with_gaps(tokens)}, [])
        assert block.words == [word for row in rows for word in row]
        assert list(block.segments) == list(accumulate(map(len, written), initial=0))
        assert block.stored == len(block.words)


@given(
    rows=st.lists(st.sets(st.integers(0, 200)), min_size=2, max_size=6), capacity=st.sampled_from([None, 2])
)
def test_wide_words_are_written_in_parts(rows, capacity):
    kernel = Kernel()
    kernel.clock("core", 10**9)
    source = kernel.add(TimedSource("source", CRD, with_gaps(flatten([sorted(row) for row in rows], 1))))
    words, block = kernel.add(BitVector("words")), kernel.add(BitVectorWriter("block"))
    kernel.connect(source, "out", words, "in_crd", capacity=None)
    kernel.connect(words, "out_bv[0]", block, "in_bv", capacity=capacity)
    kernel.run()
    found = [block.words[first:behind] for first, behind in pairwise(block.segments)]
    whole = [sum(word << 64 * place for place, word in enumerate(row)) for row in found]
    assert whole == [sum(1 << crd for crd in row) for row in rows]
