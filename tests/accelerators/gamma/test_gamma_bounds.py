"""No run is faster than its bounds; more of a resource makes none slower, but for noise of scheduling.

Elements beyond what memory can feed are the exception: they contend for it, and for the FiberCache.
"""

from itertools import pairwise

import pytest
from gamma_bench import configurations, configured, operands, run_gamma
from hypothesis import HealthCheck, given, settings

from fiberscope.accelerators.testing import cycles
from fiberscope.sim import import_mode
from fiberscope.workloads import load

NOISE = 0.03  # a different order of events moves cycles by this much either way
GRAPH = "chung-lu:rows=700,cols=700,nonzeros=9000,seed=3"
SMALL_MACHINE = {
    "pe.count": 8,
    "pe.radix": 16,
    "fibercache.size": "48 KiB",
    "fibercache.banks": 12,
    "memory.channels": 4,
}


def bounds(machine):
    """Cycles that the merged elements and the bytes moved need at the least."""
    parameters = machine.parameters
    merged = machine.operations()["merge"] / parameters.pe.count
    moved = sum(part.read_bytes + part.write_bytes for part in machine.traffic().values())
    peak = parameters.memory.channels * parameters.memory.bandwidth
    return merged, moved / peak * parameters.clock


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(parameters=configurations(), pair=operands())
def test_no_run_is_faster_than_its_bounds(parameters, pair):
    machine = run_gamma(parameters, *pair)
    assert cycles(machine) >= max(bounds(machine))


@pytest.fixture(scope="module")
def graph():
    return load(GRAPH).matrix


def run(graph, **changed):
    return cycles(run_gamma(configured(**{**SMALL_MACHINE, **changed}), graph, graph))


@pytest.mark.skipif(not import_mode.compiled(), reason="a whole graph takes minutes uncompiled")
@pytest.mark.parametrize(("model", "reorder"), [("simple", "affinity"), ("dram", "none")])
@pytest.mark.parametrize(
    ("key", "values", "fixed"),
    [
        ("pe.count", [1, 4, 8], {"fibercache.size": "384 KiB"}),
        ("memory.bandwidth", ["1 GiB/s", "4 GiB/s", "16 GiB/s"], {}),
        ("fibercache.size", ["12 KiB", "48 KiB", "384 KiB"], {}),
    ],
)
def test_more_of_a_resource_is_never_slower(graph, key, values, fixed, model, reorder):
    fixed = {**fixed, "memory.model": model, "reorder": reorder}
    found = [run(graph, **fixed, **{key: value}) for value in values]
    for less, more in pairwise(found):
        assert more <= less * (1 + NOISE), f"{key} in {values}: {found}"
    assert found[-1] < found[0], "the resource must matter on this matrix"


@pytest.mark.skipif(not import_mode.compiled(), reason="a whole graph takes minutes uncompiled")
def test_more_elements_are_slower_where_their_tasks_outgrow_the_cache(graph):
    """A counter-example, kept so that a machine without it turns this red: see docs/accuracy.md."""
    few, many = (
        run_gamma(configured(**{**SMALL_MACHINE, "pe.count": count}), graph, graph) for count in (4, 32)
    )
    assert cycles(many) > 1.1 * cycles(few)
    assert spilled(many) > 1.5 * spilled(few)


def spilled(machine):
    """Bytes of B and of partial fibers: what a cache of any size would hold, and what it did not."""
    return sum(
        machine.traffic()[name].read_bytes + machine.traffic()[name].write_bytes for name in ("B", "partial")
    )
