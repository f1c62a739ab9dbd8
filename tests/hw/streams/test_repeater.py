"""The repeater: every cycle against the plain model, and nested lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nested_lists import flatten
from stream_checks import check_every_cycle, gaps, quirk_masks, references
from streams.plain_repeat import Repeater as PlainRepeater

from fiberscope.hw.streams.quirks import PUBLIC, Q12
from fiberscope.hw.streams.repeater import Repeater
from fiberscope.hw.streams.testing import run_streams, tokens_of, with_gaps
from fiberscope.sim import SimulationError


def repeater(quirks):
    return Repeater("block", quirks)


def mapped(nested, depth, change):
    """A nested list, each element changed."""
    if depth == 0:
        return [change(element) for element in nested]
    return [mapped(part, depth - 1, change) for part in nested]


@st.composite
def repeats(draw):
    """References, the signal by which they are repeated, and what comes of it."""
    depth = draw(st.integers(0, 2))
    nested = st.lists(st.tuples(references, st.integers(0, 4)), max_size=4)
    for _ in range(depth):
        nested = st.lists(nested, max_size=3)
    drawn = draw(nested)
    signals = flatten(mapped(drawn, depth, lambda pair: ["R"] * pair[1]), depth + 1)
    return (
        flatten(mapped(drawn, depth, lambda pair: pair[0]), depth),
        [signal[0] for signal in signals],
        flatten(mapped(drawn, depth, lambda pair: [pair[0]] * pair[1]), depth + 1),
    )


@given(streams=repeats(), gap=gaps, other=gaps, late=st.integers(0, 9), quirks=quirk_masks)
def test_every_cycle(streams, gap, other, late, quirks):
    tokens, signals, _repeated = streams
    inputs = {"in_ref": with_gaps(tokens, gap)}
    start = late if not quirks & Q12 else max(late, inputs["in_ref"][0][0])  # else a signal is lost
    inputs["in_repsig"] = [(start + cycle, signal) for cycle, signal in with_gaps(signals, other)]
    check_every_cycle(repeater, PlainRepeater, inputs, quirks)


@given(streams=repeats(), gap=gaps, other=gaps)
def test_each_reference_is_repeated_as_often_as_is_signalled(streams, gap, other):
    tokens, signals, repeated = streams
    inputs = {"in_ref": with_gaps(tokens, gap), "in_repsig": with_gaps(signals, other)}
    assert tokens_of(run_streams(repeater(0), inputs, ["out_ref"])["out_ref"]) == repeated


def test_a_signal_before_the_first_reference_is_lost_with_its_quirk_alone():
    inputs = {"in_ref": [(3, 7), (4, "D")], "in_repsig": [(0, "R"), (1, "R"), (3, "R"), (4, "S"), (5, "D")]}
    lost = run_streams(repeater(Q12), inputs, ["out_ref"])["out_ref"]
    assert lost == [(3, 7), (4, "S0"), (5, "D")]
    kept = run_streams(repeater(PUBLIC & ~Q12), inputs, ["out_ref"])["out_ref"]
    assert kept == [(3, 7), (4, 7), (5, 7), (6, "S0"), (7, "D")]


@pytest.mark.parametrize(
    ("references", "signals", "message"),
    [
        ([7, "S0", "D"], ["R", "D"], "the signal D does not fit the reference stream, of which 7 is held"),
        (["S0", "D"], ["R", "S", "D"], "the signal R does not fit the reference stream, of which S0 is held"),
        (
            [7, "D"],
            ["R", "S", "S", "D"],
            "the signal S does not fit the reference stream, of which D is held",
        ),
    ],
)
def test_a_signal_that_does_not_fit_is_refused(references, signals, message):
    with pytest.raises(SimulationError, match=f"block: {message}"):
        run_streams(
            repeater(0), {"in_ref": with_gaps(references), "in_repsig": with_gaps(signals)}, ["out_ref"]
        )
