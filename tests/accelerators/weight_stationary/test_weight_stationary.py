"""The weight-stationary array: the published example's beats, closed forms, and products in all formats."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from weight_stationary_model import PlainArray

import fiberscope
from fiberscope.accelerators.configuration import ConfigurationError, load
from fiberscope.accelerators.testing import cycles, random_operands, run_to_end
from fiberscope.accelerators.weight_stationary import (
    ACCELERATOR,
    WeightStationary,
    WeightStationaryConfiguration,
)
from fiberscope.accelerators.weight_stationary.beats import beats, elements_per_beat
from fiberscope.accelerators.weight_stationary.passes import passes
from fiberscope.workloads import Spgemm, from_scipy

A_FORMATS, B_FORMATS = ("dense", "csr", "coo", "csc"), ("dense", "csc")

# Figure 6 of the paper: A of 4 x 8, nonzeros A B C in row 0 and H in row 3; B of 8 x 4 with a to h.
STREAMED = sparse.csr_array(([1.0, 2.0, 3.0, 4.0], ([0, 0, 0, 3], [0, 2, 4, 5])), shape=(4, 8))
HELD = sparse.csr_array(
    (np.arange(1.0, 9.0), ([0, 0, 2, 3, 4, 5, 5, 7], [0, 1, 0, 2, 0, 2, 3, 1])), shape=(8, 4)
)
FIGURE = {"pe.count": 4, "pe.buffer": 8, "bus.words": 5, "match": "bus"}


def configured(**options: object) -> WeightStationaryConfiguration:
    """The shipped configuration with settings over it."""
    return load(
        WeightStationaryConfiguration, ACCELERATOR.shipped, name="weight_stationary", settings=options
    )


def ran(a: sparse.csr_array, b: sparse.csr_array, **options: object) -> WeightStationary:
    """A machine, after its run, its product as scipy's."""
    machine = run_to_end(WeightStationary(configured(**options), a, b))
    assert Spgemm([from_scipy(a), from_scipy(b)], {}).check(machine.result()).passed
    return machine


