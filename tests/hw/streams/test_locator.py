"""Locators: the references found, against dictionaries, and the cycles of a search."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nested_lists import flatten, nested_lists
from stream_checks import capacities, check_as_hardware, gaps, seeds

from hw.level import Level
from hw.streams.locator import CompressedLocator, DenseLocator
from hw.streams.testing import run_streams, tokens_of, with_gaps
from sim import SimulationError

LEVEL = Level([0, 3, 3, 4, 11], [1, 4, 9, 6, 0, 2, 3, 5, 7, 8, 11])
POSITIONS = [{1: 0, 4: 1, 9: 2}, {}, {6: 3}, {0: 4, 2: 5, 3: 6, 5: 7, 7: 8, 8: 9, 11: 10}]
OUTPUTS = ["out_crd", "out_ref", "out_ref2"]
SIZE = 9
MAKERS = {
    "dense": (
        lambda missing_empty: lambda _quirks: DenseLocator("block", SIZE, missing_empty=missing_empty),
        [{coordinate: SIZE * fiber + coordinate for coordinate in range(SIZE)} for fiber in range(4)],
    ),
    "compressed": (
        lambda missing_empty: lambda _quirks: CompressedLocator("block", LEVEL, missing_empty=missing_empty),
        POSITIONS,
    ),
}


def numbered(nested, depth, counter):
    """A nested list with a number of its own in place of each element."""
    if depth == 0:
        return [next(counter) for _ in nested]
    return [numbered(part, depth - 1, counter) for part in nested]


def expected(tokens, references, bases, positions, missing_empty):
    """The triples that leave."""
    triples = []
    for token, reference, base in zip(tokens, references, bases, strict=True):
        if isinstance(token, str):
            triples.append((token, token, token))
        elif token in positions[base]:
            triples.append((token, reference, positions[base][token]))
        elif missing_empty:
            triples.append(("N", "N", "N"))
    return triples


@pytest.mark.parametrize("kind", MAKERS)
@settings(max_examples=60, deadline=None)
@given(
    drawn=nested_lists(deepest=2),
    with_base=st.booleans(),
    missing_empty=st.booleans(),
    gap=gaps,
    seed=seeds,
    capacity=capacities,
)
def test_what_is_found(kind, drawn, with_base, missing_empty, gap, seed, capacity):
    make, positions = MAKERS[kind]
    depth, nested = drawn
    tokens = flatten(nested, depth)
    references = flatten(numbered(nested, depth, iter(range(100, 10_000))), depth)
    bases = [
        token if isinstance(token, str) else (3 * place) % 4 if with_base else 0
        for place, token in enumerate(tokens)
    ]
    inputs = {"in_crd": with_gaps(tokens, gap), "in_ref": with_gaps(references)}
    if with_base:
        inputs["in_base"] = with_gaps(bases, seed)
    outputs = [f"out_{name}" for name in ("crd", "ref", "ref2")]
    found = run_streams(make(missing_empty)(0), inputs, outputs, checked=not missing_empty)
    triples = list(zip(*(tokens_of(found[port]) for port in outputs), strict=True))
    assert triples == expected(tokens, references, bases, positions, missing_empty)
    if not missing_empty:
        check_as_hardware(make(missing_empty), inputs, outputs, seed=seed, capacity=capacity)


def cycles_of(block, coordinates, base):
    tokens = [*coordinates, "S0", "D"]
    streams = {"in_crd": tokens, "in_ref": tokens, "in_base": [base] * len(coordinates) + ["S0", "D"]}
    found = run_streams(block, {port: with_gaps(stream) for port, stream in streams.items()}, ["out_ref2"])
    return [cycle for cycle, _token in found["out_ref2"]]


def test_a_search_takes_a_cycle_in_a_dense_level_and_the_bits_of_the_length_in_a_compressed_one():
    assert cycles_of(DenseLocator("block", SIZE), [0, 1, 2], 1) == [0, 1, 2, 3, 4]
    assert cycles_of(CompressedLocator("block", LEVEL), [0, 2, 5], 3) == [2, 5, 8, 9, 10]  # of 7 elements
    assert cycles_of(CompressedLocator("block", LEVEL), [6], 2) == [0, 1, 2]
    assert cycles_of(CompressedLocator("block", LEVEL), [3, 4], 0) == [3, 4, 5]  # of 3; the first is missed


def test_n_is_not_found():
    inputs = {"in_crd": with_gaps([3, 4, "S0", "D"]), "in_ref": with_gaps(["N", 7, "S0", "D"])}
    block = DenseLocator("block", SIZE)
    assert tokens_of(run_streams(block, inputs, ["out_ref2"])["out_ref2"]) == [4, "S0", "D"]
    assert (block.found, block.missed) == (1, 1)


def test_refusals():
    with pytest.raises(ValueError, match="block: the size of a dense level must not be negative"):
        DenseLocator("block", -1)
    inputs = {"in_crd": with_gaps([3, "S0", "D"]), "in_ref": with_gaps(["S0", 7, "D"])}
    with pytest.raises(SimulationError, match="block: in_crd, in_ref and in_base must have the same shape"):
        run_streams(DenseLocator("block", SIZE), inputs, [])
    inputs = {"in_crd": with_gaps([3]), "in_ref": with_gaps([3]), "in_base": with_gaps([4])}
    with pytest.raises(SimulationError, match="block: reference 4 names no fiber; the level has 4"):
        run_streams(CompressedLocator("block", LEVEL), inputs, [])
