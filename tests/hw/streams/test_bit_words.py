"""Blocks on words of bits: against their plain models, against sets, and what they refuse."""

from itertools import accumulate

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from nested_lists import flatten
from stream_pairs import Pair, check_bounded, check_pair, mask, some_quirks
from stream_trees import below, change, fiber, generator_of, grow, with_gaps
from streams.plain import EVERY_QUIRK, drive
from streams.plain_bitvectors import BitExpander as PlainBitExpander
from streams.plain_bitvectors import BitVector as PlainBitVector
from streams.plain_bitvectors import Chunker as PlainChunker
from streams.plain_bitvectors import WordDropper as PlainWordDropper
from streams.plain_bitvectors import WordIntersect as PlainWordIntersect

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.bit_expander import BitExpander
from fiberscope.hw.streams.bit_vector import BitVectorScanner
from fiberscope.hw.streams.bit_words import BitVector, Chunker
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.quirks import NO_QUIRKS, PUBLIC
from fiberscope.hw.streams.testing import GIGAHERTZ, TimedSource, run_streams, tokens_of
from fiberscope.hw.streams.tokens import CRD, REF, format_token
from fiberscope.hw.streams.word_dropper import WordDropper
from fiberscope.hw.streams.word_intersect import WordIntersect
from fiberscope.sim import Kernel, SimulationError
from fiberscope.sim.testing import StreamSink, random_stalls

seeds = st.integers(0, 2**32)

BIT_VECTOR = Pair(
    lambda quirks: BitVector("block", quirks), PlainBitVector, {"crd": "in_crd"}, {"bv": "out_bv"}
)
CHUNKER = Pair(
    lambda quirks, width, size: Chunker("block", width, size, quirks),
    PlainChunker,
    {"bv": "in_bv"},
    {"bv": "out_bv", "ref": "out_ref"},
)
WORDS = {"in1": ("in_ref[0]", "in_bv[0]"), "in2": ("in_ref[1]", "in_bv[1]")}
JOINED = {"bv": "out_bv", "ref1": "out_ref0", "ref2": "out_ref1"}
INTERSECT = Pair(
    lambda quirks, emit_zeros: WordIntersect("block", emit_zeros, quirks), PlainWordIntersect, WORDS, JOINED
)
EXPANDER = Pair(
    lambda quirks: BitExpander("block", quirks),
    PlainBitExpander,
    {"in": ("in_ref", "in_bv")},
    {"crd": "out_crd", "ref": "out_ref"},
)
DROPPER = Pair(
    lambda quirks: WordDropper("block", quirks),
    PlainWordDropper,
    {"outer": "in_outer", "inner": "in_inner"},
    {"outer": "out_outer", "inner": "out_inner"},
)


def word_of(crds):
    return sum(1 << crd for crd in crds)


def words(generator, count=4, width=64):
    """Words of bits, sparse and dense."""
    density = generator.choice([0.05, 0.5, 0.95])
    return [
        word_of(bit for bit in range(width) if generator.random() < density)
        for _ in range(generator.randint(0, count))
    ]


@given(seeds)
def test_a_bit_vector_does_as_its_plain_model_in_every_cycle(seed):
    generator = generator_of(seed)
    depth = generator.randint(0, 2)
    streams = {"crd": flatten(grow(generator, depth, lambda: fiber(generator, bound=64)), depth)}
    check_pair(BIT_VECTOR, streams, generator, some_quirks(generator, (19,)))
    check_bounded(BIT_VECTOR, streams, generator)


@given(seeds, st.integers(1, 64), st.integers(1, 130))
def test_a_chunker_does_as_its_plain_model_in_every_cycle(seed, width, size):
    generator = generator_of(seed)
    fibers = grow(generator, 1, lambda: words(generator, 2, min(size, 64)))
    streams, parameters = {"bv": flatten(fibers, 1)}, {"width": width, "size": size}
    check_pair(CHUNKER, streams, generator, some_quirks(generator, (20,)), parameters)
    check_bounded(CHUNKER, streams, generator, (), parameters)


@given(seeds, st.booleans())
def test_the_intersection_of_words_does_as_its_plain_model_in_every_cycle(seed, emit_zeros):
    generator = generator_of(seed)
    depth = generator.randint(0, 2)
    shape = grow(generator, depth, lambda: words(generator))
    alike = generator.random() < 0.5
    streams = {}
    for name in WORDS:
        tree = change(shape, depth, lambda same: [*words(generator, 4), *[0] * len(same)][: len(same)])
        tree = tree if alike else change(shape, depth, lambda _: words(generator))
        streams[name] = [numbered(generator, token) for token in flatten(tree, depth)]
    check_pair(INTERSECT, streams, generator, some_quirks(generator, (19,)), {"emit_zeros": emit_zeros})
    check_bounded(INTERSECT, streams, generator, (), {"emit_zeros": emit_zeros})


