"""No run moves less than the least traffic of its report, and machines that count useful bytes agree with it.

A machine without a memory moves nothing. Gamma may keep rows of Z in its cache at the end.
"""

import extensor_bench
import gamma_bench
import graphicionado_bench
import outerspace_bench
import pytest
import sigma_bench
from extensor_bench import csr, random_matrix
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fiberscope.accelerators.testing import run_to_end


def moved_bytes(machine):
    return sum(part.read_bytes + part.write_bytes for part in machine.traffic().values())


def useful_bytes(machine, *tensors):
    parts = machine.traffic()
    return sum(parts[name].useful_read_bytes + parts[name].useful_write_bytes for name in tensors)


@given(outerspace_bench.configurations(), outerspace_bench.operands())
@settings(max_examples=25, deadline=None)
def test_outerspace_uses_the_least_bytes_of_operands_and_product(parameters, pair):
    machine = outerspace_bench.run_outerspace(parameters, *pair)
    assert useful_bytes(machine, "A", "B", "Z") == machine.traffic_minimum_bytes() <= moved_bytes(machine)


@given(extensor_bench.configurations(), extensor_bench.operands())
@settings(max_examples=25, deadline=None)
def test_extensor_moves_the_least_bytes_or_more(parameters, pair):
    machine = extensor_bench.run_extensor(parameters, *pair)
    assert machine.traffic_minimum_bytes() <= sum(stream.bytes for stream in machine.streams)


@pytest.mark.parametrize("columns_of_b", [16, 40])
@pytest.mark.parametrize("window", ["tiles", "rows"])
def test_extensor_with_space_for_all_tiles_moves_exactly_the_least_bytes(window, columns_of_b):
    """A and B meet in the first 32 of 64 coordinates of K: the rest of A is not moved."""
    a = random_matrix(20, 64, 200, seed=5)
    b = random_matrix(32, columns_of_b, 150, seed=6)
    b = csr({(int(k), int(n)): 1.0 for k, n in zip(*b.nonzero(), strict=True)}, 64, columns_of_b)
    parameters = extensor_bench.tiny(tile__m=5, tile__k=8, tile__n=10, llb__window=window)
    machine = extensor_bench.run_extensor(parameters, a, b)
    assert machine.traffic_minimum_bytes() == sum(stream.bytes for stream in machine.streams)


@given(sigma_bench.makes(), sigma_bench.operands())
@settings(max_examples=25, deadline=None)
def test_sigma_moves_the_least_bytes_or_more(settings, pair):
    machine = sigma_bench.ran(pair, settings)
    assume(machine.traffic())
    assert machine.traffic_minimum_bytes() <= moved_bytes(machine)


def test_sigma_moves_nothing_if_no_nonzeros_meet():
    pair = csr({(0, 0): 1.0}, 3, 2), csr({(1, 1): 1.0}, 2, 4)
    machine = sigma_bench.ran(pair, sigma_bench.TINY)
    assert machine.traffic_minimum_bytes() == moved_bytes(machine) == 0


@given(gamma_bench.configurations(), gamma_bench.operands())
@settings(max_examples=25, deadline=None)
def test_gamma_moves_the_least_bytes_or_more(parameters, pair):
    assume(parameters.scheduler.output == "memory")
    machine = gamma_bench.run_gamma(parameters, *pair)
    assert machine.traffic_minimum_bytes() <= moved_bytes(machine)


@given(
    st.sampled_from(graphicionado_bench.DESIGNS),
    st.sampled_from(graphicionado_bench.ALGORITHMS),
    st.integers(1, 60),
    st.integers(0, 120),
)
@settings(max_examples=25, deadline=None)
def test_graphicionado_uses_the_least_bytes_or_more(design, algorithm, vertices, edges):
    graph = graphicionado_bench.small_graph(vertices, edges)
    problem = graphicionado_bench.problem_of(graph, algorithm=algorithm)
    machine = graphicionado_bench.machine_of(problem, graphicionado_bench.TINY | {"design": design})
    run_to_end(machine)
    used = useful_bytes(machine, *machine.traffic())
    assert machine.traffic_minimum_bytes() <= used <= moved_bytes(machine)
