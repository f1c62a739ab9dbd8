"""What Graphicionado must do whatever the graph: the plain loop's counts, and cycles within their bounds."""

from dataclasses import astuple, replace

import numpy as np
import pytest
from graphicionado_bench import (
    ALGORITHMS,
    DESIGNS,
    TINY,
    configured,
    machine_of,
    problem_of,
    reference,
    small_graph,
    useful_bytes,
)
from graphicionado_model import PlainGraphicionado
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.graphicionado import Graphicionado
from fiberscope.accelerators.testing import cycles, run_to_end
from fiberscope.sim import import_mode
from fiberscope.workloads import load

# Of each: useful bytes of graphicionado, graphdyns and csr_like.
USEFUL = {
    ("wiki-Vote", "bfs"): (1_060_728, 444_940, 321_228),
    ("wiki-Vote", "sssp"): (3_473_448, 2_212_764, 1_825_560),
    ("p2p-Gnutella31", "bfs"): (15_215_600, 6_291_236, 2_736_624),
    ("p2p-Gnutella31", "sssp"): (22_163_148, 12_412_708, 8_008_144),
}


def check(machine, problem):
    """The answer, and all counts, are those of the plain loop."""
    outcome = reference(problem)
    run_to_end(machine)
    assert problem.check(machine.result()).passed
    done, total = machine.operations(), outcome.total
    counts = (done["iterations"], done["edges"], done["updates"], done["activations"])
    assert counts == (len(outcome.iterations), total("edges"), total("updates"), total("frontier"))
    if not problem.task.program.all_active:
        assert done["changed"] == total("changed")
    records = [(record.frontier, record.updates) for record in machine.iterations()]
    assert records == [(one.frontier, one.updates) for one in outcome.iterations]
    if "blocks" in done and machine.parameters.block.vertices == 256:
        assert done["blocks"] == total("blocks")
    for stream in machine.streams:
        assert set(np.asarray(stream.vertices.temporary).tolist()) == {problem.task.program.neutral}
    return outcome


def check_bounds(machine, outcome):
    """No faster than the memory's peak, an edge or a vertex a cycle of each stream, allow."""
    length, streams = cycles(machine), machine.parameters.streams
    assert length >= max(part.counters()["edges"] for part in machine._all("processor"))
    assert length >= (outcome.total("edges") + machine.operations()["applied"]) / streams
    memory = machine.parameters.memory
    moved = sum(part.read_bytes + part.write_bytes for part in machine.traffic().values())
    peak = memory.channels * memory.bandwidth / machine.parameters.clock
    assert length >= 0.99 * moved / peak  # a posted write may still be under way at the end


makes = st.fixed_dictionaries(
    {
        "design": st.sampled_from(DESIGNS),
        "streams": st.sampled_from([1, 2, 4, 8]),
        "queue.depth": st.sampled_from([2, 3, 8]),
        "prefetch.lines": st.sampled_from([1, 2, 4]),
        "prefetch.line": st.sampled_from([32, 64]),
        "edge.readers_per_stream": st.sampled_from([1, 2, 4]),
        "edge.start": st.sampled_from(["auto", "edram", "memory", "frontier"]),
        "atomic.mode": st.sampled_from(["auto", "stall", "forward"]),
        "apply.auto": st.booleans(),
        "apply.write_all": st.sampled_from(["auto", "true", "false"]),
        "scan.bits": st.sampled_from([32, 64]),
        "slice.count": st.sampled_from([0, 1, 2, 5]),
        "memory.model": st.sampled_from(["simple", "dram"]),
        "memory.channels": st.sampled_from([1, 4]),
    }
)


@given(
    makes,
    st.sampled_from(ALGORITHMS),
    st.sampled_from(["rule", "unit"]),
    st.integers(1, 600),
    st.integers(0, 1500),
    st.integers(0, 10**6),
)
@example({"design": "graphdyns", "streams": 1}, "bfs", "rule", 700, 3000, 5)
@example(
    {"design": "graphdyns", "apply.write_all": "true"}, "bfs", "rule", 300, 3000, 5
)  # half a block behind
@example({"design": "graphicionado", "streams": 2}, "bfs", "rule", 2, 0, 0)  # no edges
def test_every_make_does_what_the_plain_loop_does(make, algorithm, weights, vertices, edges, seed):
    graph = small_graph(vertices, edges, seed)
    problem = problem_of(graph, algorithm=algorithm, weights=weights, iterations=3)
    machine = machine_of(problem, make)
    outcome = check(machine, problem)
    check_bounds(machine, outcome)


