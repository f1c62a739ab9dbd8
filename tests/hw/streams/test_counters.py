"""What blocks count, told a second way from drawn streams that come and go; and what may wait in one."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nested_lists import fibers, flatten
from stream_checks import kind_of

from fiberscope.hw.streams.accumulators import MatrixReduce
from fiberscope.hw.streams.alu import Alu
from fiberscope.hw.streams.coordinate_dropper import CoordinateDropper
from fiberscope.hw.streams.droppers import EmptyFiberDropper, StopDropper
from fiberscope.hw.streams.hold import CoordinateHold
from fiberscope.hw.streams.join import Intersect, Union
from fiberscope.hw.streams.reduce import ScalarReduce
from fiberscope.hw.streams.repeater import RepeatSignalGenerator
from fiberscope.hw.streams.split import Split
from fiberscope.hw.streams.testing import run_streams, tokens_of, with_gaps

lists = st.lists(fibers(), max_size=4)
reals = st.lists(st.lists(st.sampled_from([0.0, 1.0, -1.0, 2.5]), max_size=5), min_size=1, max_size=5)
pairs = st.lists(st.tuples(fibers(), fibers()), max_size=4)


def run(block, inputs, outputs):
    """What a block counts, and its streams without their cycles."""
    given = {port: with_gaps(tokens) for port, tokens in inputs.items()}
    found = run_streams(block, given, outputs, checked=False)
    return block.counters(), {port: tokens_of(stream) for port, stream in found.items()}


def tally(tokens):
    return Counter(map(kind_of, tokens))


def drops_in_a_row(pair):
    """Comparisons between two matches of which each drops the smaller head of two fibers."""
    left, right, runs, run = list(pair[0]), list(pair[1]), [], 0
    while left or right:
        if left and right and left[0] == right[0]:
            left.pop(0), right.pop(0)
            runs.append(run)
            run = 0
        else:
            smaller = left if left and (not right or left[0] < right[0]) else right
            smaller.pop(0)
            run += 1
    return [*runs, run]


def joined(block, drawn):
    ways = [flatten([pair[way] for pair in drawn], 1) for way in (0, 1)]
    inputs = {f"in_{what}[{way}]": ways[way] for way in (0, 1) for what in ("crd", "ref")}
    return run(block, inputs, ["out_crd"])[0]


@given(pairs)
def test_joiners_count_what_both_have_and_what_one_has(drawn):
    common = sum(len({*left} & {*right}) for left, right in drawn)
    apart = sum(len({*left} ^ {*right}) for left, right in drawn)
    found = joined(Intersect("block"), drawn)
    runs = [run for pair in drawn for run in drops_in_a_row(pair)]
    assert (found["matches"], found["dropped"]) == (common, apart)
    assert found["longest_run"] == max(runs, default=0)
    found = joined(Union("block"), drawn)
    assert (found["common"], found["partial"]) == (common, apart)


@given(lists, st.integers(1, 5))
def test_what_passes_coordinates_counts_fibers_chunks_and_stops(drawn, factor):
    tokens = flatten(drawn, 1)
    found, _ = run(RepeatSignalGenerator("block"), {"in_crd": tokens}, ["out_repsig"])
    assert found["longest_fiber"] == max(map(len, drawn), default=0)
    found, _ = run(Split("block", factor), {"in_crd": tokens}, ["out_outer", "out_inner"])
    assert found["chunks"] == sum(len({crd // factor for crd in fiber}) for fiber in drawn)
    for make in (StopDropper, EmptyFiberDropper):
        found, streams = run(make("block"), {"in_stream": tokens}, ["out_stream"])
        assert found["dropped"] == tally(tokens)["stops"] - tally(streams["out_stream"])["stops"]


@given(lists)
def test_a_dropper_counts_the_coordinates_without_a_fiber(drawn):
    inputs = {"in_outer": flatten([list(range(len(drawn)))], 1), "in_inner": flatten([drawn], 2)}
    found, streams = run(CoordinateDropper("block"), inputs, ["out_outer", "out_inner"])
    assert found["dropped"] == sum(not fiber for fiber in drawn)
    assert tally(streams["out_outer"])["data"] == sum(bool(fiber) for fiber in drawn)


@given(reals, st.booleans())
def test_a_reducer_counts_values_and_what_they_come_to(drawn, drop):
    found, _ = run(ScalarReduce("block", drop_empty=drop), {"in_val": flatten(drawn, 1)}, ["out_val"])
    sums = [sum(fiber) for fiber in drawn if fiber or not drop]
    assert found["reductions"] == sum(map(len, drawn))
    assert (found["zeros"], found["nonzeros"]) == (sums.count(0), len(sums) - sums.count(0))


@given(st.lists(st.lists(st.floats(-9, 9), max_size=5), max_size=4))
def test_a_unit_counts_its_operations(drawn):
    tokens = flatten(drawn, 1)
    found, _ = run(Alu("block", "add"), {"in_val[0]": tokens, "in_val[1]": tokens}, ["out_val"])
    assert found["operations"] == sum(map(len, drawn))


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 5), max_size=6)), max_size=5))
def test_an_accumulator_counts_points_and_sums(drawn):
    points = [(outer, inner) for outer, row in sorted(drawn) for inner in row]
    columns = [[*column, "D"] for column in (zip(*points, strict=True) if points else ([], []))]
    inputs = dict(zip(("in_crd_outer", "in_crd_inner"), columns, strict=True))
    inputs["in_val"] = [*[1.0] * len(points), "D"]
    found, _ = run(MatrixReduce("block"), inputs, ["out_crd_outer", "out_crd_inner", "out_val"])
    times = Counter(points)
    assert (found["points"], found["elements"]) == (len(points), len(times))
    assert found["merged"] == sum(count > 1 for count in times.values())
    assert found["most_points"] == max(times.values(), default=0)


@pytest.mark.parametrize("capacity", [1, 2, 7])
def test_one_signal_waits_in_a_hold_whose_channels_are_bounded(capacity):
    """Its outer coordinate comes in cycle 100: one inner token has left by then, and any number unbounded."""
    inner = [(cycle, cycle) for cycle in range(20)]
    inputs = {"in_inner": [*inner, (20, "S1"), (21, "D")], "in_outer": [(100, 5), (101, "S0"), (102, "D")]}
    found = run_streams(
        CoordinateHold("block"), inputs, ["out_inner", "out_outer"], capacity=capacity, checked=False
    )
    assert [cycle < 100 for cycle, _ in found["out_inner"]].count(True) == 1
    assert tokens_of(found["out_outer"]) == [5] * 20 + ["S1", "D"]
    free = run_streams(CoordinateHold("block"), inputs, ["out_inner", "out_outer"], checked=False)
    assert [cycle < 100 for cycle, _ in free["out_inner"]].count(True) == 22
