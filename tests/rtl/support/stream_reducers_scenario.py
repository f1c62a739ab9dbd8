"""The reducers that see coordinates, and what stands in front of accumulators."""

import random
from dataclasses import replace

from nested import DONE_TOKEN, EMPTY_TOKEN, coordinates, mapped, nested, number, stop, stream, value
from stream_base import LEAVES, StreamScenario
from stream_values_scenario import number_of, summed_bits, values_of

from fiberscope.hw.streams.accumulators_rtl import SparseAccumulatorParameters, TensorAccumulatorParameters
from fiberscope.hw.streams.fiber_reduce_rtl import FiberReducerParameters
from fiberscope.hw.streams.run_sum_rtl import RunSumParameters
from fiberscope.hw.streams.stop_dropper_rtl import CARRIES, RTL_DROPS_ALL, VALUES, StopDropperParameters
from fiberscope.hw.streams.tokens import DATA
from fiberscope.sim.testing import Token


def _fiber_reducer(generator: random.Random) -> FiberReducerParameters:
    bits = generator.choice([2, 8, 32, 44])
    return FiberReducerParameters(generator.choice([4, 16, 55]), bits, bits + 9)


def _fibers(generator: random.Random, given: FiberReducerParameters) -> dict[str, list[Token]]:
    """Values, now and then an N, and a coordinate for each of their fibers, many of which are empty."""
    depth = generator.randint(0, 2)
    lists = nested(generator, depth + 1, LEAVES, 9)
    outer = mapped(lists, depth + 1, lambda _: number(generator.randrange(1 << given.coordinate_bits)))
    values = values_of(generator, depth + 1, lists, given, summed_bits(given, 9))
    return {
        "in_crd": stream(outer, depth),
        "in_val": [EMPTY_TOKEN if t[0] == DATA and generator.random() < 0.05 else t for t in values],
    }


FIBER_REDUCER = StreamScenario("fiber_reducer", _fiber_reducer, _fibers, ())
LARGE_FIBER_REDUCER = replace(FIBER_REDUCER, draw=lambda _: FiberReducerParameters(55, 43, 53))


def _with_stops(generator: random.Random, given: StopDropperParameters) -> dict[str, list[Token]]:
    depth = generator.randint(0, 3)
    lists = nested(generator, depth, LEAVES, 9)
    if given.carries == VALUES:
        tokens = values_of(generator, depth, lists, given, given.value_bits)
    else:
        tokens = stream(
            mapped(
                lists,
                depth,
                lambda fiber: [number(c) for c in coordinates(generator, len(fiber), given.coordinate_bits)],
            ),
            depth,
        )
    return {"in_stream": [EMPTY_TOKEN if t[0] == DATA and generator.random() < 0.05 else t for t in tokens]}


STOP_DROPPER = StreamScenario(
    "stop_dropper",
    lambda generator: StopDropperParameters(
        generator.choice(CARRIES),
        generator.choice([9, 16, 55]),
        generator.choice([2, 32, 53]),
        generator.choice([RTL_DROPS_ALL, RTL_DROPS_ALL, 0, 1, 14]),
    ),
    _with_stops,
    (),
)
LARGE_STOP_DROPPER = replace(
    STOP_DROPPER, draw=lambda generator: StopDropperParameters(generator.choice(CARRIES), 55, 53)
)


_Accumulator = SparseAccumulatorParameters | TensorAccumulatorParameters


def _points(
    generator: random.Random, ways: int, kept: int, given: _Accumulator, count: int
) -> list[tuple[int, ...]]:
    """So many points, no more of them differ than there is room for, whose first coordinates are sorted."""
    most = (1 << given.coordinate_bits) - 1
    many = max(30, given.points)
    crds = [0, 1, 2, most, most - 1, *(generator.randrange(most) for _ in range(many - 5))]
    crds = crds[: generator.choice([2, 4, 8, many])] if given.points < many else crds
    count = max(count, 2 * given.points) if given.points == many else count
    pool = [tuple(generator.choice(crds) for _ in range(ways)) for _ in range(given.points)]
    return sorted((generator.choice(pool) for _ in range(count)), key=lambda point: point[:kept])


