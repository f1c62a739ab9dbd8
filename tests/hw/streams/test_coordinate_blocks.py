"""Droppers: against their plain models, against nested lists, and what they refuse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nested_lists import flatten
from stream_pairs import Pair, check_bounded, check_pair, some_quirks
from stream_trees import below, change, fiber, generator_of, grow, numbers
from streams.plain import drive
from streams.plain_coordinates import CoordinateDropper as PlainDropper
from streams.plain_coordinates import EmptyFiberDropper as PlainEmptyFiberDropper
from streams.plain_coordinates import StopDropper as PlainStopDropper

from fiberscope.hw.streams.coordinate_dropper import CoordinateDropper, ValueDropper
from fiberscope.hw.streams.droppers import EmptyFiberDropper, StopDropper
from fiberscope.hw.streams.quirks import NO_QUIRKS, PUBLIC
from fiberscope.hw.streams.testing import run_streams, tokens_of
from fiberscope.hw.streams.tokens import VAL
from fiberscope.sim import SimulationError

OUTER_INNER = ({"outer": "in_outer", "inner": "in_inner"}, {"outer": "out_outer", "inner": "out_inner"})
THROUGH = ({"in": "in_stream"}, {"out": "out_stream"})
seeds = st.integers(0, 2**32)

DROPPER = Pair(lambda quirks: CoordinateDropper("block", quirks=quirks), PlainDropper, *OUTER_INNER)
VALUES = Pair(lambda quirks: CoordinateDropper("block", VAL, quirks), PlainDropper, *OUTER_INNER)
STOPS = Pair(lambda quirks: StopDropper("block", quirks=quirks), PlainStopDropper, *THROUGH)
EMPTY = Pair(lambda quirks: EmptyFiberDropper("block", quirks=quirks), PlainEmptyFiberDropper, *THROUGH)


def outer_and_inner(generator, leaf=fiber):
    """A random outer tree, and one a level deeper with a fiber, often an empty one, for each coordinate."""
    depth = generator.randint(0, 2)
    outer = grow(generator, depth, lambda: fiber(generator))
    empty = generator.choice([0.0, 0.5, 0.9])
    inner = below(outer, depth, lambda _: [] if generator.random() < empty else leaf(generator, 4))
    return depth, outer, inner


@given(seeds, st.sampled_from([(DROPPER, fiber), (VALUES, numbers)]))
def test_a_coordinate_dropper_does_as_its_plain_model_in_every_cycle(seed, pair_and_leaf):
    pair, leaf = pair_and_leaf
    generator = generator_of(seed)
    depth, outer, inner = outer_and_inner(generator, leaf)
    streams = {"outer": flatten(outer, depth), "inner": flatten(inner, depth + 1)}
    check_pair(pair, streams, generator, some_quirks(generator, (19,)))
    check_bounded(pair, streams, generator, generator.choice([(), (19,)]))


@given(seeds)
def test_the_plain_dropper_drops_empty_fibers_from_nested_lists(seed):
    generator = generator_of(seed)
    depth, outer, inner = outer_and_inner(generator)
    streams = {"outer": flatten(outer, depth), "inner": flatten(inner, depth + 1)}
    found = drive(PlainDropper(()), {port: list(enumerate(stream)) for port, stream in streams.items()})
    kept_outer, kept_inner = kept(outer, inner, depth)
    assert tokens_of(found["outer"]) == flatten(kept_outer, depth)
    assert tokens_of(found["inner"]) == flatten(kept_inner, depth + 1)


def kept(outer, inner, depth):
    """Two nested lists without the outer coordinates whose fibers are empty, and without these."""
    if depth == 0:
        left = [(crd, fiber) for crd, fiber in zip(outer, inner, strict=True) if fiber]
        return [crd for crd, _ in left], [fiber for _, fiber in left]
    parts = [kept(*part, depth - 1) for part in zip(outer, inner, strict=True)]
    return [part[0] for part in parts], [part[1] for part in parts]


@given(seeds, st.sampled_from([STOPS, EMPTY]))
def test_droppers_of_stops_do_as_their_plain_models_in_every_cycle(seed, pair):
    generator = generator_of(seed)
    depth = generator.randint(0, 3)
    streams = {"in": flatten(grow(generator, depth, lambda: fiber(generator, 3)), depth)}
    check_pair(pair, streams, generator, some_quirks(generator, (18,)))
    check_bounded(pair, streams, generator)


@given(seeds)
def test_the_plain_empty_fiber_dropper_leaves_the_fibers_that_are_not_empty(seed):
    generator = generator_of(seed)
    fibers = [fiber(generator, 3) for _ in range(generator.randint(0, 8))]
    found = drive(PlainEmptyFiberDropper(()), {"in": list(enumerate(flatten(fibers, 1)))})
    assert tokens_of(found["out"]) == flatten([each for each in fibers if each], 1)


@given(seeds)
def test_a_value_dropper_drops_zeros(seed):
    generator = generator_of(seed)
    crd = grow(generator, 1, lambda: fiber(generator))
    val = change(crd, 1, lambda each: [generator.choice([0.0, 1.5]) for _ in each])
    streams = {"in_outer": list(enumerate(flatten(crd, 1))), "in_inner": list(enumerate(flatten(val, 1)))}
    bench = {"capacity": generator.choice([None, 1, 3]), "seed": generator.choice([None, 1])}
    ports = ["out_outer", "out_inner"]
    found = run_streams(ValueDropper("block"), streams, ports, same_shape=[ports], **bench)
    left = [[pair for pair in zip(*part, strict=True) if pair[1]] for part in zip(crd, val, strict=True)]
    assert tokens_of(found["out_outer"]) == flatten([[c for c, _ in part] for part in left], 1)
    assert tokens_of(found["out_inner"]) == flatten([[v for _, v in part] for part in left], 1)


@given(seeds)
def test_a_value_dropper_leaves_out_the_stops_of_fibers_that_have_no_coordinates_left(seed):
    generator = generator_of(seed)
    crd = [fiber(generator) for _ in range(generator.randint(1, 6))]
    values = [[generator.choice([0.0, 1.5]) for _ in each] for each in crd]
    there = [each for each in crd if each]
    found = run(ValueDropper("block"), outer=flatten(there, 1), inner=flatten(values, 1))
    left = [[c for c, v in zip(*part, strict=True) if v] for part in zip(crd, values, strict=True) if part[0]]
    assert found["out_outer"] == flatten(left, 1)
    assert found["out_inner"] == flatten([[1.5] * len(each) for each in left], 1)


def test_stops_that_end_a_list_of_empty_fibers_meet_the_one_of_the_coordinates():
    inner = [1.5, "S0", "S0", 2.5, "S0", "S1", "D"]
    found = run(ValueDropper("block"), outer=[4, "S0", 6, "S1", "D"], inner=inner)
    assert found == {"out_outer": [4, "S0", 6, "S1", "D"], "out_inner": [1.5, "S0", 2.5, "S1", "D"]}


def run(block, **streams):
    given_streams = {f"in_{port}": list(enumerate(tokens)) for port, tokens in streams.items()}
    ports = [port.name for port in block.declared_ports() if port.name.startswith("out_")]
    found = run_streams(block, given_streams, ports, checked=False)
    return {port: tokens_of(stream) for port, stream in found.items()}


def test_the_stops_of_dropped_fibers_stay_with_the_quirk():
    outer, inner = flatten([0, 2, 5], 0), flatten([[1], [], []], 1)
    dropped = run(CoordinateDropper("block"), outer=outer, inner=inner)
    assert dropped == {"out_outer": [0, "S0", "D"], "out_inner": [1, "S1", "D"]}
    left = run(CoordinateDropper("block", quirks=PUBLIC), outer=outer, inner=inner)
    assert left == {"out_outer": [0, "S0", "D"], "out_inner": [1, "S0", "S0", "S1", "D"]}


def test_a_stream_of_empty_fibers_is_done_alone_with_the_quirk():
    assert run(EmptyFiberDropper("block"), stream=["S0", "S1", "D"]) == {"out_stream": ["S1", "D"]}
    assert run(EmptyFiberDropper("block", quirks=PUBLIC), stream=["S0", "S1", "D"]) == {"out_stream": ["D"]}


@pytest.mark.parametrize("quirks", [NO_QUIRKS, PUBLIC])
def test_streams_that_do_not_fit_are_refused(quirks):
    with pytest.raises(SimulationError, match="cycle 2, block: D on in_inner does not fit 4 on in_outer"):
        run(CoordinateDropper("block", quirks=quirks), outer=[4, "S0", "D"], inner=[1, "D"])
    with pytest.raises(SimulationError, match="cycle 1, block: 1 on in_inner does not fit S0 on in_outer"):
        run(CoordinateDropper("block", quirks=quirks), outer=["S0", "D"], inner=[1, "S1", "D"])
    with pytest.raises(
        SimulationError, match=r"cycle 1, block: S0 on in_outer, 1\.5 on in_inner in the same"
    ):
        run(ValueDropper("block", quirks), outer=["S0", "D"], inner=[1.5, "S0", "D"])


def test_what_is_dropped_is_counted():
    block = CoordinateDropper("block")
    run(block, outer=[0, 2, 5, "S0", "D"], inner=[1, "S0", "S0", "S1", "D"])
    assert block.counters()["dropped"] == 2
    block = EmptyFiberDropper("block")
    run(block, stream=[1, "S0", "S0", "S1", "D"])
    assert block.counters()["dropped"] == 2
    block = StopDropper("block")
    run(block, stream=[1, "S0", "S1", "D"])
    assert block.counters()["dropped"] == 2
