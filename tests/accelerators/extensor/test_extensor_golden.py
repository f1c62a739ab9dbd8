"""Counts of the published matrices, pinned and beside what was published."""

import pytest
from extensor_bench import configured

from fiberscope.accelerators.extensor import ExTensor
from fiberscope.accelerators.testing import cycles
from fiberscope.sim import import_mode

# Bytes that TeAAL's baseline (the original authors' simulator) and its model report.
PUBLISHED = {
    "wiki-Vote": {
        "A": 1_650_800,
        "B": 1_650_800,
        "PO": 12_400_000,
        "Z": 29_297_792,
        "intersect_k0": 55_682_881,
    },
    "p2p-Gnutella31": {
        "A": 12_312_364,
        "B": 3_391_516,
        "PO": 53_963_488,
        "Z": 8_601_616,
        "intersect_k0": 29_738_344,
    },
}
# B in the format that TeAAL lists; published is one pass over the matrix in A's.
OUR_B = {"wiki-Vote": 1_598_636, "p2p-Gnutella31": 3_531_120}
MULTIPLIES = {"wiki-Vote": (4_542_805, 1_831_112), "p2p-Gnutella31": (538_318, 537_601)}
PRODUCTS = {"wiki-Vote": (218_805, 236_095, 2), "p2p-Gnutella31": (8_857_448, 24_082_597, 32)}
SIMPLE_CYCLES = {"wiki-Vote": 685_188, "p2p-Gnutella31": 1_113_892}


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.skipif(not import_mode.compiled(), reason="whole matrices take hours uncompiled")
@pytest.mark.parametrize("name", PUBLISHED)
def test_counts_and_traffic_of_the_published_runs(name, published):
    machine = ExTensor(configured(memory__model="simple"), published, published)
    assert machine.kernel.run().complete
    bars, operations = PUBLISHED[name], machine.operations()
    moved = {stream.name.removeprefix("extensor.stream."): stream.bytes for stream in machine.streams}
    assert moved["a"] == bars["A"]
    assert moved["b"] == OUR_B[name]
    assert moved["po_read"] + moved["po_write"] == bars["PO"]
    assert moved["z"] == bars["Z"]
    assert operations["intersect_k0"] == bars["intersect_k0"]
    products = operations["microtile_products"], operations["intersect_k1"], operations["intersect_k2"]
    assert products == PRODUCTS[name]
    assert (operations["multiply"], machine.result().nnz) == MULTIPLIES[name]
    assert cycles(machine) == SIMPLE_CYCLES[name]