small_makes = st.fixed_dictionaries(
    {
        "design": st.sampled_from(DESIGNS),
        "streams": st.sampled_from([1, 2, 4]),
        "queue.depth": st.integers(2, 5),
        "prefetch.lines": st.integers(1, 4),
        "prefetch.line": st.sampled_from([32, 64]),
        "edge.readers_per_stream": st.integers(1, 4),
        "edge.start": st.sampled_from(["auto", "edram", "memory", "frontier"]),
        "edge.source": st.sampled_from(["auto", "kept", "dropped"]),
        "property.bytes": st.sampled_from([4, 8]),
        "id.bytes": st.sampled_from([4, 5]),
        "edram.read_latency": st.integers(1, 4),
        "edram.write_latency": st.integers(1, 3),
        "compute.min_latency": st.integers(1, 3),
        "compute.fp_add_latency": st.integers(1, 5),
        "atomic.mode": st.sampled_from(["auto", "stall", "forward"]),
        "apply.auto": st.booleans(),
        "apply.write_all": st.sampled_from(["auto", "true", "false"]),
        "block.vertices": st.sampled_from([64, 128]),
        "scan.bits": st.sampled_from([32, 64]),
        "slice.count": st.sampled_from([0, 1, 2, 3]),
        "table.coarsen": st.sampled_from([0, 1, 4]),
        "network.memory_latency": st.integers(1, 3),
        "network.queue": st.integers(2, 4),
        "memory.model": st.sampled_from(["simple", "dram"]),
        "memory.channels": st.sampled_from([1, 2]),
        "memory.bandwidth": st.sampled_from(["2 GB/s", "17 GB/s"]),
        "memory.simple_latency": st.sampled_from(["20 ns", "50 ns"]),
    }
)


@given(
    small_makes,
    st.sampled_from(ALGORITHMS),
    st.sampled_from(["rule", "unit"]),
    st.integers(1, 200),
    st.integers(0, 400),
    st.integers(0, 10**6),
)
@example(TINY | {"table.coarsen": 0}, "pagerank", "rule", 8, 0, 0)  # the vertices of one job
def test_cycles_counters_and_moved_bytes_are_those_of_the_plain_modules(
    make, algorithm, weights, vertices, edges, seed
):
    if make["table.coarsen"] > 1:
        make |= {"edge.source": "kept", "edge.start": "edram"}  # it is refused elsewhere
    graph = small_graph(vertices, edges, seed)
    problem = problem_of(graph, algorithm=algorithm, weights=weights, iterations=2)
    machine = run_to_end(machine_of(problem, make))
    plain = run_to_end(PlainGraphicionado(machine.parameters, *problem.machine_inputs()))
    counters, expected = (one.kernel.statistics() for one in (machine, plain))
    assert {name: part.counters for name, part in counters.items()} == {
        name: part.counters for name, part in expected.items()
    }
    assert cycles(machine) == cycles(plain)
    assert [astuple(record) for record in machine.iterations()] == plain.control.records
    assert machine.memory() == plain.memory()
    moved, plainly = machine.traffic(), plain.traffic()
    for name, part in plainly.items():
        assert (moved[name].read_bytes, moved[name].write_bytes) == (part.read_bytes, part.write_bytes)


@pytest.mark.parametrize(("reached", "applied"), [(4, 4), (5, 64)])
def test_all_of_a_slice_are_applied_where_a_line_each_is_more_than_all_of_its_lines(reached, applied):
    """128 vertices in two slices, each of 64 in 4 lines of 16: up to 4 are applied one by one."""
    star = sparse.csr_array((np.ones(reached), ([0] * reached, range(1, reached + 1))), shape=(128, 128))
    make = TINY | {"design": "sparse_access", "apply.auto": True, "slice.count": 2, "block.vertices": 64}
    machine = run_to_end(machine_of(problem_of(star, algorithm="bfs", root=0), make))
    assert machine.operations()["applied"] == applied


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_the_number_of_streams_changes_no_count(design, algorithm):
    problem = problem_of(small_graph(600, 4000), algorithm=algorithm)
    found = []
    for streams in (1, 2, 4, 8):
        machine = machine_of(problem, {"design": design, "streams": streams})
        outcome = check(machine, problem)
        done = machine.operations()
        done.pop("stalls")
        assert done.pop("edges_of_fullest_stream") >= done["edges"] / streams
        frontiers = [record.frontier for record in machine.iterations()]
        found.append((done, frontiers, machine.result().tolist()))
        useful = sum(part.useful_read_bytes + part.useful_write_bytes for part in machine.traffic().values())
        assert useful == useful_bytes(design, outcome, algorithm == "sssp")
    assert found[1:] == found[:-1]


