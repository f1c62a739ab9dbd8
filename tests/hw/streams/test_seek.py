"""Look-ups, computed coordinates and counters, against plain rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stream_checks import capacities, check_as_hardware, seeds

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.counter import Counter
from fiberscope.hw.streams.seek import Projection, Seek
from fiberscope.hw.streams.skip_intersector import SkipAhead
from fiberscope.hw.streams.testing import run_streams, tokens_of, with_gaps
from fiberscope.hw.streams.tokens import CRD
from fiberscope.sim import SimulationError

END = ["S0", "D"]
LEVEL = Level([0, 3, 3, 5], [1, 4, 9, 0, 4])
FIBERS = ([1, 4, 9], [], [0, 4])
asked = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 2) | st.just("N")), max_size=12)


def sent(block, inputs, outputs, checked=True):
    """The tokens at each output."""
    streams = {port: with_gaps(stream) for port, stream in inputs.items()}
    found = run_streams(block, streams, outputs, checked=checked)
    return [tokens_of(found[port]) for port in outputs]


@given(asked, seeds, capacities)
def test_what_a_fiber_has_goes_on_with_all_that_travels(sought, seed, capacity):
    inputs = {
        "in_crd": [coordinate for coordinate, _fiber in sought] + END,
        "in_base": [fiber for _coordinate, fiber in sought] + END,
        "in_carried0": list(range(len(sought))) + END,
    }
    outputs = ["out_located", "out_carried0"]
    block = Seek("block", LEVEL, [CRD])
    located, along = sent(block, inputs, outputs)
    hits = [
        at for at, (coordinate, fiber) in enumerate(sought) if fiber != "N" and coordinate in FIBERS[fiber]
    ]
    places = [
        LEVEL.begin(fiber) + FIBERS[fiber].index(coordinate)
        for coordinate, fiber in (sought[at] for at in hits)
    ]
    assert along == hits + END
    assert located == places + END
    assert (block.hits, block.misses) == (len(hits), len(sought) - len(hits))
    drawn = {port: with_gaps(stream, seed) for port, stream in inputs.items()}
    check_as_hardware(
        lambda _quirks: Seek("block", LEVEL, [CRD]), drawn, outputs, seed=seed, capacity=capacity
    )


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=9))
def test_a_projection_adds_parts_of_coordinates(pairs):
    """The first is 3 times the part of size 5 above 7; the second is taken off."""
    inputs = {f"in_crd[{way}]": [pair[way] for pair in pairs] + END for way in (0, 1)}
    wanted = [3 * (first // 7 % 5) - second + 2 for first, second in pairs]
    (found,) = sent(Projection("block", [(3, 7, 5), (-1, 1, 0)], 2), inputs, ["out_crd"], checked=False)
    assert found == [number if number >= 0 else "N" for number in wanted] + END


@pytest.mark.parametrize(
    ("arguments", "around", "wanted"),
    [
        ((3,), [7, 5], [0, 1, 2, "S0", 0, 1, 2, "S1", "D"]),
        ((7, 3), [0], [0, 3, 6, "S1", "D"]),
        ((5, 1, 3), [0, 3], [0, 1, 2, "S0", 3, 4, "S1", "D"]),
        ((0,), [0], ["S1", "D"]),
    ],
)
def test_a_counter_makes_coordinates_of_a_loop_or_of_a_piece(arguments, around, wanted):
    assert sent(Counter("block", *arguments), {"in_ref": [*around, *END]}, ["out_crd"]) == [wanted]


def test_refusals():
    with pytest.raises(ValueError, match="block: a projection has terms"):
        Projection("block", [])
    with pytest.raises(ValueError, match="block: the step must be at least 1, not 0"):
        Counter("block", 3, 0)
    with pytest.raises(SimulationError, match="block has 2 terms, but 1 in_crd"):
        run_streams(Projection("block", [(1, 1, 0), (1, 1, 0)]), {"in_crd[0]": with_gaps(END)}, [])


@pytest.mark.parametrize("second", [["S0", 0, "D"], [0, "S1", "D"], [0, "D"]])
@pytest.mark.parametrize(
    ("make", "ports"),
    [
        (lambda: Seek("block", LEVEL), ["in_crd", "in_base"]),
        (lambda: Projection("block", [(1, 1, 0), (1, 1, 0)]), ["in_crd[0]", "in_crd[1]"]),
        (lambda: SkipAhead("block", LEVEL, LEVEL), ["in_ref0", "in_ref1"]),
    ],
)
def test_inputs_of_another_shape_are_refused(make, ports, second):
    inputs = dict(zip(ports, (with_gaps([0, *END]), with_gaps(second)), strict=True))
    with pytest.raises(SimulationError, match=r"cycle \d+, block: .* the streams must have the same shape"):
        run_streams(make(), inputs, [])


def test_a_coordinate_that_is_missing_has_no_projection():
    inputs = {"in_crd[0]": [4, "N", 2, *END], "in_crd[1]": [1, 1, "N", *END]}
    (found,) = sent(Projection("block", [(2, 1, 0), (1, 1, 0)]), inputs, ["out_crd"], checked=False)
    assert found == [9, "N", "N", *END]
