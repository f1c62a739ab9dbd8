"""What stands behind a merger, as RTL alone: the tokens of the event model, however both ends stall."""

import random
from collections import deque

import pytest

from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.interface import Token, tokens_of
from fiberscope.hw.streams.merge_lists import POINTS, SUM, Lists
from fiberscope.hw.streams.merge_tables_rtl import TablesParameters, WaysParameters
from fiberscope.hw.streams.merged_points import MergedPoints
from fiberscope.hw.streams.merged_points_rtl import BLOCK as POINTS_RTL
from fiberscope.hw.streams.merged_points_rtl import MergedPointsParameters
from fiberscope.hw.streams.merged_sums import Either, PointsAndSums
from fiberscope.hw.streams.merged_sums_rtl import EITHER, POINTS_AND_SUMS, EitherParameters
from fiberscope.hw.streams.tokens import DATA, DONE, STOP
from fiberscope.sim.testing import run_block

CYCLES = 600
ROWS = ((9, 70), (8, 71), (7, 72))
OVER, ENDS = (DONE, 0, 0, 0.0), (STOP, 1, 0, 0.0)
STORED, LAST = (DATA, 1, 0, 0.0), (DATA, POINTS, 0, 0.0)  # where a fiber goes: into area 1, or on
WIDTHS = {"lists": 4, "partials": 4, "carried": 1, "coordinate_bits": 8, "reference_bits": 8, "value_bits": 8}


POINTS_OF = [(kind, "lists") for kind in (TablesParameters, MergedPointsParameters)]


def table():
    """Three lists: the coordinate of each, and the reference that travels along."""
    lists = Lists(1)
    for coordinate, along in ROWS:
        lists.coordinates.append(coordinate)
        lists.carried[0].append(along)
    return lists


def written(backend):
    """Write the table into a module."""
    for number, (coordinate, along) in enumerate(ROWS):
        wires = {"number": number, "coordinate": coordinate, "carried0": along, "valid": 1}
        backend.words.drive({f"lists_{name}": word for name, word in wires.items()})
        backend.cycle()
    backend.words.drive({"lists_valid": 0})


def carried(block, given, inputs, seed, *, has_table=True):
    """The tokens that leave the module by each port, its sinks and sources stalling."""
    backend, generator = PyrtlBackend(block.twin(given), seed), random.Random(seed)
    if has_table:
        written(backend)
    streams = block.interface(given).streams
    left = {label: deque(tokens) for label, tokens in inputs.items()}
    found = {stream.label: [] for stream in streams if stream.direction == "output"}
    for _cycle in range(CYCLES):
        for stream in streams:
            if stream.direction == "output":
                backend.words.drive({stream.wire("ready"): int(generator.random() < 0.7)})
            elif stream.label in left:
                offers = bool(left[stream.label]) and generator.random() < 0.7
                token = left[stream.label][0] if offers else (0, 0, 0, 0.0)
                fields = dict(stream.encode(Token(*token)))
                backend.words.drive({stream.wire("valid"): int(offers)} | fields)
        backend.cycle()
        wires = {**backend.words.driven(), **backend.words.seen()}
        for stream in streams:
            if stream.moves(wires) and stream.label in left:
                left[stream.label].popleft()
            elif stream.moves(wires) and stream.label in found:
                found[stream.label] += tokens_of(stream.decode(wires))
    for label, tokens in left.items():
        assert not tokens, f"{label} is left"
    return found


def held(made, block, given, inputs, outputs, seed, **options):
    """Compare what leaves with the event model; fields that a token's kind has no use for aside."""
    expected, found = run_block(made, inputs, outputs), carried(block, given, inputs, seed, **options)
    for port in outputs:
        assert [needed(token) for token in found[port]] == [needed(token) for token in expected.tokens(port)]


def needed(token):
    """Of an element all, of a stop its level, of the end its kind."""
    return tuple(token)[: {DATA: 4, STOP: 2}.get(token[0], 1)]


MERGED = [(DATA, 3, 1, 2.0), ENDS, ENDS, (DATA, 4, 0, 5.0), (DATA, 6, 2, -7.0), (DATA, 6, 1, 3.0), ENDS]
OUTPUTS = [f"out_{name}[0]" for name in ("outer", "inner", "val", "carried0")]


@pytest.mark.parametrize("seed", range(3))
def test_points_have_what_the_table_says_of_their_list(seed):
    inputs = {"merged": MERGED, "groups": [STORED, LAST, LAST, OVER]}
    given = MergedPointsParameters(**WIDTHS)
    held(MergedPoints("points", table()), POINTS_RTL, given, inputs, ["partials", *OUTPUTS], seed)


def test_the_end_of_work_takes_no_element_along():
    inputs = {"merged": [ENDS, (DATA, 1, 1, 1.0)], "groups": [LAST, OVER]}
    with pytest.raises(AssertionError, match="merged is left"):
        carried(POINTS_RTL, MergedPointsParameters(**WIDTHS), inputs, 1)


@pytest.mark.parametrize(
    ("kind", "number"), [(WaysParameters, "fibers"), (WaysParameters, "lists"), *POINTS_OF]
)
def test_references_that_cannot_hold_the_number_of_fibers_or_lists_are_refused(kind, number):
    """The segment after the last fiber would be that of fiber 0, and the highest reference marks a sum."""
    sizes = {"fibers": 1, "lists": 2} if kind is WaysParameters else {"lists": 2}
    assert kind(**sizes | {number: 15}, reference_bits=4)
    with pytest.raises(ValueError, match="reference_bits must be from 5 to 62, not 4"):
        kind(**sizes | {number: 16}, reference_bits=4)


@pytest.mark.parametrize("seed", range(3))
def test_products_and_sums_part(seed):
    merged = [*MERGED, (DATA, 5, SUM, 4.0), (DATA, 6, 2, 1.0), ENDS]
    inputs = {"merged": merged, "groups": [STORED, LAST, LAST, LAST, OVER]}
    outputs = ["targets", *OUTPUTS, "out_sum[0]"]
    rtl = [token if token[2] != SUM else (*token[:2], -1, token[3]) for token in merged]
    made, given = PointsAndSums("points", table()), TablesParameters(**WIDTHS)
    expected = run_block(made, inputs, outputs)
    found = carried(POINTS_AND_SUMS, given, {**inputs, "merged": rtl}, seed)
    for port in outputs:
        assert [needed(token) for token in found[port]] == [needed(token) for token in expected.tokens(port)]


@pytest.mark.parametrize("seed", range(3))
def test_of_two_values_at_once_the_first_goes_first(seed):
    values = [(DATA, 0, 0, 1.0), (DATA, 0, 0, 2.0), ENDS]
    inputs = {"in_first": [*values, OVER], "in_second": [(DATA, 0, 0, 3.0), ENDS, OVER]}
    found = carried(EITHER, EitherParameters(8), inputs, seed, has_table=False)
    numbers = [token.value for token in found["out_val[0]"] if token.control == DATA]
    assert sorted(numbers) == [1.0, 2.0, 3.0]
    inputs = {"in_first": [*values, ENDS, OVER], "in_second": [ENDS, values[0], ENDS, OVER]}
    held(Either("either"), EITHER, EitherParameters(8), inputs, ["out_val[0]"], seed, has_table=False)
