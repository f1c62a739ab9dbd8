"""Accumulators, and points into fibers: against their plain models and dictionaries, and what they refuse."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nested_lists import flatten
from stream_pairs import Pair, check_bounded, check_pair, some_quirks
from stream_trees import generator_of
from streams.plain import EVERY_QUIRK, drive
from streams.plain_accumulators import MatrixReduce as PlainMatrixReduce
from streams.plain_accumulators import PointToFiber as PlainPointToFiber
from streams.plain_accumulators import VectorReduce as PlainVectorReduce

from fiberscope.hw.streams.accumulators import MatrixReduce, VectorReduce
from fiberscope.hw.streams.points import PointToFiber
from fiberscope.hw.streams.quirks import PUBLIC
from fiberscope.hw.streams.testing import run_streams, tokens_of
from fiberscope.sim import SimulationError

POINTS = {"outer": "in_crd_outer", "inner": "in_crd_inner", "val": "in_val"}
FIBERS = {"crd_outer": "out_crd_outer", "crd_inner": "out_crd_inner", "val": "out_val"}
OUTER_INNER = ({"outer": "in_outer", "inner": "in_inner"}, {"outer": "out_outer", "inner": "out_inner"})


def accumulator(block, plain):
    make = lambda quirks, val_stkn=False: block("block", val_stkn, quirks)  # noqa: E731
    return Pair(make, plain, POINTS, FIBERS)


VECTOR = accumulator(VectorReduce, PlainVectorReduce)
MATRIX = accumulator(MatrixReduce, PlainMatrixReduce)
CONVERTER = Pair(lambda quirks: PointToFiber("block", quirks), PlainPointToFiber, *OUTER_INNER)
seeds = st.integers(0, 2**32)


def points(generator, ordered):
    """Points and their values; ordered, outer coordinates do not decrease."""
    bound, count = generator.choice([(2, 12), (6, 25), (1000, 8), (5, 0), (5, 1)])
    outers = [generator.randrange(bound) for _ in range(count)]
    return [
        (outer, generator.randrange(bound), generator.choice([0.5, -2.0, 3.0]))
        for outer in (sorted(outers) if ordered else outers)
    ]


def streams_of(drawn):
    return {
        port: [*(point[place] for point in drawn), "D"]
        for place, port in enumerate(("outer", "inner", "val"))
    }


@given(seeds, st.sampled_from([VECTOR, MATRIX]), st.booleans())
def test_an_accumulator_does_as_its_plain_model_in_every_cycle(seed, pair, val_stkn):
    generator = generator_of(seed)
    quirks = some_quirks(generator, (17, 18, 25))
    streams = streams_of(points(generator, generator.random() < 0.6))
    check_pair(pair, streams, generator, quirks, {"val_stkn": val_stkn})
    # Running totals, of a row that comes back, are those of the cycle in which they are read.
    check_bounded(pair, streams, generator, quirks - {17}, {"val_stkn": val_stkn})


@given(seeds)
def test_points_become_fibers_as_the_plain_model_has_it(seed):
    generator = generator_of(seed)
    drawn = sorted({(outer, inner) for outer, inner, _ in points(generator, ordered=True)})
    streams = {port: [*(p[n] for p in drawn), "D"] for n, port in enumerate(("outer", "inner"))}
    check_pair(CONVERTER, streams, generator, some_quirks(generator, (18,)))
    check_bounded(CONVERTER, streams, generator)


@given(seeds, st.sampled_from([PlainVectorReduce, PlainMatrixReduce]))
def test_the_plain_models_sum_by_coordinate(seed, model):
    generator = generator_of(seed)
    drawn = points(generator, ordered=model is PlainVectorReduce)
    sums = defaultdict(lambda: defaultdict(float))
    for outer, inner, value in drawn:
        sums[outer][inner] += value
    rows = [sums[outer] for outer in sorted(sums)]
    timed = {port: list(enumerate(stream)) for port, stream in streams_of(drawn).items()}
    found = drive(model(()), timed)
    assert tokens_of(found["crd_outer"]) == flatten(sorted(sums), 0)
    assert tokens_of(found["crd_inner"]) == flatten([sorted(row) for row in rows], 1)
    assert tokens_of(found["val"]) == flatten([[row[inner] for inner in sorted(row)] for row in rows], 1)


def run(pair, drawn, quirks=()):
    timed = {port: list(enumerate(stream)) for port, stream in streams_of(drawn).items()}
    return pair.run(timed, quirks)


def test_a_row_that_comes_back_is_refused_or_leaves_with_running_totals():
    back = [(0, 1, 1.0), (2, 1, 1.0), (0, 1, 5.0)]
    with pytest.raises(SimulationError, match=r"cycle 3, block: \(0, 1, 5.0\) is behind row 2"):
        run(VECTOR, back)
    assert tokens_of(run(VECTOR, back, EVERY_QUIRK)["crd_outer"]) == [0, 2, 0, "S0", "D"]
    assert tokens_of(run(MATRIX, back)["val"]) == [6.0, "S0", 1.0, "S1", "D"]


def test_no_point_at_all_is_an_empty_matrix():
    for pair in (VECTOR, MATRIX):
        empty = {name: tokens_of(stream) for name, stream in run(pair, []).items()}
        assert empty == {"crd_outer": ["S0", "D"], "crd_inner": ["S1", "D"], "val": ["S1", "D"]}
    assert tokens_of(run(VECTOR, [], EVERY_QUIRK)["crd_outer"]) == ["D"]
    with pytest.raises(SimulationError, match="no point, and none came before"):
        run(MATRIX, [], EVERY_QUIRK)


def test_the_outputs_are_well_formed_and_have_the_same_shape():
    drawn = [(0, 4, 1.0), (0, 2, 2.0), (3, 1, 4.0)]
    given_streams = VECTOR.given({port: list(enumerate(s)) for port, s in streams_of(drawn).items()})
    ports = ["out_crd_outer", "out_crd_inner", "out_val"]
    found = run_streams(VectorReduce("block"), given_streams, ports, same_shape=[ports[1:]])
    assert found["out_val"] == [(2, 2.0), (3, 1.0), (4, "S0"), (5, 4.0), (6, "S1"), (7, "D")]


def test_a_stop_is_no_point():
    for block in (VectorReduce("block"), MatrixReduce("block", quirks=PUBLIC)):
        given_streams = {port: [(0, "S0"), (1, "D")] for port in POINTS.values()}
        with pytest.raises(SimulationError, match=r"cycle 1, block: \(S0, S0, S0\) is no point"):
            run_streams(block, given_streams, [])
    with pytest.raises(SimulationError, match="block: 1 on in_outer and S0 on in_inner are no point"):
        run_streams(PointToFiber("block"), {"in_outer": [(0, 1)], "in_inner": [(0, "S0")]}, [])


def test_accumulations_are_counted():
    block = MatrixReduce("block")
    drawn = [(1, 1, 1.0), (1, 1, 2.0), (1, 1, 3.0), (2, 1, 1.0), (2, 1, 1.0), (2, 5, 1.0)]
    run_streams(block, MATRIX.given({port: list(enumerate(s)) for port, s in streams_of(drawn).items()}), [])
    found = block.counters()
    assert [found[name] for name in ("points", "elements", "merged", "most_points", "most_held")] == [
        6,
        3,
        2,
        3,
        3,
    ]
