"""Intersect and union: against their plain models, against sets, and what they refuse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nested_lists import flatten
from stream_pairs import Pair, check_pair, some_quirks
from stream_trees import change, fiber, generator_of, grow
from streams.plain import drive
from streams.plain_joiners import Intersect as PlainIntersect
from streams.plain_joiners import Union as PlainUnion

from fiberscope.hw.streams.join import Intersect, Union
from fiberscope.hw.streams.quirks import NO_QUIRKS, PUBLIC
from fiberscope.hw.streams.testing import GIGAHERTZ, TimedSource, protocol_of, run_streams, tokens_of
from fiberscope.sim import Kernel, SimulationError
from fiberscope.sim.testing import StreamSink

CONCERNED = (2, 8, 9, 11)
seeds = st.integers(0, 2**32)


def ports(ways, skips):
    inputs = {f"in{i + 1}": (f"in_ref[{i}]", f"in_crd[{i}]") for i in range(ways)}
    outputs = {"crd": "out_crd"} | {f"ref{i + 1}": f"out_ref{i}" for i in range(ways)}
    return inputs, outputs | ({f"skip{i + 1}": f"out_skip{i}" for i in range(ways)} if skips else {})


def intersect(ways=2):
    make = lambda quirks: Intersect("block", ways, quirks)  # noqa: E731
    return Pair(make, lambda quirks: PlainIntersect(quirks, ways), *ports(ways, skips=True))


def union(ways=2):
    make = lambda quirks: Union("block", ways, quirks)  # noqa: E731
    return Pair(make, lambda quirks: PlainUnion(quirks, ways), *ports(ways, skips=False))


def operands(generator, ways, depth, empties=0.0, wrong=0.0):
    """Streams of pairs of the same shape, now and then with an N among coordinates or with a wrong stop."""
    shape = grow(generator, depth, lambda: fiber(generator))
    bound = generator.choice([3, 12, 1000])
    streams = {}
    for way in range(ways):
        tree = change(shape, depth, lambda _fiber: fiber(generator, bound=bound))
        stream = []
        for place, token in enumerate(flatten(tree, depth)):
            crd = spoiled(generator, token, empties, wrong)
            ref = crd if isinstance(crd, str) else generator.choice([100 * way + place, "N"])
            stream.append((ref, crd))
        streams[f"in{way + 1}"] = stream
    return streams


def spoiled(generator, token, empties, wrong):
    if isinstance(token, str) and token != "D" and generator.random() < wrong:
        return f"S{generator.randint(0, 2)}"
    return "N" if isinstance(token, int) and generator.random() < empties else token


@given(seeds, st.sampled_from([intersect, union]), st.sampled_from([2, 2, 3, 5]))
def test_a_joiner_does_as_its_plain_model_in_every_cycle(seed, make, ways):
    generator = generator_of(seed)
    spoil = generator.choice([(0.0, 0.0), (0.1, 0.0), (0.0, 0.2), (0.1, 0.2)])
    streams = operands(generator, ways, generator.randint(0, 2), *spoil)
    check_pair(make(ways), streams, generator, some_quirks(generator, CONCERNED))


def named(crd):
    """A reference that tells its coordinate."""
    return f"r{crd}" if isinstance(crd, int) else crd


@given(seeds, st.integers(2, 4))
def test_the_plain_models_are_intersection_and_union_of_sets(seed, ways):
    generator = generator_of(seed)
    fibers = [fiber(generator, bound=generator.choice([3, 12, 100])) for _ in range(ways)]
    streams = {
        f"in{way + 1}": [(cycle, (named(crd), crd)) for cycle, crd in enumerate(flatten(one, 0))]
        for way, one in enumerate(fibers)
    }
    for model, combine in ((PlainIntersect, set.intersection), (PlainUnion, set.union)):
        found = drive(model((), ways), streams)
        assert tokens_of(found["crd"]) == [*sorted(combine(*map(set, fibers))), "S0", "D"]
        for way, one in enumerate(fibers):
            pairs = zip(tokens_of(found["crd"]), tokens_of(found[f"ref{way + 1}"]), strict=True)
            assert all(ref == (named(crd) if crd in {*one, "S0", "D"} else "N") for crd, ref in pairs)


@given(seeds)
def test_every_fiber_ends_with_one_stop_on_each_skip_whatever_space_there_is(seed):
    generator = generator_of(seed)
    pair = intersect()
    streams = operands(generator, 2, 1)
    timed = {name: list(enumerate(stream)) for name, stream in streams.items()}
    found = pair.run(timed, (), capacity=1, seed=5)
    stops = sum(isinstance(crd, str) and crd != "D" for _, crd in streams["in1"])
    for name in ("skip1", "skip2"):
        told = [token for token in tokens_of(found.get(name, [])) if isinstance(token, str)]
        assert len(told) <= stops
        whole = pair.run(timed, ())
        assert sum(isinstance(token, str) for token in tokens_of(whole.get(name, []))) == stops


@given(seeds, st.sampled_from([NO_QUIRKS, PUBLIC]), st.integers(1, 3))
def test_full_skip_channels_do_not_stall_an_intersection(seed, quirks, capacity):
    """One skip of each channel is taken: the matches leave in the same cycles as without skip channels."""
    generator = generator_of(seed)
    streams = operands(generator, 2, generator.randint(0, 2))
    found = []
    for has_skips in (False, True):
        kernel = Kernel()
        kernel.clock("core", GIGAHERTZ)
        block = kernel.add(Intersect("block", 2, quirks))
        for way in range(2):
            for place, part in enumerate(("ref", "crd")):
                tokens = [pair[place] for pair in streams[f"in{way + 1}"]]
                name = f"in_{part}[{way}]"
                source = kernel.add(TimedSource(name, protocol_of(block, name), enumerate(tokens)))
                kernel.connect(source, "out", block, name, capacity=None)
            if has_skips:
                sink = kernel.add(StreamSink(f"skip{way}", [10**6]))
                kernel.connect(block, f"out_skip{way}[0]", sink, "in", capacity=capacity)
        sink = kernel.add(StreamSink("sink"))
        kernel.connect(block, "out_crd[0]", sink, "in", capacity=None)
        kernel.run(cycle_limit=10**5)
        found.append(sink.received)
        assert block.done
    assert found[0] == found[1]


def streams_of(*pairs):
    return {
        f"in_{kind}[{way}]": [(cycle, token) for cycle, token in enumerate(tokens)]
        for way, tokens in enumerate(pairs)
        for kind in ("crd", "ref")
    }


@pytest.mark.parametrize("block", [Intersect, Union])
@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (["S0", "S1", "D"], ["S1", "D"], r"cycle 1, block: .* \(S0 on in_crd\[0\], S1 on in_crd\[1\]\)"),
        ([1, "S0", "D"], ["D"], r"cycle 1, block: an operand ends before the others \(1 on in_crd\[0\], D "),
        ([1, "S0", "D"], ["N", "S0", "D"], r"in_crd\[1\] brings N, which is no coordinate"),
    ],
)
def test_what_does_not_fit_is_refused(block, first, second, message):
    with pytest.raises(SimulationError, match=message):
        run_streams(block("block"), streams_of(first, second), ["out_crd"], checked=False)


def test_unequal_stops_are_dropped_with_the_quirk():
    given = streams_of([1, "S1", "D"], [1, "S0", "S1", "D"])
    found = run_streams(Intersect("block", quirks=PUBLIC), given, ["out_crd"], checked=False)
    assert tokens_of(found["out_crd"]) == [1, "S1", "D"]


def test_levels_of_stops_have_no_limit():
    given = streams_of([1, "S12", "D"], [1, "S12", "D"])
    found = run_streams(Union("block", quirks=NO_QUIRKS), given, ["out_crd"])
    assert found["out_crd"] == [(0, 1), (1, "S12"), (2, "D")]


def test_a_joiner_counts():
    given = streams_of([1, 3, 4, "S0", "D"], [2, 3, "S0", "D"])
    block = Intersect("block")
    run_streams(block, given, [])
    found = block.counters()
    expected = {"matches": 1, "dropped": 3, "longest_run": 2, "out_crd_stops": 1, "out_skip0_data": 1}
    assert {name: found[name] for name in expected} == expected
    block = Union("block")
    run_streams(block, given, [])
    assert (block.counters()["common"], block.counters()["partial"]) == (1, 3)


def test_a_joiner_needs_its_operands():
    with pytest.raises(ValueError, match="at least 2 operands, not 1"):
        Intersect("block", 1)
    with pytest.raises(SimulationError, match="block has 3 operands, but 2 in_crd"):
        run_streams(Union("block", 3), streams_of(["S0", "D"], ["S0", "D"]), ["out_crd"])
