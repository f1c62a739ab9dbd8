"""Whole ExTensors on small matrices: product, operations at every level, and traffic, all exact."""

import pytest
from extensor_bench import (
    TINY,
    configurations,
    configured,
    csr,
    operands,
    random_matrix,
    run_extensor,
    small_operands,
    tiny,
)
from extensor_checks import check_all
from hypothesis import given

import fiberscope
from fiberscope.accelerators.machine import Traffic
from fiberscope.accelerators.testing import cycles


@given(operands(), configurations())
def test_any_machine_on_any_matrices(pair, parameters):
    check_all(run_extensor(parameters, *pair), *pair)


def test_partial_outputs_are_read_and_written_again():
    a, b = random_matrix(20, 40, 200, seed=3), random_matrix(40, 30, 300, seed=4)
    machine = run_extensor(tiny(), a, b)
    check_all(machine, a, b)
    partial = machine.traffic()["PO"]
    assert partial.read_bytes == partial.write_bytes > 0


@pytest.mark.parametrize("halves", [1, 2])
def test_a_row_never_overtakes_the_pair_before_of_the_same_output_tile(halves):
    """K2 = 0 has a full product of 4096 steps, K2 = 1 one of a single step, which is done long before."""
    a = csr({(m, k): 1.0 for m in range(16) for k in range(16)} | {(3, 16): 1.0}, 16, 32)
    b = csr({(k, n): 1.0 for k in range(16) for n in range(16)} | {(16, 5): 1.0}, 32, 16)
    machine = run_extensor(tiny(pe__tile=16, tile__m=1, tile__k=1, tile__n=1, llb__halves=halves), a, b)
    check_all(machine, a, b)
    assert machine.traffic()["PO"] == Traffic(read_bytes=16 * 256, write_bytes=16 * 256)


def test_one_tile_has_no_partial_outputs():
    a, b = random_matrix(20, 20, 100, seed=5), random_matrix(20, 20, 100, seed=6)
    machine = run_extensor(tiny(tile__m=5, tile__k=5, tile__n=5), a, b)
    check_all(machine, a, b)
    assert machine.traffic()["PO"].read_bytes == 0
    assert machine.traffic_minimum_bytes() == sum(stream.bytes for stream in machine.streams)


@pytest.mark.parametrize("shape", [(0, 0, 0), (0, 5, 3), (4, 0, 3), (4, 5, 0), (1, 1, 1)])
def test_the_smallest_shapes(shape):
    m, k, n = shape
    a, b = csr({}, m, k), csr({}, k, n)
    machine = run_extensor(tiny(), a, b)
    check_all(machine, a, b)
    assert machine.result().shape == (m, n)


def test_tiles_that_do_not_meet_never_move():
    a, b = csr({(0, 0): 1.0}, 40, 40), csr({(30, 0): 1.0}, 40, 40)
    machine = run_extensor(tiny(), a, b)
    check_all(machine, a, b)
    assert sum(tensor.read_bytes for tensor in machine.traffic().values()) == 0


def test_values_that_cancel_and_stored_zeros_stay_entries_of_the_product():
    a = csr({(0, 0): 1.0, (0, 1): -1.0, (0, 9): 0.0}, 1, 12)
    b = csr({(0, 0): 2.0, (1, 0): 2.0, (9, 1): 5.0}, 12, 2)
    machine = run_extensor(tiny(), a, b)
    check_all(machine, a, b)
    assert machine.result().data.tolist() == [0.0, 0.0]


def test_the_shipped_machine():
    a = random_matrix(300, 300, 2000, seed=7)
    check_all(run_extensor(configured(), a, a), a, a)


