"""Reducers that see more than values: whose fiber it is, or points of any number of coordinates."""

import random
from itertools import groupby

import pytest

from fiberscope.hw.streams.alu import UnaryAlu
from fiberscope.hw.streams.reduce import FiberReduce
from fiberscope.hw.streams.tensor_reduce import TensorReduce
from fiberscope.hw.streams.testing import run_streams, tokens_of, with_gaps
from fiberscope.hw.streams.vector_reducer import VectorReducer
from fiberscope.sim import SimulationError


def reduced(crd, val, seed=None, capacity=None):
    inputs = {"in_crd": with_gaps(crd, seed), "in_val": with_gaps(val, None if seed is None else seed + 1)}
    return tokens_of(run_streams(FiberReduce("block"), inputs, ["out_val"], capacity=capacity)["out_val"])


class TestFiberReduce:
    def test_an_empty_fiber_and_an_empty_list_are_told_apart(self) -> None:
        """Both are a bare S1 on the stream of values."""
        assert reduced(["S0", "D"], ["S1", "D"]) == ["S0", "D"]
        assert reduced([7, "S0", "D"], ["S1", "D"]) == [0.0, "S0", "D"]

    @pytest.mark.parametrize("seed", range(30))
    def test_random_lists(self, seed) -> None:
        draws = random.Random(seed)
        lists = [
            [
                [draws.randint(1, 5) for _ in range(draws.choice((0, 0, 1, 3)))]
                for _ in range(draws.choice((0, 1, 1, 3)))
            ]
            for _ in range(draws.randint(1, 5))
        ]
        crd, val, wanted = [], [], []
        for number, fibers in enumerate(lists):
            level = int(number == len(lists) - 1)
            crd += [*range(len(fibers)), f"S{level}"]
            wanted += [float(sum(fiber)) for fiber in fibers] + [f"S{level}"]
            for place, fiber in enumerate(fibers):
                val += [*map(float, fiber), "S0" if place < len(fibers) - 1 else f"S{1 + level}"]
            val += [] if fibers else [f"S{1 + level}"]
        for capacity in (None, 2):
            assert reduced([*crd, "D"], [*val, "D"], seed, capacity) == [*wanted, "D"]

    @pytest.mark.parametrize(
        ("crd", "val"),
        [
            ([1, "S0", "D"], ["S0", "D"]),
            (["S0", "D"], [1.0, "S1", "D"]),
            ([1, "S0", "D"], [2.0, "D"]),
            (["D"], ["S1"]),
            (["N", "S0", "D"], ["N", "S1", "D"]),
            (["N", "D"], ["D"]),
        ],
    )
    def test_streams_that_do_not_fit_are_refused(self, crd, val) -> None:
        with pytest.raises(SimulationError, match=r"cycle \d+, block: "):
            reduced(crd, val)


def accumulated(points, ways, kept, seed=None, capacity=None):
    """The streams of coordinates and of values."""
    block = TensorReduce("block", ways, kept)
    inputs = {
        f"in_crd[{way}]": with_gaps(
            [*(point[0][way] for point in points), "D"], None if seed is None else seed + way
        )
        for way in range(ways)
    }
    inputs["in_val"] = with_gaps([*(value for _point, value in points), "D"], seed)
    outputs = [*(f"out_crd{way}" for way in range(ways)), "out_val"]
    found = run_streams(block, inputs, outputs, capacity=capacity)
    return [tokens_of(found[label]) for label in outputs]


def fibers_of(sums, way, ways):
    """The stream of coordinates of a way, or for the last but one of the values."""
    depth = min(way, ways - 1)
    prefixes = [key[: depth + 1] for key in sums] if way < ways else list(sums)
    heads = [prefix for prefix, _same in groupby(prefixes)]
    stream = []
    for place, head in enumerate(heads):
        if place:
            changed = next(level for level in range(depth + 1) if head[level] != heads[place - 1][level])
            stream += [f"S{depth - changed - 1}"] if changed < depth else []
        stream.append(head[-1] if way < ways else sums[head])
    return [*stream, f"S{depth}", "D"]


