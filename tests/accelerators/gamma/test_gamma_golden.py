"""Counts of published matrices, pinned so that no change goes unseen."""

import pytest
from gamma_bench import configured

from fiberscope.accelerators.gamma import Gamma
from fiberscope.sim import import_mode
from fiberscope.workloads import lookup
from fiberscope.workloads.surrogate import surrogate

pytestmark = pytest.mark.skipif(not import_mode.compiled(), reason="whole matrices take minutes uncompiled")

# (multiply, add, partial_merge, tasks), nonzeros of Z, bytes of A read, bytes at the least. The counts do not
# depend on timing. Those of wiki-Vote and p2p-Gnutella31 were checked against scipy and a count by hand.
GOLDEN = {
    ("wiki-Vote", "real"): ((4_542_805, 2_711_693, 681_669, 6_875), 1_831_112, 1_277_504, 23_988_720),
    ("wiki-Vote", "surrogate"): ((4_542_805, 2_709_806, 695_058, 6_875), 1_832_999, 1_277_504, 24_011_364),
    ("p2p-Gnutella31", "real"): ((538_318, 717, 99, 16_389), 537_601, 2_025_088, 10_718_652),
    ("p2p-Gnutella31", "surrogate"): ((538_318, 658, 146, 16_389), 537_660, 2_025_088, 10_719_360),
}


@pytest.fixture(scope="module")
def stand_in():
    """The shipped machine, which has multiplied the stand-in for p2p-Gnutella31 by itself."""
    return ran(surrogate(lookup("p2p-Gnutella31"))[0])


def ran(matrix):
    machine = Gamma(configured(), matrix, matrix)
    assert machine.kernel.run().complete
    return machine


def check_golden(name, source, machine):
    (multiplies, additions, partial, tasks), nonzeros, a_bytes, minimum = GOLDEN[name, source]
    assert machine.operations() == {
        "multiply": multiplies,
        "add": additions,
        "merge": multiplies + partial,
        "partial_merge": partial,
        "tasks": tasks,
    }
    assert machine.result().nnz == nonzeros == multiplies - additions
    assert machine.traffic()["A"].read_bytes == a_bytes
    assert machine.traffic_minimum_bytes() == minimum
    check_z(machine, nonzeros)


def check_z(machine, nonzeros):
    """12 bytes a nonzero in the lines of 32 regions, and 4 bytes a row."""
    written = machine.traffic()["Z"].write_bytes
    least = 12 * nonzeros + 4 * (machine.shape[0] + 1)
    assert least <= written < least + 64 * (32 + 1)


def test_counts_of_the_stand_in_for_p2p_gnutella31(stand_in):
    check_golden("p2p-Gnutella31", "surrogate", stand_in)


@pytest.mark.slow
def test_counts_of_the_stand_in_for_wiki_vote():
    check_golden("wiki-Vote", "surrogate", ran(surrogate(lookup("wiki-Vote"))[0]))


@pytest.mark.real
@pytest.mark.parametrize("name", [pytest.param("wiki-Vote", marks=pytest.mark.slow), "p2p-Gnutella31"])
def test_counts_of_the_real_matrices(name, published):
    check_golden(name, "real", ran(published))


def test_planted_a_count_that_is_off_by_one_is_found(stand_in, monkeypatch):
    name = ("p2p-Gnutella31", "surrogate")
    (multiplies, *others), *rest = GOLDEN[name]
    monkeypatch.setitem(GOLDEN, name, ((multiplies + 1, *others), *rest))
    with pytest.raises(AssertionError):
        check_golden(*name, stand_in)