def count_beats(acf, a, words):
    elements = elements_per_beat(acf, words)
    if acf == "coo":
        return int(-(-a.nnz // elements))
    if acf == "dense":
        return int(a.shape[0] * -(-a.shape[1] // elements))
    lengths = np.diff(a.indptr) if acf == "csr" else np.bincount(a.indices, minlength=a.shape[1])
    return int((-(-lengths // elements)).sum())


@pytest.mark.parametrize(("acf", "expected"), [("dense", 8), ("csr", 3), ("coo", 4)])
def test_the_published_example(acf, expected):
    machine = ran(STREAMED, HELD, **FIGURE, **{"acf.a": acf})
    assert count_beats(acf, STREAMED, 5) == machine.bus.streamed == expected


def test_the_least_traffic_is_a_value_and_an_id_of_each_entry():
    """4 entries of A, 8 of B, and 4 of the product: A B C meet columns 0 and 1, H meets 2 and 3."""
    assert ran(STREAMED, HELD, **FIGURE).traffic_minimum_bytes() == (4 + 8 + 4) * (4 + 4)


@pytest.mark.parametrize(("acf", "elements"), [("dense", 15), ("csr", 7), ("csc", 7), ("coo", 5)])
def test_what_a_beat_of_sixteen_words_carries(acf, elements):
    assert elements_per_beat(acf, 16) == elements


@st.composite
def products(draw):
    rows, inner, columns = (draw(st.integers(1, 24)) for _ in range(3))
    return random_operands(rows, inner, columns, draw(st.integers(1, min(rows * inner, inner * columns))))


makes = st.fixed_dictionaries(
    {
        "acf.a": st.sampled_from(A_FORMATS),
        "acf.b": st.sampled_from(B_FORMATS),
        "pe.count": st.integers(1, 6),
        "pe.lanes": st.integers(1, 8),
        "pe.buffer": st.integers(2, 24),
        "pe.comparators": st.integers(1, 8),
        "pe.dense_match": st.integers(1, 3),
        "pe.queue": st.integers(2, 4),
        "pe.latency": st.integers(1, 5),
        "match": st.sampled_from(["search", "bus"]),
        "bus.words": st.integers(3, 16),
        "bus.load": st.sampled_from(["hidden", "counted"]),
    }
)


@given(products(), makes)
def test_cycles_and_counters_are_those_of_the_plain_model(operands, make):
    for one in operands:
        one.data[one.data == 0] = 1.0
    machine = ran(*operands, **make)
    plain = PlainArray(machine.parameters, *(one.toarray() for one in operands))
    found = Counter()
    for name, part in machine.kernel.statistics().items():
        found.update({("output " if "output" in name else "") + key: n for key, n in part.counters.items()})
    assert found.pop("output taken") == found["sent"]
    assert found == plain.counts
    assert cycles(machine) == plain.cycles


@given(products(), makes)
def test_every_make_multiplies_and_its_bus_carries_what_the_closed_form_says(operands, make):
    machine = ran(*operands, **make)
    parameters = configured(**make)
    a, b = operands
    pieces = [sparse.csr_array(a[:, one.low : one.high]) for one in passes(b, parameters)]
    assert machine.bus.streamed == sum(
        count_beats(parameters.acf.a, piece, parameters.bus.words) for piece in pieces
    )
    for one in passes(b, parameters):
        assert one.longest <= parameters.pe.buffer


@given(products(), st.sampled_from(A_FORMATS), st.integers(3, 16))
def test_beats_carry_every_nonzero_once(operands, acf, words):
    a = operands[0]
    stream = list(beats(acf, a, words))
    assert len(stream) == count_beats(acf, a, words)
    rows, columns, values = (
        np.concatenate([getattr(one, part) for one in stream]) for part in ("rows", "columns", "values")
    )
    assert (sparse.coo_array((values, (rows, columns)), shape=a.shape).toarray() == a.toarray()).all()
    assert all(len(one.rows) <= elements_per_beat(acf, words) for one in stream)
    assert all(one.distinct_ids == len(set(one.columns.tolist())) for one in stream)


@given(products(), st.sampled_from(("dense", "csr")), st.sampled_from(B_FORMATS))
def test_on_the_bus_alone_a_beat_is_a_cycle(operands, a, b):
    make = {"acf.a": a, "acf.b": b, "match": "bus", "pe.lanes": 16}
    machine = ran(*operands, **make)
    stream = machine.bus.streamed + len(machine.passes)
    assert stream <= cycles(machine) <= stream + machine.parameters.pe.latency + 4


@given(products(), st.sampled_from(B_FORMATS))
def test_searching_takes_its_cycles_for_each_id(operands, b):
    machine = ran(*operands, **{"acf.a": "csr", "acf.b": b})
    searching = operands[0].nnz * (2 if b == "dense" else 8)
    assert len(machine.passes) == 1
    assert searching <= cycles(machine) <= searching + operands[0].shape[0] + 8
    assert machine.operations()["multiply"] == _products(*operands)


def _products(a, b):
    return int(np.dot(np.bincount(a.indices, minlength=a.shape[1]), np.diff(b.indptr)))


def test_loading_takes_the_bus():
    hidden, counted = (ran(STREAMED, HELD, **FIGURE, **{"bus.load": load}) for load in ("hidden", "counted"))
    assert counted.bus.loading == 4  # 16 words of values and ids, five a cycle
    assert cycles(counted) == cycles(hidden) + 4


def test_columns_are_cut_where_they_exceed_the_buffer():
    full = sparse.csr_array(np.ones((10, 3)))
    dense = passes(full, configured(**{"acf.b": "dense", "pe.buffer": 4, "pe.count": 2}))
    assert [(one.first, one.last, one.low, one.high) for one in dense] == [
        (first, last, low, min(low + 4, 10)) for first, last in ((0, 2), (2, 3)) for low in (0, 4, 8)
    ]
    packed = passes(full, configured(**{"acf.b": "csc", "pe.buffer": 10, "pe.count": 3}))
    assert [(one.low, one.high, one.words, one.longest) for one in packed] == [
        (0, 5, 30, 10),
        (5, 10, 30, 10),
    ]


def test_empty_operands():
    machine = ran(sparse.csr_array((3, 4)), sparse.csr_array((4, 5)))
    assert machine.result().nnz == 0


def test_a_bus_that_is_too_narrow():
    with pytest.raises(ConfigurationError, match=r"bus\.words must be at least 3 to carry csr, not 2"):
        configured(**{"bus.words": 2})


def test_the_front_door():
    report = fiberscope.simulate("weight_stationary", STREAMED, HELD, settings=FIGURE)
    assert report.verification.passed
    assert report.traffic == {}
