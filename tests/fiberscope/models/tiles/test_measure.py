"""The meter: the worked examples to the last digit, and what a plain enumeration of all leaves counts."""

import math

import numpy as np
import pytest
from tiling import examples, leaves

from fiberscope.base.errors import InputError
from fiberscope.models.tiles import measure as meter
from fiberscope.models.tiles import walk
from fiberscope.models.tiles.base import cut_all
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.measure import MeasuredTraffic, measure
from fiberscope.models.tiles.options import Options
from fiberscope.models.tiles.plan import Methods, plan
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.metrics import METRICS

SDDMM = "D[i,j] = S[i,j] * A[i,k] * B[k,j]"
ORDERS = [
    (examples.SQUARE, "ikj"),
    (examples.SQUARE, "ijk"),
    (examples.TTM, "ijlk"),
    (examples.TTM, "iljk"),
    (examples.MTTKRP, "iklj"),
    (examples.MTTKRP, "jilk"),
    (SDDMM, "ijk"),
    (SDDMM, "kij"),
    ("s[] = A[i,k] * B[k,i]", "ik"),
]


@pytest.mark.parametrize(
    ("order", "shape", "words", "iterations"),
    [
        ("ikj", (2, 8, 2), (153, 1055, 413, 1621), 85),
        ("ikj", (4, 4, 4), (148, 368, 328, 844), 26),
        ("ikj", (8, 2, 8), (157, 211, 313, 681), 17),
        ("ikj", (16, 1, 16), (184, 148, 308, 640), 16),
        ("ikj", (16, 2, 16), (148, 124, 260, 532), 8),
        ("ikj", (7, 7, 7), (139, 329, 305, 773), 17),
        ("ijk", (2, 8, 2), (1005, 1055, 370, 2430), 85),
        ("ijk", (4, 4, 4), (386, 368, 274, 1028), 26),
        ("ijk", (8, 2, 8), (235, 211, 224, 670), 17),
        ("ijk", (16, 1, 16), (184, 148, 191, 523), 16),
        ("kij", (8, 2, 8), (157, 211, 313, 681), 17),
    ],
)
def test_the_worked_product_moves_the_words_that_were_computed_by_hand(order, shape, words, iterations):
    found = _measured(examples.SQUARE, order, examples.squared(), dict(zip("ikj", shape, strict=True)))
    assert found.count_words_by_operand() == dict(zip(("A", "B", "O", "total"), words, strict=True))
    assert found.iterations == iterations


@pytest.mark.parametrize(
    ("side", "nonzeros", "visits", "moved"),
    [((2, 8, 2), 85, 41, (34, 224)), ((4, 4, 4), 87, 22, (34, 89)), ((16, 1, 16), 96, 16, (34, 34))],
)
def test_the_worked_product_writes_and_fetches_the_nonzeros_computed_by_hand(side, nonzeros, visits, moved):
    found = _measured(examples.SQUARE, "ikj", examples.squared(), dict(zip("ikj", side, strict=True)))
    assert (found.output.nonzeros, found.output.visits) == (nonzeros, visits)
    assert tuple(each.nonzeros for each in found.inputs.values()) == moved


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((2, 2, 2, 2), (72, 73, 90)),
        ((4, 2, 1, 2), (82, 53, 102)),
        ((4, 2, 1, 4), (82, 48, 92)),
        ((4, 4, 1, 4), (74, 32, 84)),
    ],
)
def test_the_worked_tensor_times_matrix(shape, words):
    found = _measured(examples.TTM, "ijlk", examples.ttm(), dict(zip("ijlk", shape, strict=True)))
    assert found.count_words_by_operand() == {
        "C": words[0],
        "B": words[1],
        "O": words[2],
        "total": sum(words),
    }


def test_the_worked_tensor_times_matrix_in_full():
    found = _measured(examples.TTM, "ijlk", examples.ttm(), dict.fromkeys("ijlk", 2))
    assert [each.fetches for each in found.inputs.values()] == [5, 7]
    assert (found.output.nonzeros, found.output.visits, found.iterations) == (14, 6, 7)


@pytest.mark.parametrize(
    ("shape", "words"),
    [((2, 2, 2, 2), (72, 53, 69, 34)), ((4, 1, 2, 2), (64, 42, 58, 39)), ((4, 1, 1, 4), (96, 69, 67, 39))],
)
def test_the_worked_mttkrp(shape, words):
    found = _measured(examples.MTTKRP, "iklj", examples.mttkrp(), dict(zip("iklj", shape, strict=True)))
    assert tuple(found.count_words_by_operand().values()) == (*words, sum(words))


def test_two_orders_with_the_reduced_index_outside_of_the_last_move_the_same():
    for shape in ((2, 8, 2), (4, 4, 4), (16, 1, 16), (3, 5, 7)):
        sides = dict(zip("ikj", shape, strict=True))
        one, other = (
            _measured(examples.SQUARE, order, examples.squared(), sides) for order in ("ikj", "kij")
        )
        assert (one.count_words_by_operand(), one.output, one.iterations) == (
            other.count_words_by_operand(),
            other.output,
            other.iterations,
        )


