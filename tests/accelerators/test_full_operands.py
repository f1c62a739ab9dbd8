"""Operands without a zero lie as values alone: what is moved of them, worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import fiberscope
from fiberscope.accelerators import find
from fiberscope.accelerators.full_operands import compress_operands, full_operand_notes, is_stored_dense
from fiberscope.accelerators.problem_settings import configure

SMALL = {
    "gamma": {"pe.count": 2, "fibercache.banks": 3},
    "extensor": {"pe.count": 4, "llb.intersectors": 4},
    "outerspace": {"tile.count": 2, "l1.count": 1, "tile.pe": 4, "tile.merge_pe": 2},
}
MACHINES = tuple(SMALL)
LINE, VALUE, ELEMENT, POINTER = 64, 8, 12, 4
SPARSE = sparse.csr_array(np.diag([1.0, 2.0, 3.0, 4.0]))
FULL = np.arange(1.0, 33).reshape(4, 8)  # a row is a line of values
TOLD = "is full, and moved as values alone (format.dense)"


def lines(size):
    """Bytes of whole lines that hold so many."""
    return -(-size // LINE) * LINE


def run(machine, a, b, **settings):
    named = {key.replace("__", "."): value for key, value in settings.items()}
    return fiberscope.simulate(machine, a, b, settings=SMALL[machine] | named, checked=True)


@pytest.mark.parametrize("machine", MACHINES)
def test_of_a_full_right_factor_values_alone_are_read(machine):
    report = run(machine, SPARSE, FULL)
    assert report.traffic["B"].read_bytes == FULL.size * VALUE == 4 * LINE
    assert report.chosen[-1] == f"B {TOLD}"
    assert report.result.toarray().tolist() == (SPARSE @ FULL).tolist()


@pytest.mark.parametrize("machine", MACHINES)
def test_with_one_zero_it_is_read_with_coordinates(machine):
    """31 elements of 12 bytes are 6 lines; pointers, lists and cut lines come on top."""
    b = FULL.copy()
    b[2, 3] = 0
    report = run(machine, SPARSE, b)
    assert report.traffic["B"].read_bytes >= lines(31 * ELEMENT)
    assert TOLD not in " ".join(report.chosen)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("dense", "alone"), [("both", "AB"), ("A", "A"), ("B", "B"), ("none", "")])
def test_which_operands_may_is_set(machine, dense, alone):
    report = run(machine, FULL.T, FULL, format__dense=dense)
    moved = {name: report.traffic[name].read_bytes == 4 * LINE for name in "AB"}
    assert moved == {name: name in alone for name in "AB"}


def test_a_full_left_factor_needs_no_pointers_of_gamma():
    """10 rows of 7 values are 9 lines; with coordinates they are 14, and 44 bytes of pointers another one."""
    a, b = np.ones((10, 7)), sparse.csr_array(np.eye(7))
    assert run("gamma", a, b).traffic["A"].read_bytes == lines(70 * VALUE) == 9 * LINE
    assert run("gamma", a, b, format__dense="B").traffic["A"].read_bytes == (14 + 1) * LINE


def test_what_outerspace_uses_of_full_operands_is_their_values():
    report = run("outerspace", FULL.T, FULL)
    assert {name: report.traffic[name].useful_read_bytes for name in "AB"} == {"A": 256, "B": 256}
    mixed = run("outerspace", FULL.T, FULL, format__dense="A").traffic
    assert (mixed["A"].useful_read_bytes, mixed["B"].useful_read_bytes) == (256, 32 * ELEMENT + 4 * POINTER)


@pytest.mark.parametrize(("machine", "least"), [("gamma", 12), ("outerspace", 12), ("extensor", 16)])
def test_the_least_traffic_is_that_of_values(machine, least):
    """A and B of 32 values; Z of 64 elements, and for each of its 8 rows a pointer (not ExTensor)."""
    pointers = (0 if machine == "extensor" else 8) * POINTER
    assert run(machine, FULL.T, FULL).traffic_minimum_bytes == 2 * 256 + 64 * least + pointers


@pytest.mark.parametrize("machine", MACHINES)
@given(data=st.data())
def test_any_mixture_gives_the_product_and_reads_what_is_its_own(machine, data):
    m, k, n = (data.draw(st.integers(1, 12)) for _ in range(3))
    a, b = (data.draw(matrices(*shape)) for shape in ((m, k), (k, n)))
    report = run(machine, a, b, format__dense=data.draw(st.sampled_from(["both", "A", "B"])))
    assert report.verification.passed
    full = [name for name, one in (("A", a), ("B", b)) if one.nnz == one.shape[0] * one.shape[1]]
    said = report.chosen[-1] if report.chosen else ""
    allowed = report.config["format"]["dense"]
    alone = [name for name in full if allowed in (name, "both")]
    assert said.startswith(" and ".join(alone)) and said.endswith("(format.dense)") if alone else True
    if machine == "gamma":
        pointers = 0 if "A" in alone else lines((m + 1) * POINTER)
        size = VALUE if "A" in alone else ELEMENT
        assert report.traffic["A"].read_bytes == lines(a.nnz * size) + pointers


def matrices(rows, columns):
    """Full and not full ones."""
    several = st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=rows * columns, max_size=rows * columns)
    full = st.just([3.0] * (rows * columns))
    return st.one_of(full, several).map(lambda v: sparse.csr_array(np.reshape(v, (rows, columns))))


def test_parameters_without_an_operand_and_of_machines_without_the_choice():
    configured, _maker = configure(find("gamma"), None, {})
    full = sparse.csr_array(FULL)
    for operands, left in (("", "both"), ("A", "B"), ("B", "A"), ("AB", "none")):
        found = compress_operands(configured, dict.fromkeys(operands, full))
        assert found.format.dense == left
        assert [name for name in "AB" if is_stored_dense(found, name, full)] == [
            c for c in "AB" if c not in operands
        ]
    sigma, _maker = configure(find("sigma"), None, {})
    assert compress_operands(sigma, {"A": full}) is sigma
    assert not is_stored_dense(sigma, "A", full)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0), (2, 2)])
def test_an_operand_without_an_entry_is_not_full(shape):
    configured, _maker = configure(find("gamma"), None, {})
    empty = sparse.csr_array(shape)
    assert not is_stored_dense(configured, "A", empty)
    assert compress_operands(configured, {"A": empty}) is configured


@pytest.mark.parametrize("dense", ["A", "B"])
def test_an_operand_that_is_to_lie_compressed_stays_so(dense):
    configured, _maker = configure(find("gamma"), None, {"format.dense": dense})
    assert compress_operands(configured, {dense: sparse.csr_array(FULL)}).format.dense == "none"


def test_notes_name_the_full_operands_alone():
    how = "full, and moved as values alone (format.dense)"
    notes = {(True, True): f"A and B are {how}", (True, False): f"A is {how}", (False, True): f"B is {how}"}
    for (a, b), note in notes.items():
        assert full_operand_notes({"A": a, "B": b}) == (note,)
    assert full_operand_notes({"A": False, "B": False}) == ()


CHAIN = {"A": sparse.csr_array(np.eye(8)), "X": FULL.T, "W": FULL}


def chain(**settings):
    named = {key.replace("__", "."): value for key, value in settings.items()}
    return fiberscope.simulate("gamma", chain="Y = A X; Z = Y W", settings=named, **CHAIN)


def test_a_product_of_a_chain_lies_with_coordinates_as_it_is_written():
    """Y is full: 32 elements of 12 bytes on 6 lines, and 9 pointers; X and W are given, and lie dense."""
    report = chain()
    moved = {name: report.traffic[name].read_bytes for name in "XYW"}
    assert moved == {"X": 256, "Y": (6 + 1) * LINE, "W": 256}


def test_one_that_is_kept_dense_is_read_so_without_a_conversion_back():
    report = chain(memory__format__Y="dense")
    assert report.traffic["Y"].read_bytes == 256
    assert report.chain.steps["Z"].conversions is None
    assert report.chain.written["Y"].target == "dense"


def test_a_full_operand_that_lies_dense_is_not_converted_and_another_is():
    assert run("gamma", SPARSE, FULL, memory__format__B="dense").conversions is None
    assert run("gamma", SPARSE, FULL, memory__format__A="dense").conversions.operands.keys() == {"A"}
    report = run("gamma", SPARSE, FULL, memory__format__B="coo")
    assert report.traffic["B"].read_bytes > 256  # as the converter writes it: compressed