def _of_points(
    generator: random.Random, labels: list[str], points: list[tuple[int, ...]], given: _Accumulator
) -> dict[str, list[Token]]:
    """A stream for each coordinate, and one of values, now and then an N."""
    bits = summed_bits(given, 10)
    values = [
        EMPTY_TOKEN if generator.random() < 0.05 else value(number_of(generator, given, bits)) for _ in points
    ]
    crds = {
        label: [*(number(point[way]) for point in points), DONE_TOKEN] for way, label in enumerate(labels)
    }
    return crds | {"in_val": [*values, DONE_TOKEN]}


def _sparse(generator: random.Random) -> SparseAccumulatorParameters:
    bits = generator.choice([2, 8, 32, 40])
    points, order = generator.choice([2, 3, 12, 24]), generator.choice([1, 2])
    return SparseAccumulatorParameters(points, generator.choice([5, 16, 55]), bits, bits + 10, order)


def _pairs(
    generator: random.Random, given: SparseAccumulatorParameters, count: int = 120
) -> dict[str, list[Token]]:
    points = _points(generator, 2, 2 - given.order, given, count)
    return _of_points(generator, ["in_crd_outer", "in_crd_inner"], points, given)


def _tensor(generator: random.Random) -> TensorAccumulatorParameters:
    bits = generator.choice([2, 8, 32, 40])
    points, ways = generator.choice([2, 3, 12, 24]), generator.choice([1, 2, 3, 4])
    coordinate_bits, kept = generator.choice([5, 16, 55]), generator.randrange(ways)
    flushes = generator.choice([0, 1])
    kept = 0 if flushes else kept
    return TensorAccumulatorParameters(points, coordinate_bits, bits, bits + 10, ways, kept, flushes)


def _in_tasks(generator: random.Random, points: dict[str, list[Token]]) -> dict[str, list[Token]]:
    """The same with stops at all inputs here and there, and one at the end."""
    stops = {place for place in range(len(points["in_val"]) - 1) if generator.random() < 0.2}
    ends = {*stops, len(points["in_val"]) - 1}
    return {
        label: [
            token
            for place, own in enumerate(tokens)
            for token in ([stop(0)] if place in ends else []) + [own]
        ]
        for label, tokens in points.items()
    }


def _tuples(
    generator: random.Random, given: TensorAccumulatorParameters, count: int = 90
) -> dict[str, list[Token]]:
    points = _points(generator, given.ways, given.kept, given, count)
    labels = [f"in_crd[{way}]" for way in range(given.ways)]
    inputs = _of_points(generator, labels, points, given)
    return _in_tasks(generator, inputs) if given.flushes else inputs


def _run_sum(generator: random.Random) -> RunSumParameters:
    bits = generator.choice([2, 8, 32, 40])
    return RunSumParameters(generator.choice([4, 16, 55]), bits, bits + 9)


def _runs(generator: random.Random, given: RunSumParameters) -> dict[str, list[Token]]:
    """Points whose coordinates come again and again, now and then an N among the values."""
    depth = generator.randint(0, 2)
    lists = nested(generator, depth, LEAVES, 20)
    bits = given.coordinate_bits

    def fiber(leaves: list[None]) -> list[Token]:
        few = coordinates(generator, 1 + len(leaves) // generator.choice([1, 2, 5]), bits)
        return [number(crd) for crd in sorted(generator.choice(few) for _ in leaves)]

    values = values_of(generator, depth, lists, given, summed_bits(given, 9))
    return {
        "in_crd": stream(mapped(lists, depth, fiber), depth),
        "in_val": [EMPTY_TOKEN if t[0] == DATA and generator.random() < 0.05 else t for t in values],
    }


RUN_SUM = StreamScenario("run_sum", _run_sum, _runs, ())
LARGE_RUN_SUM = replace(RUN_SUM, draw=lambda _: RunSumParameters(55, 43, 53))


SPARSE_ACCUMULATOR = StreamScenario("sparse_accumulator", _sparse, _pairs, ())
LARGE_SPARSE_ACCUMULATOR = replace(
    SPARSE_ACCUMULATOR,
    draw=lambda generator: SparseAccumulatorParameters(64, 55, 43, 53, generator.choice([1, 2])),
)
TENSOR_ACCUMULATOR = StreamScenario("tensor_accumulator", _tensor, _tuples, ())
LARGE_TENSOR_ACCUMULATOR = replace(
    TENSOR_ACCUMULATOR,
    draw=lambda generator: TensorAccumulatorParameters(64, 55, 43, 53, 8, generator.randrange(8)),
)