@pytest.mark.parametrize("case", range(200))
def test_the_meter_counts_what_an_enumeration_of_all_leaves_does(case, monkeypatch):
    generator = np.random.default_rng(case)
    monkeypatch.setattr(walk, "MAX_CHILDREN", int(generator.choice([3, walk.MAX_CHILDREN])))
    monkeypatch.setattr(walk, "MAX_TABLE", int(generator.choice([0, walk.MAX_TABLE])))
    monkeypatch.setattr(meter, "MAX_PRODUCTS", int(generator.choice([3, meter.MAX_PRODUCTS])))
    text, order = ORDERS[case % len(ORDERS)]
    kernel = Kernel.read(text, order)
    extents = {index: int(generator.integers(1, 6)) for index in kernel.order}
    shape = {index: int(generator.integers(1, 4)) for index in kernel.order}
    rule = ("stationary", "streamed")[case // len(ORDERS) % 2]
    density = generator.choice([0.0, 0.1, 0.4, 1.0], p=[0.05, 0.35, 0.5, 0.1])
    tensors = {name: _drawn(generator, kernel.indices[name], extents, density) for name in kernel.inputs}
    found = measure(kernel, tensors, shape, output=rule)
    entries = {name: (kernel.indices[name], _entries(tensor)) for name, tensor in tensors.items()}
    output = kernel.indices[kernel.result]
    plain = leaves.moved(kernel.order, entries, output, extents, shape, streamed=rule == "streamed")
    assert _counts(found) == plain


def test_dense_operands_move_what_a_loop_nest_does():
    dense = {name: examples.of_points(list(np.ndindex(8, 8)), (8, 8)) for name in "AB"}
    found = _measured(examples.SQUARE, "ikj", dense, {"i": 4, "k": 2, "j": 4})
    words = 2 * 8 + 2 * 4 + 3  # of A's tile; B's has 2 rows of 4, the output's 4 of 4
    assert found.count_words_by_operand() == {
        "A": 2 * 4 * words,
        "B": 2 * 4 * 2 * (2 * 8 + 2 * 2 + 3),
        "O": 2 * 4 * 2 * (2 * 16 + 2 * 4 + 3),
        "total": 8 * words + 16 * (23 + 43),
    }


def test_an_empty_operand_moves_nothing():
    empty = examples.of_points([], (16, 16))
    found = _measured(examples.SQUARE, "ikj", {"A": examples.matrix(), "B": empty}, dict.fromkeys("ikj", 4))
    assert (found.total, found.iterations) == (0, 0)


def test_one_operand_is_summed_and_one_index_has_words():
    kernel = Kernel.read("r[i] = A[i,k]", "ik")
    found = measure(kernel, {"A": examples.matrix()}, {"i": 4, "k": 4})
    assert found.count_words_by_operand() == {"A": 148, "O": 4 * 2 + 2 * 16, "total": 188}
    assert measure(kernel, {"A": examples.matrix()}, {"i": 4, "k": 4}, output="streamed").output.visits == 10


def test_a_tile_that_overflows_streams_its_excess_at_each_use():
    spill = walk.Overflow(capacity=20, resident=16)
    full = _measured(examples.SQUARE, "ikj", examples.squared(), dict.fromkeys("ikj", 4))
    kernel = Kernel.read(examples.SQUARE, "ikj")
    found = measure(kernel, examples.squared(), dict.fromkeys("ikj", 4), overflow=spill)
    assert found.inputs["B"].words == full.inputs["B"].words  # used once each
    # A's tiles of 25 words are those at (0,0), (1,1) and (3,3); B's rows 0, 1 and 3 have 3, 2 and 3 tiles
    assert found.inputs["A"].words == full.inputs["A"].words + 9 * (2 + 1 + 2)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_tailors_streams_what_a_tile_has_beyond_the_buffer_in_the_unit_of_its_capacity(metric):
    kept = np.random.default_rng(3).random((64, 64)) < 0.05
    kept[:8, :8] = True
    capacity = 100
    tensors = dict.fromkeys("AB", examples.of_points(np.argwhere(kept).tolist(), kept.shape))
    kernel = Kernel.read("C[i,j] = A[i,k] * B[k,j]", "ikj")
    found = plan(kernel, tensors, capacity, Options(metric=metric.name), Methods(["tailors"]))
    a, b = cut_all(kernel, tensors, found.schemes["tailors"].shape).values()
    words = 0
    for row, size, own in zip(a.ids[1], a.buffered_sizes(metric), a.words, strict=True):
        uses = int((b.ids[0] == row).sum())  # the tiles of B in this row
        excess = size - (capacity - capacity // 8) if size > capacity else 0
        words += (own + (uses - 1) * math.ceil(own * excess / size)) if uses else 0
    assert found.measured["tailors"].inputs["A"].words == words
    assert found.schemes["tailors"].fullest > capacity or metric.name in ("nnz", "values_only")


def test_a_sum_is_refused():
    kernel = Kernel.read("C[i,j] = A[i,j] + B[i,j]", "ij")
    with pytest.raises(InputError, match="only a product of tensors can be measured"):
        measure(kernel, {"A": examples.matrix(), "B": examples.matrix()}, {"i": 4, "j": 4})


def _measured(
    text: str, order: str, tensors: dict[str, SparseTensor], shape: dict[str, int]
) -> MeasuredTraffic:
    return measure(Kernel.read(text, order), tensors, shape)


def _drawn(generator, indices, extents, density):
    shape = tuple(extents[index] for index in indices)
    kept = generator.random(math.prod(shape)).reshape(shape) < density
    return examples.of_points(np.argwhere(kept).tolist(), shape)


def _entries(tensor):
    points = zip(*(column.tolist() for column in tensor.coordinates), strict=True)
    return dict(zip(points, tensor.values.tolist(), strict=True))


def _counts(found: MeasuredTraffic) -> dict[str, object]:
    inputs = {name: (one.fetches, one.words, one.nonzeros) for name, one in found.inputs.items()}
    output = found.output
    return {**inputs, "O": (output.visits, output.words, output.nonzeros), "iterations": found.iterations}
