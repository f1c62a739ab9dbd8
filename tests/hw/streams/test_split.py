"""Split, flatten and hold: against their plain models, against nested lists, and what they refuse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nested_lists import flatten
from stream_pairs import Pair, check_bounded, check_pair, some_quirks
from stream_trees import below, change, fiber, generator_of, grow
from streams.plain import drive
from streams.plain_coordinates import Flatten as PlainFlatten
from streams.plain_coordinates import Split as PlainSplit
from streams.plain_repeat import CoordinateHold as PlainHold

from fiberscope.hw.streams.hold import CoordinateHold
from fiberscope.hw.streams.quirks import NO_QUIRKS, PUBLIC
from fiberscope.hw.streams.split import Flatten, Split
from fiberscope.hw.streams.testing import run_streams, tokens_of
from fiberscope.sim import SimulationError

seeds = st.integers(0, 2**32)
INNER_OUTER = {"outer": "in_outer", "inner": "in_inner"}

SPLIT = Pair(
    lambda quirks, split_factor, orig_crd=False: Split("block", split_factor, orig_crd, quirks),
    PlainSplit,
    {"crd": "in_crd"},
    {"outer": "out_outer", "inner": "out_inner"},
)
FLATTEN = Pair(
    lambda quirks, split_factor: Flatten("block", split_factor, quirks),
    PlainFlatten,
    INNER_OUTER,
    {"crd": "out_crd"},
)
HOLD = Pair(
    lambda quirks: CoordinateHold("block", quirks),
    PlainHold,
    INNER_OUTER,
    {"outer": "out_outer", "inner": "out_inner"},
)


def chunked(tree, depth, factor):
    """Chunk numbers, and a level deeper the remainders in each."""
    outer = change(tree, depth, lambda crds: sorted({crd // factor for crd in crds}))
    inner = change(tree, depth, lambda crds: chunks(crds, factor))
    return outer, inner


def chunks(crds, factor):
    numbers = sorted({crd // factor for crd in crds})
    return [[crd % factor for crd in crds if crd // factor == number] for number in numbers]


@given(seeds, st.sampled_from([1, 2, 4, 7]), st.booleans())
def test_split_does_as_its_plain_model_in_every_cycle(seed, factor, original):
    generator = generator_of(seed)
    depth = generator.randint(0, 2)
    bound = generator.choice([6, 12, 40])
    streams = {"crd": flatten(grow(generator, depth, lambda: fiber(generator, bound=bound)), depth)}
    parameters = {"split_factor": factor, "orig_crd": original}
    check_pair(SPLIT, streams, generator, some_quirks(generator, (21,)), parameters)
    check_bounded(SPLIT, streams, generator, (), parameters)


@given(seeds, st.sampled_from([1, 3, 4]))
def test_flatten_does_as_its_plain_model_in_every_cycle(seed, factor):
    generator = generator_of(seed)
    depth = generator.randint(0, 2)
    outer = grow(generator, depth, lambda: fiber(generator))
    empty = generator.choice([0.0, 0.3])
    within = lambda _: [] if generator.random() < empty else fiber(generator, bound=factor)  # noqa: E731
    streams = {"outer": flatten(outer, depth), "inner": flatten(below(outer, depth, within), depth + 1)}
    check_pair(FLATTEN, streams, generator, some_quirks(generator, (22,)), {"split_factor": factor})
    check_bounded(FLATTEN, streams, generator, (), {"split_factor": factor})


@given(seeds, st.sampled_from([1, 3, 8]))
def test_the_plain_models_split_and_flatten_nested_lists(seed, factor):
    generator = generator_of(seed)
    depth = generator.randint(0, 2)
    tree = grow(generator, depth, lambda: fiber(generator, bound=30))
    outer, inner = (flatten(part, depth + n) for n, part in enumerate(chunked(tree, depth, factor)))
    found = drive(PlainSplit((), factor, orig_crd=False), {"crd": list(enumerate(flatten(tree, depth)))})
    assert [tokens_of(found[port]) for port in ("outer", "inner")] == [outer, inner]
    streams = {"outer": list(enumerate(outer)), "inner": list(enumerate(inner))}
    assert tokens_of(drive(PlainFlatten((), factor), streams)["crd"]) == flatten(tree, depth)


@given(seeds)
def test_hold_does_as_its_plain_model_in_every_cycle(seed):
    generator = generator_of(seed)
    depth = generator.randint(0, 2)
    outer = grow(generator, depth, lambda: fiber(generator))
    inner = below(outer, depth, lambda _: fiber(generator, 4))
    streams = {"outer": flatten(outer, depth), "inner": flatten(inner, depth + 1)}
    check_pair(HOLD, streams, generator, some_quirks(generator, (0, 12)))
    check_bounded(HOLD, streams, generator)


@given(seeds)
def test_the_plain_hold_repeats_each_outer_coordinate(seed):
    generator = generator_of(seed)
    depth = generator.randint(0, 2)
    outer = grow(generator, depth, lambda: fiber(generator))
    inner = below(outer, depth, lambda crd: [(crd, n) for n in range(generator.randint(0, 3))])
    streams = {"outer": flatten(outer, depth)}
    streams["inner"] = [token if isinstance(token, str) else token[1] for token in flatten(inner, depth + 1)]
    found = drive(PlainHold(()), {port: list(enumerate(stream)) for port, stream in streams.items()})
    held = [token if isinstance(token, str) else token[0] for token in flatten(inner, depth + 1)]
    assert tokens_of(found["outer"]) == held
    assert tokens_of(found["inner"]) == streams["inner"]


def run(block, **streams):
    given_streams = {f"in_{port}": list(enumerate(tokens)) for port, tokens in streams.items()}
    ports = [port.name for port in block.declared_ports() if port.name.startswith("out_")]
    found = run_streams(block, given_streams, ports, checked=False)
    return {port: tokens_of(stream) for port, stream in found.items()}


def test_a_chunk_that_goes_on_in_the_next_fiber_keeps_its_number_without_the_quirk():
    crd = flatten([[1, 5], [6]], 1)
    assert run(Split("block", 4), crd=crd)["out_outer"] == [0, 1, "S0", 1, "S1", "D"]
    assert run(Split("block", 4, quirks=PUBLIC), crd=crd)["out_outer"] == [0, 1, "S0", "S1", "D"]


def test_flatten_waits_for_a_late_chunk_number_without_the_quirk():
    late = {"in_outer": [(3, 2), (4, "S0"), (5, "D")], "in_inner": list(enumerate([1, 3, "S1", "D"]))}
    found = run_streams(Flatten("block", 4), late, ["out_crd"])
    assert found["out_crd"] == [(3, 9), (4, 11), (5, "S0"), (6, "D")]
    late["in_inner"] = [(cycle, token) for cycle, token in zip((0, 4, 5, 6), [1, 3, "S1", "D"], strict=True)]
    found = run_streams(Flatten("block", 4, quirks=PUBLIC), late, ["out_crd"], checked=False)
    assert tokens_of(found["out_crd"]) == [11, "S0", "D"]


@pytest.mark.parametrize("quirks", [NO_QUIRKS, PUBLIC])
def test_what_does_not_fit_is_refused(quirks):
    with pytest.raises(SimulationError, match="cycle 2, block: D on in_inner does not fit 4 on in_outer"):
        run(CoordinateHold("block", quirks), outer=[4, "S0", "D"], inner=["D"])
    with pytest.raises(SimulationError, match="block: a coordinate on in_inner does not fit S0 on in_outer"):
        run(CoordinateHold("block", quirks), outer=["S0", "D"], inner=[1, "S1", "D"])
    for block in (Split, Flatten):
        with pytest.raises(ValueError, match="block: a chunk has at least one coordinate, not 0"):
            block("block", 0, quirks=quirks)


def test_flatten_refuses_stops_that_do_not_fit():
    with pytest.raises(SimulationError, match="cycle 2, block: S2 on in_inner does not fit S0 on in_outer"):
        run(Flatten("block", 4), outer=[1, "S0", "D"], inner=[1, "S2", "D"])
    with pytest.raises(SimulationError, match="cycle 1, block: 1 on in_inner does not fit S0 on in_outer"):
        run(Flatten("block", 4), outer=["S0", "D"], inner=[1, "S1", "D"])


def test_chunks_are_counted():
    block = Split("block", 4)
    run(block, crd=[1, 2, 5, "S0", 6, "S1", "D"])
    assert block.counters()["chunks"] == 3
