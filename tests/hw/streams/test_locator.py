"""The locator: the references found, against a plain rule, and its cycles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nested_lists import flatten, nested_lists
from stream_checks import capacities, check_as_hardware, gaps, seeds

from fiberscope.hw.streams.locator import DenseLocator
from fiberscope.hw.streams.testing import run_streams, tokens_of, with_gaps

OUTPUTS = ["out_crd", "out_ref", "out_ref2"]
SIZE = 9
FIBERS = 4


def numbered(nested, depth, counter):
    """A nested list with a number of its own in place of each element."""
    if depth == 0:
        return [next(counter) for _ in nested]
    return [numbered(part, depth - 1, counter) for part in nested]


def expected(tokens, references, bases):
    """The triples that leave."""
    triples = []
    for token, reference, base in zip(tokens, references, bases, strict=True):
        if isinstance(token, str):
            triples.append((token, token, token))
        elif token < SIZE:
            triples.append((token, reference, SIZE * base + token))
    return triples


@given(drawn=nested_lists(deepest=2), with_base=st.booleans(), gap=gaps, seed=seeds, capacity=capacities)
def test_what_is_found(drawn, with_base, gap, seed, capacity):
    depth, nested = drawn
    tokens = flatten(nested, depth)
    references = flatten(numbered(nested, depth, iter(range(100, 10_000))), depth)
    bases = [
        token if isinstance(token, str) else (3 * place) % FIBERS if with_base else 0
        for place, token in enumerate(tokens)
    ]
    inputs = {"in_crd": with_gaps(tokens, gap), "in_ref": with_gaps(references)}
    if with_base:
        inputs["in_base"] = with_gaps(bases, seed)
    found = run_streams(DenseLocator("block", SIZE), inputs, OUTPUTS)
    triples = list(zip(*(tokens_of(found[port]) for port in OUTPUTS), strict=True))
    assert triples == expected(tokens, references, bases)
    check_as_hardware(
        lambda _quirks: DenseLocator("block", SIZE), inputs, OUTPUTS, seed=seed, capacity=capacity
    )


def cycles_of(block, coordinates, base):
    tokens = [*coordinates, "S0", "D"]
    streams = {"in_crd": tokens, "in_ref": tokens, "in_base": [base] * len(coordinates) + ["S0", "D"]}
    found = run_streams(block, {port: with_gaps(stream) for port, stream in streams.items()}, ["out_ref2"])
    return [cycle for cycle, _token in found["out_ref2"]]


def test_a_token_takes_a_cycle():
    assert cycles_of(DenseLocator("block", SIZE), [0, 1, 2], 1) == [0, 1, 2, 3, 4]


def test_n_is_not_found():
    inputs = {"in_crd": with_gaps([3, 4, "S0", "D"]), "in_ref": with_gaps(["N", 7, "S0", "D"])}
    block = DenseLocator("block", SIZE)
    assert tokens_of(run_streams(block, inputs, ["out_ref2"])["out_ref2"]) == [4, "S0", "D"]
    assert (block.found, block.missed) == (1, 1)


def test_refusals():
    with pytest.raises(ValueError, match="block: the size of a dense level must not be negative"):
        DenseLocator("block", -1)