def test_a_buffer_for_one_product_waits_for_the_core():
    """Two full matrices of two microtiles a side: a product has 4 + 4 fibers and 16 + 16 elements."""
    a = csr({(m, k): 1.0 for m in range(8) for k in range(8)}, 8, 8)
    ample, tight = tiny(pe__count=1), tiny(pe__count=1, pe__buffer=236 + 232)
    machines = [run_extensor(parameters, a, a) for parameters in (ample, tight)]
    for machine in machines:
        check_all(machine, a, a)
    moving = sum(-(-size // 8) for size in (236, 232)) * 8  # at most: eight products, nothing reused
    gained = cycles(machines[1]) - cycles(machines[0])
    assert 0 < gained <= moving


def test_a_microtile_of_a_stays_for_the_next_n1():
    """One row of A against eight microtiles of B: A's one microtile is moved once to its element."""
    a, b = csr({(0, 0): 1.0}, 1, 4), csr({(0, n): 1.0 for n in range(0, 32, 4)}, 4, 32)
    machine = run_extensor(tiny(pe__count=1, tile__n=8, pe__task_queue=8), a, b)
    check_all(machine, a, b)
    buffer = machine.kernel.statistics()["extensor.pe00.buffer"].counters
    # A microtile is 12 + 8 + 12 bytes of A; 8 + 8 + 12 of B.
    assert buffer == {"reuses": 7, "bytes": 32 + 8 * 28}


def test_one_half_of_the_buffer_does_the_same_and_overlaps_nothing():
    a, b = small_operands()
    one, two = (run_extensor(tiny(llb__halves=halves), a, b) for halves in (1, 2))
    for machine in (one, two):
        check_all(machine, a, b)
    assert one.operations() == two.operations()
    assert one.traffic() == two.traffic()
    assert cycles(one) > 1.2 * cycles(two)


def test_two_fingers_pass_every_element_that_skipping_leaps_over():
    """A's fiber has 0 to 31, B's only 31."""
    a, b = csr({(0, k): 1.0 for k in range(32)}, 1, 32), csr({(31, 0): 1.0}, 32, 1)
    whole = {"pe.tile": 32, "llb.port": 1, "pe.buffer": 1024}
    steps = {}
    for intersection in ("skip", "two_finger"):
        machine = run_extensor(tiny(intersection=intersection, **whole), a, b)
        check_all(machine, a, b)
        steps[intersection] = machine.operations()["intersect_k0"]
    assert steps == {"skip": 2, "two_finger": 32}


def test_scanners_both_go_on_in_every_step():
    """0 and 1 go by in a step, 3 meets in the next, and 8 ends B's fiber; skipping passes 0 and 1 in two."""
    a = csr({(0, k): 1.0 for k in (0, 3, 9, 12)}, 1, 32)
    b = csr({(k, 0): 1.0 for k in (1, 3, 8)}, 32, 1)
    steps = {}
    for intersection in ("skip", "scanners"):
        machine = run_extensor(
            tiny(intersection=intersection, pe__tile=32, llb__port=1, pe__buffer=1024), a, b
        )
        check_all(machine, a, b)
        steps[intersection] = machine.operations()["intersect_k0"]
    assert steps == {"skip": 4, "scanners": 3}


@pytest.mark.parametrize("whole_tiles", [False, True])
@pytest.mark.parametrize("many", ["A", "B"])
def test_a_list_leaps_over_what_the_other_lacks(many, whole_tiles):
    """One operand has every K1 (or K2), the other the last one only."""
    all_k = {"A": {(0, k): 1.0 for k in range(32)}, "B": {(k, 0): 1.0 for k in range(32)}}
    last_k = {"A": {(0, 31): 1.0}, "B": {(31, 0): 1.0}}
    a, b = (csr((all_k if many == name else last_k)[name], *shape) for name, shape in SHAPES.items())
    machine = run_extensor(tiny(tile__k=1 if whole_tiles else 8), a, b)
    check_all(machine, a, b)
    leaps, rest = ("intersect_k2", "intersect_k1") if whole_tiles else ("intersect_k1", "intersect_k2")
    assert (machine.operations()[leaps], machine.operations()[rest]) == (2, 1)


SHAPES = {"A": (1, 32), "B": (32, 1)}


def test_rows_wait_for_a_slow_memory():
    """Rows of Z are complete long before memory has taken those ahead of them."""
    a = csr({(m, k): 1.0 for m in range(200) for k in (0, 9)}, 200, 12)
    b = csr({(k, n): 1.0 for k in (0, 9) for n in range(8)}, 12, 8)
    slow = {"tile.m": 50, "memory.bandwidth": "100 MB/s", "stream.line": 16, "memory.channels": 1}
    machine = run_extensor(tiny(**slow), a, b)
    check_all(machine, a, b)
    stalls = machine.kernel.statistics()["extensor.llb.drain"].output_stall
    assert sum(stalls.values()) > 0


def full(rows, columns, first=(0, 0)):
    """The points of a full block."""
    return {(first[0] + m, first[1] + k): 1.0 for m in range(rows) for k in range(columns)}


def one_long_product(others):
    """A product of 4096 steps, and as many pairs of tiles behind it, of 16 products of a step each."""
    a = full(16, 16) | {(16 * tile, 0): 1.0 for tile in range(1, others + 1)}
    return csr(a, 16 * (others + 1), 16), csr(full(16, 16), 16, 16)


@pytest.mark.parametrize("others", [2, 12])
def test_the_pairs_behind_a_long_product_do_not_wait_for_it(others):
    """They have other output tiles, and all go through the half that the long product leaves them."""
    a, b = one_long_product(others)
    parameters = tiny(pe__tile=16, pe__count=2, tile__m=1, tile__k=1, tile__n=1)
    machine = run_extensor(parameters, a, b)
    check_all(machine, a, b)
    statistics = machine.kernel.statistics()
    longest = max(core.counters["longest_product"] for name, core in statistics.items() if ".core" in name)
    assert longest == 4096
    alone = run_extensor(parameters, *one_long_product(0))
    assert cycles(machine) < cycles(alone) + 200


def test_a_product_crosses_the_network_to_its_element_and_back():
    """Memory is in step with the core, or the run's end would be rounded to its clock."""
    a = csr({(0, 0): 1.0}, 1, 1)
    runs = [
        cycles(run_extensor(tiny(memory__bandwidth="64 GB/s", network__pe_latency=latency), a, a))
        for latency in (3, 4, 8)
    ]
    assert [run - runs[0] for run in runs] == [0, 2, 10]


def test_the_bottleneck_names_the_longest_product_and_the_release():
    a, b = one_long_product(others=4)
    settings = TINY | {"pe.tile": 16, "pe.count": 2, "tile.m": 1, "tile.k": 1, "tile.n": 1}
    report = fiberscope.simulate("extensor", a, b, settings=settings)
    long = next(
        name for name, part in report.components.items() if part.counters.get("longest_product") == 4096
    )
    waits = {
        port: report.components[f"extensor.llb.{part}"].input_stall_by_port.get(port, 0) / report.cycles
        for part, port in (("loader", "released"), ("dispatcher", "drained"))
    }
    assert 0 < waits["released"] != waits["drained"] > 0
    assert report.bottleneck.endswith(
        f"The longest product takes 4,096 cycles, in {long}; "
        f"the loader waits {waits['released']:.0%} of the time for the release of input tiles, "
        f"the dispatcher {waits['drained']:.0%} for that of output tiles."
    )


def test_products_pass_by_the_element_with_a_long_one():
    """Microtiles 0 and 3 belong to the first of three elements; the first product keeps it for 4096 steps."""
    a = csr(full(16, 16) | {(0, 16 * k): 1.0 for k in range(1, 6)}, 16, 96)
    b = csr(full(16, 16) | {(16 * k, 0): 1.0 for k in range(1, 6)}, 96, 16)
    machine = run_extensor(tiny(pe__tile=16, tile__m=1, tile__k=6, tile__n=1), a, b)
    check_all(machine, a, b)
    statistics = machine.kernel.statistics()
    assert [statistics[f"extensor.pe{i:02}.core"].counters["products"] for i in range(3)] == [1, 3, 2]


@pytest.mark.parametrize(
    ("settings", "waits"),
    [
        ({"memory.bandwidth": "100 MB/s", "memory.channels": 1}, "drained"),
        ({"pe.count": 1, "tile.m": 8, "tile.k": 8, "tile.n": 8}, "tasks"),
    ],
)
def test_a_dispatcher_waits_for_what_holds_it_up(settings, waits):
    """A slow memory does not take the output tiles; a single core is given more than it can do."""
    a = csr(full(24, 24), 24, 24)
    machine = run_extensor(tiny(**settings), a, a)
    part = machine.kernel.statistics()["extensor.llb.dispatcher"]
    stalls = part.input_stall | part.output_stall
    assert max(stalls, key=stalls.__getitem__) == waits
    assert 2 * stalls[waits] > sum(stalls.values())


def test_a_dispatcher_is_idle_only_while_no_product_is_to_be_taken():
    """Of one pair of tiles and one core: it waits for the core while its queue is full, or holds all."""
    a = csr(full(24, 24), 24, 24)
    small = {"pe.count": 1, "tile.m": 8, "tile.k": 8, "tile.n": 8}
    short, long = (
        run_extensor(tiny(**small, **{"pe.task_queue": queue}), a, a).kernel.statistics()
        for queue in (1, 400)
    )
    parts = [statistics["extensor.llb.dispatcher"] for statistics in (short, long)]
    assert parts[0].idle == parts[1].idle
    for part in parts:
        assert part.output_stall["tasks"] > 2 * part.idle
