"""Gamma's two Einsums on a matrix small enough to count by hand, and what recorders are told of it."""

from dataclasses import replace

import pytest

from fiberscope.models.trace.evaluate import Attachment, run
from fiberscope.models.trace.recorder import Recorder
from fiberscope.models.trace.reference import Computation
from fiberscope.models.trace.specification import Bindings, Einsum, IntersectorBinding, Specification, Tensor
from fiberscope.models.trace.verify import verify
from fiberscope.workloads.expressions.expression import Access, Equation, Index, Operation, Take
from fiberscope.workloads.fibertree import FiberTree


class Told(Recorder):
    """Keeps what it is told."""

    def __init__(self, evict_level=0):
        super().__init__(1, 1 << 20, evict_level)
        self.records = []

    def touch(self, fiber, position, write, group):
        self.records.append((fiber, position, "w" if write else "r", group))
        return 0


def access(tensor, ranks):
    return Access(tensor, tuple(Index(((rank, 1),)) for rank in ranks))


def gamma():
    a, b = access("A", "KM"), access("B", "KN")
    t, z = access("T", "KMN"), access("Z", "MN")
    tensors = {
        "A": Tensor("A", ("K", "M"), ("M", "K"), uncompressed=("M",)),
        "B": Tensor("B", ("K", "N"), ("K", "N")),
        "T": Tensor("T", ("K", "M", "N"), ("M", "K", "N")),
        "Z": Tensor("Z", ("M", "N"), ("M", "N")),
    }
    leads = Bindings("gamma", intersectors=(IntersectorBinding("Intersect", "K", "A"),))
    filtering = Einsum("T", Equation(t, Take((a, b), 1), ""), tuple("KMN"), tuple("MKN"), bindings=leads)
    multiplying = Einsum("Z", Equation(z, Operation("*", (t, a)), ""), tuple("MNK"), tuple("MNK"))
    return Specification("gamma", tensors, (filtering, multiplying))


@pytest.fixture
def inputs():
    """A has rows (k0: 1, k2: 2), none, (k1: 3, k2: 4); B has rows (n0: 5), none, (n0: 6, n3: 7)."""
    a = FiberTree.from_coo({"K": 3, "M": 3}, [[0, 2, 1, 2], [0, 0, 2, 2]], [1.0, 2.0, 3.0, 4.0])
    b = FiberTree.from_coo({"K": 3, "N": 4}, [[0, 2, 2], [0, 0, 3]], [5.0, 6.0, 7.0])
    return {"A": a, "B": b}


def test_counts_and_product(inputs):
    outcome = run(gamma(), inputs)
    filtering, multiplying = outcome.runs
    assert filtering.bodies == {"M": 3, "K": 3, "N": 5}  # A's second row is visited, B's second is not
    assert filtering.operations == {}
    assert filtering.intersections["K"].leader_follower == 4
    assert multiplying.operations == {"mul": 5, "add": 1}
    found, values = outcome.tensors["Z"].to_coo()
    assert list(zip(found["M"].tolist(), found["N"].tolist(), values.tolist(), strict=True)) == [
        (0, 0, 17.0),
        (0, 3, 14.0),
        (2, 0, 24.0),
        (2, 3, 28.0),
    ]
    assert outcome.wrong is None


def told_of(inputs, einsum, tensor, rank, kind, evict_on="root"):
    """What a recorder is told of one binding."""
    kept = []

    def observe(prepared):
        if prepared.einsum.name != einsum:
            return []
        kept.append(Told(prepared.levels[evict_on]))
        return [Attachment(tensor, rank, kind, kept[0])]

    run(gamma(), inputs, observe)
    return kept[0].records


def test_the_leader_is_told_whole_and_its_payload_where_a_body_ran(inputs):
    assert told_of(inputs, "T", "A", "K", "coord", "M") == [
        (0, 0, "r", 1),
        (0, 1, "r", 1),
        (1, 0, "r", 3),
        (1, 1, "r", 3),
    ]
    assert told_of(inputs, "T", "A", "K", "payload") == [(0, 0, "r", 0), (0, 1, "r", 0), (1, 1, "r", 0)]


def test_a_rank_that_is_iterated_whole_is_told_by_coordinate(inputs):
    assert told_of(inputs, "T", "A", "M", "payload") == [(0, 0, "r", 0), (0, 1, "r", 0), (0, 2, "r", 0)]


def test_a_follower_is_told_where_it_is_looked_up_misses_too(inputs):
    assert told_of(inputs, "T", "B", "K", "coord") == [
        (0, 0, "r", 0),
        (0, 1, "r", 0),
        (0, 1, "r", 0),
        (0, 1, "r", 0),
    ]
    assert told_of(inputs, "T", "B", "K", "payload") == [(0, 0, "r", 0), (0, 1, "r", 0), (0, 1, "r", 0)]


def test_an_output_that_grows_in_order_is_only_written(inputs):
    assert told_of(inputs, "Z", "Z", "M", "payload") == [(0, 0, "w", 0), (0, 1, "w", 0)]
    assert told_of(inputs, "Z", "Z", "N", "coord", "M") == [
        (1, 0, "w", 1),
        (1, 1, "w", 1),
        (2, 0, "w", 2),
        (2, 1, "w", 2),
    ]


def test_a_wrong_value_is_found_and_a_missing_one_and_one_too_many(inputs):
    outcome = run(gamma(), inputs)
    specification, product = gamma(), outcome.tensors["Z"]
    operands = inputs | {"T": outcome.tensors["T"]}
    work = Computation(specification, specification.einsums[1], operands, {"M": 3, "N": 4, "K": 3})
    for changed in (
        replace(product, values=product.values * (1 + 1e-10)),
        FiberTree.from_coo({"M": 3, "N": 4}, [[0, 0, 2], [0, 3, 0]], [17.0, 14.0, 24.0]),
        FiberTree.from_coo(
            {"M": 3, "N": 4}, [[0, 0, 1, 2, 2], [0, 3, 1, 0, 3]], [17.0, 14.0, 1.0, 24.0, 28.0]
        ),
    ):
        assert not verify(work, changed).passed
