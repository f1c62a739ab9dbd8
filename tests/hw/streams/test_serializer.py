"""Merge and serializer: the order comes back whatever the ways lost, and what they refuse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nested_lists import flatten
from stream_trees import fiber, generator_of, grow, with_gaps

from fiberscope.hw.streams.serializer import Merge, Serializer
from fiberscope.hw.streams.testing import run_streams, tokens_of
from fiberscope.sim import SimulationError

seeds = st.integers(0, 2**32)


@given(seeds, st.integers(1, 4), st.integers(0, 2))
def test_elements_come_back_in_the_order_of_their_coordinates(seed, ways, depth):
    """Two loops, an element of the inner one a tree of this depth, dealt to ways by chance."""
    generator = generator_of(seed)
    lists = [
        sorted(generator.sample(range(20), generator.randint(0, 5))) for _ in range(generator.randint(0, 4))
    ]
    element = {
        crd: grow(generator, depth - 1, lambda: fiber(generator)) if depth else crd + 1 for crd in range(20)
    }
    dealt = [[generator.randrange(ways) for _ in one] for one in lists]

    def own(way, of):
        return [
            [of(c) for c, w in zip(one, turn, strict=True) if w == way]
            for one, turn in zip(lists, dealt, strict=True)
        ]

    timed = {f"in_crd[{way}]": with_gaps(generator, flatten(own(way, int), 1)) for way in range(ways)}
    bench = {"capacity": generator.choice([None, 1, 3]), "order_seed": generator.choice([None, 1])}
    found = run_streams(Merge("block", ways), timed, ["out_crd", "out_ref"], seed=seed % 5, **bench)
    assert tokens_of(found["out_crd"]) == flatten(lists, 1)
    assert tokens_of(found["out_ref"]) == flatten(dealt, 1)
    streams = {
        f"in_stream[{way}]": with_gaps(generator, flatten(own(way, element.get), 1 + depth))
        for way in range(ways)
    }
    turns = {"in_ref": with_gaps(generator, flatten(dealt, 1))}
    found = run_streams(
        Serializer("block", ways, depth), turns | streams, ["out_stream"], seed=seed % 5, **bench
    )
    assert tokens_of(found["out_stream"]) == flatten([[element[c] for c in one] for one in lists], 1 + depth)


def test_a_token_takes_a_cycle():
    ways = {"in_crd[0]": list(enumerate([1, 5, "S0", "D"])), "in_crd[1]": list(enumerate([2, "S0", "D"]))}
    found = run_streams(Merge("block", 2), ways, ["out_ref"])
    assert found == {"out_ref": [(0, 0), (1, 1), (2, 0), (3, "S0"), (4, "D")]}


def test_ways_that_end_apart_are_refused():
    with pytest.raises(SimulationError, match=r"S1 on in_crd\[1\] instead of S0"):
        run_streams(Merge("block", 2), {"in_crd[0]": [(0, "S0")], "in_crd[1]": [(0, "S1")]}, [])


def test_a_way_too_few_is_refused():
    with pytest.raises(SimulationError, match="block has 3 ways, but 2 in_crd"):
        run_streams(Merge("block", 3), {"in_crd[0]": [(0, "S0")], "in_crd[1]": [(0, "S0")]}, [])


def test_a_way_without_the_element_is_refused():
    streams = {"in_ref": [(0, 1)], "in_stream[0]": [], "in_stream[1]": [(0, "S0")]}
    with pytest.raises(SimulationError, match=r"S0 on in_stream\[1\] instead of an element"):
        run_streams(Serializer("block", 2), streams, [])


@pytest.mark.parametrize("early", [0, "N", "S0"])
def test_an_element_after_the_end_of_the_list_of_its_way_is_refused(early):
    """Way 0 ends its list with its only element; a second one would be of the next list."""
    streams = {"in_ref": [(0, 0), (1, 0), (2, "S0")], "in_stream[0]": [(0, 7), (1, "S1"), (2, early)]}
    wrong = rf"{early} on in_stream\[0\] instead of an element"
    with pytest.raises(SimulationError, match=wrong):
        run_streams(Serializer("block", 1, depth=1), streams, [])


def test_numbers_out_of_their_range_are_refused():
    with pytest.raises(ValueError, match="ways must be at least 1"):
        Merge("block", 0)
    with pytest.raises(ValueError, match="a depth must be at least 0"):
        Serializer("block", 1, -1)