class TestTensorReduce:
    def test_a_vector(self) -> None:
        assert accumulated([((3,), 1.0), ((1,), 2.0), ((3,), 4.0)], 1, 0) == [
            [1, 3, "S0", "D"],
            [2.0, 5.0, "S0", "D"],
        ]

    def test_no_point_at_all(self) -> None:
        assert accumulated([], 3, 1) == [["S0", "D"], ["S1", "D"], ["S2", "D"], ["S2", "D"]]

    @pytest.mark.parametrize("seed", range(40))
    def test_random_points(self, seed) -> None:
        draws = random.Random(seed)
        ways = draws.randint(1, 4)
        kept = draws.randrange(ways)
        points = [tuple(draws.randrange(3) for _ in range(ways)) for _ in range(draws.choice((1, 5, 30)))]
        points.sort(key=lambda point: point[:kept])
        values = [float(draws.randint(-3, 3)) for _ in points]
        sums = dict.fromkeys(sorted(points), 0.0)
        for point, value in zip(points, values, strict=True):
            sums[point] += value
        wanted = [fibers_of(sums, way, ways) for way in range(ways + 1)]
        for capacity in (None, 2):
            assert accumulated(list(zip(points, values, strict=True)), ways, kept, seed, capacity) == wanted

    @pytest.mark.parametrize("seed", range(20))
    def test_random_tasks(self, seed) -> None:
        """The sums of each task leave at its stop; its sorted coordinates begin anew."""
        draws = random.Random(seed)
        ways = draws.randint(1, 3)
        kept = draws.randrange(ways)
        inputs, wanted = [[] for _ in range(ways + 1)], [[] for _ in range(ways + 1)]
        for _task in range(4):
            points = [tuple(draws.randrange(3) for _ in range(ways)) for _ in range(draws.choice((0, 1, 9)))]
            points.sort(key=lambda point: point[:kept])
            sums = dict.fromkeys(sorted(points), 0.0)
            for point in points:
                sums[point] += 1.0
            for way in range(ways + 1):
                inputs[way] += [*(point[way] if way < ways else 1.0 for point in points), "S0"]
                wanted[way] += [*fibers_of(sums, way, ways)[:-2], f"S{min(way, ways - 1) + 1}"]
        block = TensorReduce("block", ways, kept, flushes=True)
        ports = [*(f"in_crd[{way}]" for way in range(ways)), "in_val"]
        outputs = [*(f"out_crd{way}" for way in range(ways)), "out_val"]
        streams = {port: with_gaps([*tokens, "D"], seed) for port, tokens in zip(ports, inputs, strict=True)}
        found = run_streams(block, streams, outputs, capacity=2, checked=False)
        assert [tokens_of(found[label]) for label in outputs] == [[*tokens, "D"] for tokens in wanted]

    def test_what_comes_sorted_must_increase(self) -> None:
        with pytest.raises(SimulationError, match="must increase"):
            accumulated([((2, 0), 1.0), ((1, 0), 1.0)], 2, 1)

    @pytest.mark.parametrize("tokens", [[1, "D"], [1, "S0", 2, "D"]])
    def test_points_without_the_stop_of_their_task_are_not_lost(self, tokens) -> None:
        block = TensorReduce("block", 1, flushes=True)
        inputs = {"in_crd[0]": with_gaps(tokens), "in_val": with_gaps(tokens)}
        with pytest.raises(SimulationError, match="comes before the stop that ends a task with points"):
            run_streams(block, inputs, ["out_crd0", "out_val"], checked=False)

    def test_as_many_sorted_as_there_are_is_no_accumulator(self) -> None:
        with pytest.raises(ValueError, match="2 of 2 coordinates are sorted"):
            TensorReduce("block", 2, 2)


@pytest.mark.parametrize(("operation", "result"), [("sub", -1.5), ("div", 0.25)])
def test_a_constant_may_be_the_first_operand(operation, result) -> None:
    block = UnaryAlu("block", operation, 0.5, constant_first=True)
    found = run_streams(block, {"in_val": with_gaps([2.0, "S0", "D"])}, ["out_val"])["out_val"]
    assert tokens_of(found) == [result, "S0", "D"]


def of_fibers(lists, level=1):
    """Coordinates and values of lists of fibers; the last stop is one higher."""
    crd, val = [], []
    for number, fibers in enumerate(lists):
        stop = f"S{level + (number == len(lists) - 1)}"
        for place, fiber in enumerate(fibers or [{}]):
            end = "S0" if place < len(fibers) - 1 else stop
            crd += [*sorted(fiber), end]
            val += [*(fiber[each] for each in sorted(fiber)), end]
    return [*crd, "D"], [*val, "D"]


def vectors(crd, val, seed=None, capacity=None):
    inputs = {"in_crd": with_gaps(crd, seed), "in_val": with_gaps(val, None if seed is None else seed + 1)}
    return run_streams(VectorReducer("block"), inputs, ["out_crd", "out_val"], capacity=capacity)


class TestVectorReducer:
    @pytest.mark.parametrize("seed", range(20))
    def test_each_list_is_one_fiber_of_sums(self, seed) -> None:
        draws = random.Random(seed)
        lists = [
            [
                {draws.randrange(6): float(draws.randint(1, 5)) for _ in range(draws.choice((0, 1, 4)))}
                for _ in range(draws.choice((0, 1, 3)))
            ]
            for _ in range(draws.randint(1, 5))
        ]
        sums = [{each: 0.0 for fiber in fibers for each in fiber} for fibers in lists]
        for total, fibers in zip(sums, lists, strict=True):
            for fiber in fibers:
                for each, value in fiber.items():
                    total[each] += value
        crd, val = of_fibers([sums], 0)
        for capacity in (None, 1):
            found = vectors(*of_fibers(lists), seed, capacity)
            assert (tokens_of(found["out_crd"]), tokens_of(found["out_val"])) == (crd, val)

    def test_a_token_a_cycle_and_none_while_sums_leave(self) -> None:
        """Five tokens, the last of which ends the list; then two sums, its stop, and done."""
        found = vectors([1, "S0", 1, 2, "S1", "D"], [1.0, "S0", 2.0, "N", "S1", "D"])
        assert found["out_val"] == [(5, 3.0), (6, 0.0), (7, "S0"), (8, "D")]

    @pytest.mark.parametrize(("crd", "val"), [([1, "S1"], ["S1"]), (["S1"], [1.0]), (["S1"], ["S0"])])
    def test_streams_of_other_shapes_are_refused(self, crd, val) -> None:
        with pytest.raises(SimulationError, match=r"cycle 1, block: .* the same shape"):
            vectors([*crd, "D"], [*val, "D"])