def test_bfs_is_sssp_with_unit_weights():
    graph = small_graph(600, 4000)
    problems = [problem_of(graph, algorithm=algorithm, weights="unit") for algorithm in ("bfs", "sssp")]
    machines = [run_to_end(machine_of(problem, {})) for problem in problems]
    assert np.array_equal(*(machine.result() for machine in machines))
    assert machines[0].operations() == machines[1].operations()
    assert cycles(machines[0]) == cycles(machines[1])


def bytes_of_properties(problem, design):
    """Useful ones moved in each iteration: by how much more the machine moves with one more allowed."""
    totals = [0]
    for most in range(1, len(reference(problem).iterations) + 1):
        graph, task = problem.machine_inputs()
        machine = run_to_end(
            Graphicionado(configured(TINY | {"design": design}), graph, replace(task, iterations=most))
        )
        moved = machine.traffic()["properties"]
        totals.append(moved.useful_read_bytes + moved.useful_write_bytes)
    return np.diff(totals)


@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_leaner_designs_use_fewer_bytes_of_properties_in_every_iteration(algorithm):
    problem = problem_of(small_graph(300, 1000), algorithm=algorithm)
    vertices, blocks, all_vertices = (
        bytes_of_properties(problem, design) for design in ("csr_like", "graphdyns", "graphicionado")
    )
    assert len(vertices) > 3
    assert all(vertices < blocks)
    assert all(blocks <= all_vertices + 4 * TINY["block.vertices"])  # rounding at the last vertex


@pytest.mark.real
@pytest.mark.skipif(not import_mode.compiled(), reason="whole graphs take long uncompiled")
@pytest.mark.parametrize(
    ("name", "algorithm"),
    [pytest.param(*case, marks=[] if case[0] == "wiki-Vote" else pytest.mark.slow) for case in USEFUL],
)
def test_useful_bytes_are_the_published_formulas(name, algorithm):
    graph = load(name)
    if graph.source != "real":
        pytest.skip(f"{name} is not on FIBERSCOPE_DATA")
    problem, found = problem_of(graph, algorithm=algorithm), []
    for design in ("graphicionado", "graphdyns", "csr_like"):
        machine = machine_of(problem, {"design": design})
        check_bounds(machine, check(machine, problem))
        found.append(
            sum(part.useful_read_bytes + part.useful_write_bytes for part in machine.traffic().values())
        )
    assert tuple(found) == USEFUL[name, algorithm]


def test_a_line_ahead_is_worth_time_and_moves_no_less():
    problem = problem_of(small_graph(600, 4000))
    ahead, without = (
        run_to_end(machine_of(problem, {"design": "csr_like", "prefetch.lines": lines})) for lines in (4, 1)
    )
    assert cycles(ahead) < cycles(without)
    ahead_bytes, without_bytes = (machine.traffic()["edges"].read_bytes for machine in (ahead, without))
    assert ahead_bytes == without_bytes  # the ends of lists are known


def test_a_graph_that_does_not_fit_is_cut():
    problem = problem_of(small_graph(2000, 8000))
    machine = machine_of(problem, {"edram.size": 4000})
    check(machine, problem)
    assert (machine.division.slices, machine.division.vertices_per_entry) == (8, 4)
    assert machine.chosen() == ("8 slices by destination, a table of 4 vertices an entry",)
    assert (
        machine.division.needed_bytes == 4 * max(np.diff(machine.bounds)) + 4 * 500 <= 4000
    )  # slices are whole blocks
    with pytest.raises(ConfigurationError, match="2000 vertices in 1 slices with a table with 1 vertices"):
        machine_of(problem, {"edram.size": 4000, "slice.count": 1, "table.coarsen": 1})
    with pytest.raises(
        ConfigurationError, match=r"in 8 slices with .* need 10\d\d bytes; increase edram.size"
    ):
        machine_of(problem, {"edram.size": 1000})  # less than a block


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"block.vertices": 200}, r"block.vertices is 200; it should be a multiple of 128, a line of each"),
        ({"prefetch.line": 48}, "prefetch.line is 48 bytes; it should be a power of two"),
        ({"streams": 33}, "streams is 33"),
        ({"scan.bits": 40}, "scan.bits is 40; 32 or 64 would do"),
        (
            {"id.bytes": 16, "prefetch.line": 32},
            "id.bytes is 16; an active vertex and an edge should fit a line of 32",
        ),
        (
            {"table.coarsen": 2, "design": "csr_like", "edge.start": "edram"},
            "table.coarsen is 2; it should be 0",
        ),
    ],
)
def test_what_cannot_be_is_refused(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        configured(settings)
