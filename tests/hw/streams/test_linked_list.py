"""Levels of linked lists: written in any order, scanned in that of their fibers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nested_lists import flatten
from scanner_model import PlainLinkedList
from stream_checks import (
    capacities,
    check_as_hardware,
    check_every_cycle,
    gaps,
    quirk_masks,
    reference_streams,
    seeds,
)

from hw.streams.linked_list import LinkedLevel, LinkedListScanner, LinkedListWriter
from hw.streams.testing import run_streams, tokens_of, with_gaps
from sim import SimulationError

FIBERS = [[1, 4, 9], [], [6], [0, 2], [0, 1, 2, 5, 7, 8, 11]]


def scanner(link_cycles):
    return lambda quirks: LinkedListScanner("block", LinkedLevel.of(FIBERS), link_cycles, quirks)


@settings(max_examples=100, deadline=None)
@given(tokens=reference_streams(), gap=gaps, link_cycles=st.integers(1, 4), quirks=quirk_masks)
def test_every_cycle(tokens, gap, link_cycles, quirks):
    inputs = {"in_ref": with_gaps(tokens, gap)}
    check_every_cycle(
        scanner(link_cycles), lambda mask: PlainLinkedList(FIBERS, link_cycles, mask), inputs, quirks
    )


@settings(max_examples=30, deadline=None)
@given(tokens=reference_streams(), link_cycles=st.integers(1, 3), seed=seeds, capacity=capacities)
def test_as_hardware(tokens, link_cycles, seed, capacity):
    inputs = {"in_ref": with_gaps(tokens)}
    check_as_hardware(scanner(link_cycles), inputs, ["out_crd", "out_ref"], seed=seed, capacity=capacity)


@given(pairs=st.lists(st.sets(st.integers(0, 4)).map(sorted), max_size=8), gap=gaps)
def test_what_is_written_column_by_column_is_read_row_by_row(pairs, gap):
    """The multiply phase of OuterSPACE: k outermost, i within; the level of k lies under i."""
    block = LinkedListWriter("block", 5)
    run_streams(
        block,
        {
            "in_outer": with_gaps(flatten(pairs, 1), gap),
            "in_crd": with_gaps(flatten([[k] * len(rows) for k, rows in enumerate(pairs)], 1)),
        },
        [],
    )
    rows = [[k for k, written in enumerate(pairs) if i in written] for i in range(5)]
    scan = LinkedListScanner("scan", block.level)
    found = run_streams(scan, {"in_ref": with_gaps(flatten([*range(5)], 0))}, ["out_crd", "out_ref"])
    assert tokens_of(found["out_crd"]) == flatten(rows, 1)
    nodes = [(i, k) for k, written in enumerate(pairs) for i in written]
    children = [[nodes.index((i, k)) for k in row] for i, row in enumerate(rows)]
    assert tokens_of(found["out_ref"]) == flatten(children, 1)
    assert block.stored == len(nodes)


def test_refusals():
    with pytest.raises(ValueError, match="block: link_cycles must be at least 1, not 0"):
        LinkedListScanner("block", LinkedLevel(1), 0)
    with pytest.raises(ValueError, match="a linked level must not have -1 fibers"):
        LinkedLevel(-1)
    with pytest.raises(SimulationError, match="block: reference 5 names no fiber; the level has 5"):
        run_streams(scanner(1)(0), {"in_ref": [(0, 5)]}, [])
    for outer, coordinates, message in (
        ([5, "D"], [0, "D"], "reference 5 names no fiber; the level has 5"),
        ([0, "S0"], [0, 1], "in_outer and in_crd must have the same shape"),
    ):
        inputs = {"in_outer": with_gaps(outer), "in_crd": with_gaps(coordinates)}
        with pytest.raises(SimulationError, match=f"block: {message}"):
            run_streams(LinkedListWriter("block", 5), inputs, [])
