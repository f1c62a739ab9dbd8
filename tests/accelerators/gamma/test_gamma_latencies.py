"""A run of one product crosses each unit a known number of times: a cycle more of latency shows as often."""

import pytest
from gamma_bench import configured, csr, run_gamma

from fiberscope.accelerators.testing import cycles

# One element; memory in step with the core, or a run's end would be rounded to its clock.
ALONE = {"pe.count": 1, "memory.model": "simple", "memory.channels": 2, "memory.bandwidth": "64 GB/s"}


@pytest.mark.parametrize(
    ("latency", "times"),
    [
        ("pe.multiplier_latency", 1),
        ("pe.merger_latency", 1),
        ("pe.accumulator_latency", 1),
        ("fibercache.latency", 2),  # replies with B's row pointers, and with the row
        ("network.pe_latency", 5),  # there and back twice for B, and Z's line
        ("network.memory_latency", 7),  # there and back for A and twice for B, and Z's line
        ("memory.simple_latency", 3),  # A, B's row pointers, B's row
    ],
)
def test_a_product_takes_each_latency_as_often_as_it_crosses_the_unit(latency, times):
    a, b = csr([{0: 1.0}], 1), csr([{0: 2.0}], 1)
    unit = " ns" if latency.startswith("memory.") else ""  # a cycle
    runs = [cycles(run_gamma(configured(**ALONE | {latency: f"{n}{unit}"}), a, b)) for n in (3, 4, 8)]
    assert [run - runs[0] for run in runs] == [0, times, 5 * times]