def numbered(generator, token):
    """A word with the reference of its first bit."""
    return (token, token) if isinstance(token, str) else (generator.randint(0, 1000), token)


@given(seeds)
def test_the_plain_model_intersects_sets(seed):
    generator = generator_of(seed)
    sets = [set(fiber(generator, 30, 60)) for _ in range(2)]
    streams = {}
    for name, crds in zip(WORDS, sets, strict=True):
        chunks = [word_of(crd - 20 * n for crd in crds if crd // 20 == n) for n in range(3)]
        references = [0, *accumulate(chunk.bit_count() for chunk in chunks)][:3]
        stream = [*zip(references, chunks, strict=True), ("S0", "S0"), ("D", "D")]
        streams[name] = list(enumerate(stream))
    found = drive(PlainWordIntersect((), emit_zeros=True), streams)
    joined = sets[0] & sets[1]
    expected = [word_of(crd - 20 * n for crd in joined if crd // 20 == n) for n in range(3)]
    assert tokens_of(found["bv"]) == [*expected, "S0", "D"]
    for port, crds in zip(("ref1", "ref2"), sets, strict=True):
        references = [sorted(crds).index(crd) for crd in sorted(joined)]
        assert tokens_of(found[port]) == [*references, "S0", "D"]


@given(seeds)
def test_an_expander_does_as_its_plain_model_in_every_cycle(seed):
    generator = generator_of(seed)
    depth = generator.randint(0, 2)
    tokens = flatten(grow(generator, depth, lambda: words(generator)), depth)
    streams = {"in": [numbered(generator, token) for token in tokens]}
    check_pair(EXPANDER, streams, generator, some_quirks(generator, ()))
    check_bounded(EXPANDER, streams, generator)


def through(blocks, tokens, carries, capacity):
    """What leaves a chain of blocks, of which each feeds the next by ports of these names."""
    kernel = Kernel()
    kernel.clock("core", GIGAHERTZ)
    source = kernel.add(TimedSource("source", carries, enumerate(tokens)))
    for block, _ports in blocks:
        kernel.add(block)
    before, outputs = source, ["out"]
    for block, ports in blocks:
        for output, port in zip(outputs, ports, strict=True):
            kernel.connect(before, output, block, port, capacity=None if before is source else capacity)
        before, outputs = block, [f"{end.name}[0]" for end in block.declared_ports() if "out_" in end.name]
    sinks = [kernel.add(StreamSink(f"sink{output}")) for output in outputs]
    for sink, output in zip(sinks, outputs, strict=True):
        kernel.connect(before, output, sink, "in", capacity=capacity)
    kernel.run()
    return [
        [format_token(kind, payload, 0.0, CRD) for _, (kind, payload, _, _) in sink.received]
        for sink in sinks
    ]


@given(seeds, st.sampled_from([None, 1, 3]))
def test_coordinates_come_back_from_their_words(seed, capacity):
    generator = generator_of(seed)
    depth = generator.randint(0, 2)
    crd = flatten(grow(generator, depth, lambda: fiber(generator, 9, generator.choice([64, 300]))), depth)
    blocks = [(BitVector("words"), ["in_crd"]), (BitExpander("bits"), ["in_bv"])]
    coordinates, references = through(blocks, crd, CRD, capacity)
    assert coordinates == crd
    counts = iter(range(len(crd)))
    assert references == [next(counts) if isinstance(token, int) else token for token in crd]


@given(seeds, st.sampled_from([None, 1, 3]))
def test_bit_vectors_expand_to_what_a_compressed_level_is(seed, capacity):
    generator = generator_of(seed)
    per_fiber = generator.randint(1, 3)
    fibers = [fiber(generator, 20, 64 * per_fiber) for _ in range(4)]
    words_given = [word_of(fiber) >> 64 * n & ((1 << 64) - 1) for fiber in fibers for n in range(per_fiber)]
    level = Level([0, *accumulate(map(len, fibers))], [crd for fiber in fibers for crd in fiber])
    references = flatten(grow(generator, 1, lambda: [generator.choice([0, 1, 2, 3, "N"])]), 1)
    scanner = BitVectorScanner("scanner", words_given, NO_QUIRKS, per_fiber)
    chain = [(scanner, ["in_ref"]), (BitExpander("bits"), ["in_bv", "in_ref"])]
    expected = through([(CompressedScanner("scanner", level), ["in_ref"])], references, REF, capacity)
    assert through(chain, references, REF, capacity) == expected


def outer_and_inner(generator, depth):
    """Words, and a level deeper for each set bit a fiber of words, often an empty one."""
    empty = generator.choice([0.0, 0.5, 1.0])
    filled = lambda: [] if generator.random() < empty else [generator.randint(1, 9)]  # noqa: E731
    tree = grow(
        generator, depth, lambda: [fiber(generator, 4, 60) or [3] for _ in range(generator.randint(0, 1))]
    )
    outer = change(tree, depth, lambda fibers: [word_of(crds) for crds in fibers])
    inner = change(tree, depth, lambda fibers: [filled() for crds in fibers for _ in crds])
    return outer, inner


@given(seeds)
def test_a_word_dropper_does_as_its_plain_model_in_every_cycle(seed):
    generator = generator_of(seed)
    quirks = some_quirks(generator, (18, 19))
    depth = generator.randint(0, 2)
    outer, inner = outer_and_inner(generator, depth)
    streams = {"outer": flatten(outer, depth), "inner": flatten(inner, depth + 1)}
    assume(19 not in quirks or (depth == 0 and outer))
    check_pair(DROPPER, streams, generator, quirks)
    if 19 not in quirks:
        check_bounded(DROPPER, streams, generator, quirks)


@given(seeds)
def test_the_plain_word_dropper_clears_bits(seed):
    generator = generator_of(seed)
    crds = fiber(generator, 8, 60)
    fibers = [generator.choice([[], [generator.randint(1, 9)]]) for _ in crds]
    streams = {"outer": flatten([word_of(crds)] if crds else [], 0), "inner": flatten(fibers, 1)}
    found = drive(PlainWordDropper(()), {port: list(enumerate(stream)) for port, stream in streams.items()})
    left = [crd for crd, words_below in zip(crds, fibers, strict=True) if words_below]
    assert tokens_of(found["outer"]) == flatten([word_of(left)] if left else [], 0)
    assert tokens_of(found["inner"]) == flatten([each for each in fibers if each], 1)


def run_wide(crd, width, size, quirks, capacity, seed=None, order_seed=None):
    """A bit vector and a chunker behind it, for words of any width: what leaves, and the words between."""
    kernel = Kernel(order_seed=order_seed)
    kernel.clock("core", GIGAHERTZ)
    source = kernel.add(TimedSource("source", CRD, crd))
    words_of, chunks = (
        kernel.add(BitVector("words", mask(quirks))),
        Chunker("chunks", width, size, mask(quirks)),
    )
    kernel.add(chunks)
    kernel.connect(source, "out", words_of, "in_crd", capacity=None)
    kernel.connect(words_of, "out_bv[0]", chunks, "in_bv", capacity=capacity)
    sinks = [
        kernel.add(StreamSink(f"sink{n}", () if seed is None else random_stalls(seed + n))) for n in range(2)
    ]
    for sink, port in zip(sinks, ("out_bv", "out_ref"), strict=True):
        kernel.connect(chunks, f"{port}[0]", sink, "in", capacity=capacity)
    kernel.run()
    carried = [end.carries for end in chunks.declared_ports()[1:]]
    streams = [
        [
            (cycle - 2, format_token(kind, payload, 0.0, carries))
            for cycle, (kind, payload, _, _) in sink.received
        ]
        for sink, carries in zip(sinks, carried, strict=True)
    ]
    return streams, words_of.counters()["out_bv_data"]


@given(seeds, st.sampled_from([16, 33, 64]))
def test_words_of_any_width_are_chunked(seed, width):
    generator = generator_of(seed)
    size = generator.choice([65, 200, 2000])
    quirks = generator.choice([EVERY_QUIRK, frozenset()])
    fibers = [fiber(generator, 20, size) for _ in range(generator.randint(0, 3))]
    crd = with_gaps(generator, flatten(fibers, 1))
    first = drive(PlainBitVector(quirks), {"crd": crd})["bv"]
    second = drive(PlainChunker(quirks, width, size), {"bv": [(cycle + 1, token) for cycle, token in first]})
    found, count = run_wide(crd, width, size, quirks, None, order_seed=generator.choice([None, 1]))
    assert found == [second[port] for port in ("bv", "ref")]
    assert count == sum(bool(each) for each in fibers)
    bounded, _ = run_wide(crd, width, size, quirks, generator.randint(1, 3), seed=seed % 10)
    assert [tokens_of(stream) for stream in bounded] == [tokens_of(stream) for stream in found]


def test_each_word_is_chunked_without_the_quirk():
    words_given = {"in_bv": list(enumerate([17, "S0", 51, "S1", "D"]))}
    found = run_streams(Chunker("block", 4, 8), words_given, ["out_bv"])
    assert tokens_of(found["out_bv"]) == [1, 1, "S0", 3, 3, "S1", "D"]
    found = run_streams(Chunker("block", 4, 8, PUBLIC), words_given, ["out_bv"])
    assert tokens_of(found["out_bv"]) == [1, 1, "S0", 3, "S1", "D"]


def joined(block, *streams):
    given_streams = {}
    for way, stream in enumerate(streams):
        given_streams[f"in_bv[{way}]"] = list(enumerate(stream))
        given_streams[f"in_ref[{way}]"] = [(c, 0 if isinstance(t, int) else t) for c, t in enumerate(stream)]
    return run_streams(block, given_streams, ["out_bv"], checked=False)


@pytest.mark.parametrize("quirks", [NO_QUIRKS, PUBLIC])
def test_what_does_not_fit_is_refused(quirks):
    with pytest.raises(
        SimulationError, match=r"cycle 1, block: S0 on in_bv\[0\] and S1 on in_bv\[1\] do not"
    ):
        joined(WordIntersect("block", quirks=quirks), ["S0", "D"], ["S1", "D"])
    with pytest.raises(SimulationError, match=r"cycle 1, block: 5 on in_bv\[0\] and D on in_bv\[1\] do not"):
        joined(WordIntersect("block", quirks=quirks), [5, "S0", "D"], ["D"])
    with pytest.raises(SimulationError, match=r"block has 2 operands, but 1 in_bv"):
        joined(WordIntersect("block", quirks=quirks), ["S0", "D"])
    streams = {"in_outer": [(0, 1), (1, "S0"), (2, "D")], "in_inner": [(0, 1), (1, "D")]}
    with pytest.raises(SimulationError, match="cycle 2, block: D on in_inner does not fit in_outer"):
        run_streams(WordDropper("block", quirks), streams, [], checked=False)
    streams = {"in_bv": [(0, 5), (1, "S0")], "in_ref": [(0, 2), (1, "S1")]}
    with pytest.raises(SimulationError, match="cycle 3, block: S0 on in_bv, S1 on in_ref in the same place"):
        run_streams(BitExpander("block", quirks), streams, [], checked=False)
    with pytest.raises(ValueError, match="block: a chunk has 1 to 64 bits, not 65"):
        Chunker("block", 65, 100, quirks)
    with pytest.raises(ValueError, match="block: a word has at least one bit, not 0"):
        Chunker("block", 1, 0, quirks)


def test_a_joiner_takes_no_words_of_several_parts():
    kernel = Kernel()
    kernel.clock("core", GIGAHERTZ)
    joiner = kernel.add(WordIntersect("joiner"))
    for way in range(2):
        source = kernel.add(TimedSource(f"source{way}", CRD, enumerate([3, 70, "S0", "D"])))
        block = kernel.add(BitVector(f"words{way}"))
        references = kernel.add(TimedSource(f"references{way}", joiner.PORTS[1].carries, enumerate([0, 0])))
        kernel.connect(source, "out", block, "in_crd", capacity=None)
        kernel.connect(block, "out_bv[0]", joiner, f"in_bv[{way}]", capacity=None)
        kernel.connect(references, "out", joiner, f"in_ref[{way}]", capacity=None)
    with pytest.raises(SimulationError, match="or a word has more than 64 bits"):
        kernel.run()


def test_words_are_counted():
    block = WordIntersect("block")
    joined(block, [13, 2, "S0", "D"], [7, 4, "S0", "D"])
    assert [block.counters()[name] for name in ("words", "matches")] == [2, 2]
    block = WordDropper("block")
    streams = {"in_outer": [(0, 11), (1, "S0"), (2, "D")]}
    streams["in_inner"] = list(enumerate([1, "S0", "S0", 2, "S1", "D"]))
    run_streams(block, streams, [])
    assert block.counters()["cleared"] == 1
    block = BitExpander("block")
    run_streams(block, {"in_bv": list(enumerate([13, 0, "S0", "D"]))}, [])
    assert block.counters()["words"] == 2


def test_bits_of_nested_fibers_line_up():
    outer = [[[0, 5], [63]], []]
    streams = {"in_crd": list(enumerate(flatten(below(outer, 0, lambda f: f), 2)))}
    found = run_streams(BitVector("block"), streams, ["out_bv"])
    assert tokens_of(found["out_bv"]) == [33, "S0", 1 << 63, "S1", "S2", "D"]
