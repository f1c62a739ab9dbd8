"""A channel shows its head alone: what is behind a token is not known in the cycle in which that is taken."""

import pytest

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q0
from fiberscope.hw.streams.reduce import FiberReduce
from fiberscope.hw.streams.repeater import Repeater
from fiberscope.hw.streams.testing import run_streams

SEGMENTS = [0, 0, 2, 2]  # the first and the third fiber are empty


def scanned(references, quirks):
    block = CompressedScanner("scanner", Level(SEGMENTS, [3, 5]), quirks)
    return run_streams(block, {"in_ref": list(enumerate(references))}, ["out_crd", "out_ref"])["out_crd"]


@pytest.mark.parametrize(
    ("quirks", "cycles"), [(NO_QUIRKS, [0, 1, 2, 4, 6, 7]), (Q0, [0, 1, 2, 3, 4, 5])], ids=["clean", "Q0"]
)
def test_the_stop_of_an_empty_fiber_leaves_a_cycle_later(quirks, cycles):
    tokens = [3, 5, "S0", "S0", "S1", "D"]
    assert scanned([1, 0, 2, "S0", "D"], quirks) == list(zip(cycles, tokens, strict=True))


@pytest.mark.parametrize(("quirks", "cycles"), [(NO_QUIRKS, [4, 5]), (Q0, [3, 4])], ids=["clean", "Q0"])
def test_so_does_that_of_no_fiber(quirks, cycles):
    assert scanned([1, "N", "S0", "D"], quirks)[3:] == [(cycles[0], "S1"), (cycles[1], "D")]


@pytest.mark.parametrize(
    ("quirks", "cycles"), [(NO_QUIRKS, [3, 4, 5, 6]), (Q0, [2, 3, 4, 5])], ids=["clean", "Q0"]
)
def test_so_does_that_of_a_reference_taken_with_its_only_signal(quirks, cycles):
    block = Repeater("repeater", quirks)
    given = {
        "in_ref": [(0, 4), (0, 5), (0, "S0"), (0, "D")],
        "in_repsig": [(0, "R"), (1, "S"), (2, "S"), (3, "D")],
    }
    found = run_streams(block, given, ["out_ref"])["out_ref"]
    assert found == [(0, 4), (1, "S0"), (cycles[0], "S1"), (cycles[1], "D")]


def test_so_does_the_sum_of_an_empty_fiber_that_ends_a_list():
    """In cycle 3 its coordinate, 5, and the list's stop behind that are both there."""
    given = {
        "in_crd": [(0, 4), (0, 5), (0, "S0"), (0, "D")],
        "in_val": [(0, 1.0), (1, 2.0), (2, "S0"), (3, "S1"), (4, "D")],
    }
    found = run_streams(FiberReduce("reduce"), given, ["out_val"])["out_val"]
    assert found == [(2, 3.0), (4, 0.0), (5, "S0"), (6, "D")]
