"""Checkers of streams that meet: what fits passes, and what does not is named with its cycle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nested_lists import fibers, flatten, nested_streams

from hw.streams.stops_checker import NestingChecker, StopsChecker
from hw.streams.testing import TimedSource, with_gaps
from hw.streams.tokens import CRD
from sim import Kernel, SimulationError


def check(checker, *streams):
    kernel = Kernel()
    kernel.clock("core", 10**9)
    kernel.add(checker)
    for number, tokens in enumerate(streams):
        source = kernel.add(TimedSource(f"source{number}", CRD, with_gaps(tokens, number or None)))
        kernel.connect(source, "out", checker, f"in_stream[{number}]", capacity=None)
    kernel.run()


@st.composite
def nestings(draw):
    """An outer stream, and an inner one that has a fiber for each of its elements."""
    depth = draw(st.integers(0, 2))
    outer = st.lists(st.tuples(st.integers(0, 9), fibers()), max_size=4)
    for _ in range(depth):
        outer = st.lists(outer, max_size=3)
    drawn = draw(outer)

    def take(nested, depth, part):
        return [take(one, depth - 1, part) if depth else one[part] for one in nested]

    return flatten(take(drawn, depth, 0), depth), flatten(take(drawn, depth, 1), depth + 1)


@given(stream=nested_streams(), dropped=st.booleans())
def test_streams_of_the_same_stops_pass(stream, dropped):
    tokens = stream[1]
    check(
        StopsChecker("joiner"), tokens, [token for token in tokens if isinstance(token, str) or not dropped]
    )


@given(streams=nestings())
def test_streams_that_nest_pass(streams):
    check(NestingChecker("dropper"), *streams)


@pytest.mark.parametrize(
    ("checker", "streams", "message"),
    [
        (
            StopsChecker,
            [[1, "S0", 2, "S1", "D"], [1, "S1", "D"]],
            "block: S0, S1 meet: streams that",
        ),
        (StopsChecker, [["S0", "D"], ["S0", "S0", "D"]], "block: D, S0 meet"),
        (NestingChecker, [[7, "S0", "D"], [1, "S0", "S1", "D"]], "block: S1, S0 meet: each element of the"),
        (NestingChecker, [[7, 8, "S0", "D"], [1, "S1", "D"]], "block: S0, S1 meet"),
        (NestingChecker, [["S0", "D"], ["S0", "S1", "D"]], "block: S1, S0 meet"),
    ],
)
def test_what_does_not_fit_is_named(checker, streams, message):
    with pytest.raises(SimulationError, match=rf"cycle \d+, {message}"):
        check(checker("block"), *streams)
