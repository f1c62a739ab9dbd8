"""Destination pipes worked out ahead of the clock: all is as if each of their components ticked."""

import numpy as np
import pytest
from graphicionado_bench import ALGORITHMS, DESIGNS, TINY, machine_of, problem_of, small_graph
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from fiberscope.hw.memory.atomic_update import AtomicUpdate
from fiberscope.sim import Kernel
from fiberscope.sim.lookahead import StandInKernel

LIMITS = st.lists(st.integers(1, 3000), max_size=4).map(sorted)


def hubs():
    """Two vertices that all others lead to: most updates wait for theirs."""
    sources = np.arange(150)
    return sparse.csr_array((np.ones(150), (sources, sources % 2)), shape=(150, 150))


@st.composite
def cases(draw):
    """A problem, and a machine of whose updates many wait for their destination or for room."""
    drawn = small_graph(150, draw(st.integers(1, 600)), draw(st.integers(0, 9)))
    graph = draw(st.sampled_from([drawn, hubs()]))
    chosen = TINY | {
        "design": draw(st.sampled_from(DESIGNS)),
        "streams": draw(st.sampled_from([1, 2, 4])),
        "queue.depth": draw(st.integers(2, 4)),
        "edram.read_latency": draw(st.integers(1, 4)),
        "edram.write_latency": draw(st.integers(1, 2)),
        "compute.min_latency": draw(st.integers(1, 9)),
        "atomic.mode": draw(st.sampled_from(["stall", "forward"])),
    }
    return problem_of(graph, algorithm=draw(st.sampled_from(ALGORITHMS))), chosen


def outcome(problem, chosen, limits=(), kernel=None):
    """What a machine has done at each of these cycles, at the end, and its answer."""
    machine = machine_of(problem, chosen, kernel=kernel)
    seen = [state(machine, machine.kernel.run(cycle_limit=limit)) for limit in (*limits, None)]
    return seen, machine.result().tolist()


def state(machine, run):
    """All that a report takes from a machine."""
    return run, machine.kernel.statistics(), machine.operations(), machine.traffic(), machine.memory()


def small(**options):
    return machine_of(problem_of(small_graph(), algorithm="sssp"), **options)


def ticks(machine):
    machine.kernel.run()
    return machine.kernel.ticks


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(), LIMITS, st.integers(0, 3))
def test_pipes_worked_out_ahead_do_what_their_components_would(case, limits, order_seed):
    plain = outcome(*case, limits, Kernel())
    assert outcome(*case, limits) == plain
    assert outcome(*case, limits, StandInKernel(order_seed=order_seed)) == plain


def test_accounts_are_right_in_every_cycle():
    problem, limits = problem_of(hubs(), algorithm="pagerank", iterations=1), range(1, 400)
    assert outcome(problem, TINY, limits) == outcome(problem, TINY, limits, Kernel())


def test_fewer_ticks_are_taken_for_it():
    assert ticks(small()) < 0.9 * ticks(small(kernel=Kernel()))


def test_a_part_of_ones_own_ticks_and_so_do_all_others():
    own = {"atomic_update": type("Own", (AtomicUpdate,), {})}
    assert ticks(small(parts=own)) == ticks(small(parts=own, kernel=Kernel()))


@pytest.mark.parametrize("cycle", [10, 83, 84, 85, 86, 300])
def test_it_can_be_stepped_on_after_a_run(cycle):
    machine, plain = small(), small(kernel=Kernel())
    machine.kernel.run(cycle_limit=cycle)
    for _ in range(50):
        machine.kernel.step()
    assert state(machine, machine.kernel.run()) == state(plain, plain.kernel.run())
