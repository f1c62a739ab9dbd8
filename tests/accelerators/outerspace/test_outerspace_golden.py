"""Counts of the published matrices, and their traffic beside the bars that were published."""

import pytest
from outerspace_bench import configured

from fiberscope.accelerators.outerspace import ACCELERATOR, OuterSpace
from fiberscope.accelerators.testing import cycles
from fiberscope.explore.compare import read_published as reported_runs
from fiberscope.sim import import_mode

NAMES = ("multiply", "add", "swap", "pairs", "nodes", "node_blocks", "rows_merged")
COUNTS = {
    "wiki-Vote": (4_542_805, 2_711_693, 91_922_233, 1_376, 72_741, 888_315, 5_205),
    "p2p-Gnutella31": (538_318, 717, 983_578, 16_084, 58_354, 113_716, 14_861),
}
NONZEROS = {"wiki-Vote": 1_831_112, "p2p-Gnutella31": 537_601}
MINIMUM = {"wiki-Vote": 24_012_384, "p2p-Gnutella31": 10_719_864}
ONE_WAY = {"wiki-Vote": 54_513_660, "p2p-Gnutella31": 6_459_816}  # bytes of T's elements
CYCLES = {"wiki-Vote": 10_829_076, "p2p-Gnutella31": 2_133_018}


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.skipif(not import_mode.compiled(), reason="whole matrices take hours uncompiled")
@pytest.mark.parametrize("name", COUNTS)
def test_counts_and_traffic_of_the_published_matrices(name, published):
    machine = OuterSpace(configured(), published, published)
    assert machine.kernel.run().complete
    operations = machine.operations()
    assert tuple(operations[name] for name in NAMES) == COUNTS[name]
    assert machine.result().nnz == NONZEROS[name]
    assert machine.traffic_minimum_bytes() == MINIMUM[name]
    t = ONE_WAY[name] + machine.parameters.t.header * operations["nodes"]
    useful = {
        tensor: (part.useful_read_bytes, part.useful_write_bytes)
        for tensor, part in machine.traffic().items()
    }
    assert useful["T"] == (t, t)
    figures = reported_runs(ACCELERATOR).find(name, "reported", "dram")
    reported = {tensor: share / figures.minimum for tensor, share in figures.traffic.items()}
    for tensor in ("A", "B", "Z"):
        assert sum(useful[tensor]) / MINIMUM[name] == pytest.approx(reported[tensor], abs=0.03)
    assert sum(useful["T"]) / MINIMUM[name] == pytest.approx(reported["T"], rel=0.02)
    assert cycles(machine) == CYCLES[name]
