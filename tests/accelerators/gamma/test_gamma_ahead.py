"""The pipeline worked out ahead of the clock: all is as if each of its components ticked."""

import numpy as np
import pytest
from gamma_bench import SETTINGS, configurations, configured, operands, small_operands
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from fiberscope import simulate
from fiberscope.accelerators.gamma import Gamma
from fiberscope.accelerators.gamma.writer import FiberWriter
from fiberscope.hw.fibers.arithmetic import Accumulator, Multiplier
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.fibers.sum_lookahead import SumLookahead
from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.sim import Kernel, SimulationError
from fiberscope.sim.lookahead import LookaheadKernel

LIMITS = st.lists(st.integers(1, 3000), max_size=4).map(sorted)
SMALL = {key.replace(".", "__"): value for key, value in SETTINGS.items()}


def state(machine, run):
    """All that a report takes from a machine."""
    return run, machine.kernel.statistics(), machine.operations(), machine.traffic(), machine.memory()


def outcome(parameters, a, b, limits=(), kernel=None):
    """What a machine has done at each of these cycles, at the end, and its product."""
    machine = Gamma(parameters, a, b, kernel=kernel)
    seen = [state(machine, machine.kernel.run(cycle_limit=limit)) for limit in (*limits, None)]
    product = machine.result()
    return seen, product.indptr.tolist(), product.indices.tolist(), product.data.tolist()


def small(**options):
    return Gamma(configured(**SMALL), *small_operands(), **options)


def accounts(machine):
    """What the parts that are worked out ahead have done in the cycles that are gone."""
    parts = [part for one in machine.elements for part in (one.merger, one.multiplier, one.accumulator)]
    return [(cycles_of(part, machine.kernel.cycle + 1), part.counters()) for part in parts]


def cycles_of(part, end):
    cycles = list(part.cycles)
    cycles[part.state] += end - part.since
    return cycles


def ticks(machine):
    machine.kernel.run()
    return machine.kernel.ticks


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(configurations(), operands(), LIMITS, st.integers(0, 3))
def test_a_pipeline_worked_out_ahead_does_what_its_components_would(parameters, matrices, limits, order_seed):
    plain = outcome(parameters, *matrices, limits, Kernel())
    assert outcome(parameters, *matrices, limits) == plain
    assert outcome(parameters, *matrices, limits, LookaheadKernel(order_seed=order_seed)) == plain


@pytest.mark.parametrize("radix", [2, 5, 16, 64])
@pytest.mark.parametrize("stages", [1, 2, 6])
def test_it_does_so_in_trees_of_every_shape(radix, stages):
    shape = {"pe__radix": radix, "pe__merger_stages": stages, "scheduler__stream_lines": 20}
    parameters, limits = configured(**SMALL | shape), (100, 101, 700)
    assert outcome(parameters, *small_operands(), limits) == outcome(
        parameters, *small_operands(), limits, Kernel()
    )


def test_the_next_task_waits_for_the_node_whose_fibers_end_last():
    """Fibers of 1 or 9 elements: the nodes of a task end in another order than they are looked at."""
    shape = {"pe__radix": 32, "pe__merger_stages": 5, "pe__count": 1, "pe__buffer_lines": 1}
    parameters = configured(**SMALL | shape | {"fibercache__size": "64 KiB", "scheduler__stream_lines": 20})
    for seed in range(8):
        draws = np.random.default_rng(seed)
        lengths = [draws.choice([32, 32, draws.integers(1, 33)]) for _ in range(30)]
        a = [draws.permutation(40) < length for length in lengths]
        b = [draws.permutation(30) < length for length in draws.choice([1, 1, 1, 9], 40)]
        factors = [sparse.csr_array(np.array(rows, float)) for rows in (a, b)]
        assert outcome(parameters, *factors) == outcome(parameters, *factors, kernel=Kernel())


@pytest.mark.parametrize(
    "depths",
    [
        {"network__queue": 200, "scheduler__output_page": "64 KiB"},
        {"pe__accumulator_latency": 100, "pe__pipeline_queue": 40},
        {"pe__multiplier_latency": 300, "pe__merger_latency": 20},
        {"pe__buffer_lines": 1, "fibercache__line": 16, "memory__interleave": 16},
        {"fibercache__latency": 40, "pe__count": 1, "memory__model": "simple"},
    ],
)
def test_it_does_so_however_much_is_in_flight(depths):
    parameters = configured(**SMALL | depths)
    assert outcome(parameters, *small_operands()) == outcome(parameters, *small_operands(), kernel=Kernel())


def test_fewer_ticks_are_taken_for_it():
    assert ticks(small()) < 0.75 * ticks(small(kernel=Kernel()))


@pytest.mark.parametrize(
    ("part", "kind"), [("merger", HighRadixMerger), ("multiplier", Multiplier), ("accumulator", Accumulator)]
)
def test_a_part_of_ones_own_ticks_and_so_does_what_is_around_it(part, kind):
    own = {part: type("Own", (kind,), {})}
    assert ticks(small(parts=own)) == ticks(small(parts=own, kernel=Kernel()))


def test_who_steps_ticks_all_of_them():
    machine = small()
    while machine.kernel.step():
        assert all(channel.occupancy <= channel.capacity for channel in machine.kernel.channels())
    assert machine.kernel.ticks == ticks(small(kernel=Kernel()))


def test_it_can_be_stepped_on_after_a_run():
    machine, plain = small(), small(kernel=Kernel())
    for one in (machine, plain):
        one.kernel.run(cycle_limit=300)
        for _ in range(100):
            one.kernel.step()
    assert machine.kernel.statistics() == plain.kernel.statistics()
    assert state(machine, machine.kernel.run()) == state(plain, plain.kernel.run())


def test_a_limit_that_is_past_changes_nothing():
    machine, plain = small(), small(kernel=Kernel())
    for one in (machine, plain):
        one.kernel.run(cycle_limit=300)
        one.kernel.run(cycle_limit=200)
    assert state(machine, machine.kernel.run()) == state(plain, plain.kernel.run())


def test_an_interrupt_before_the_first_step_is_as_in_step():
    machine, plain = small(), small(kernel=Kernel())
    for one in (machine, plain):
        one.kernel.run(cycle_limit=300)
        one.kernel.interrupt()
    assert state(machine, machine.kernel.run()) == state(plain, plain.kernel.run())
    assert state(machine, machine.kernel.run()) == state(plain, plain.kernel.run())


@pytest.mark.parametrize("tick", [50, 60, 70, 80])
def test_an_interrupt_in_the_midst_accounts_for_all_that_has_happened(tick):
    class Interrupting(FiberCacheBank):
        ticks = 0

        def tick(self, now):
            self.ticks += 1
            if self.ticks == tick and self.name.endswith("bank00"):
                machine.kernel.interrupt()
            return super().tick(now)

    machine, plain = small(parts={"bank": Interrupting}), small(kernel=Kernel())
    ended = machine.kernel.run()
    assert ended.reason == "interrupted"
    plain.kernel.run(cycle_limit=machine.kernel.cycle + 1)
    assert accounts(machine) == accounts(plain)
    assert state(machine, machine.kernel.run()) == state(plain, plain.kernel.run())


def test_a_tracer_comes_before_the_first_run():
    machine = small()
    machine.kernel.run(cycle_limit=10)
    with pytest.raises(SimulationError, match="attach a tracer before its first run"):
        machine.kernel.trace(object())


def test_planted_a_product_that_comes_late_is_found(monkeypatch):
    class Late(SumLookahead):
        def engage(self):
            super().engage()
            self.products_latency += 1

    plain = outcome(configured(**SMALL), *small_operands(), kernel=Kernel())
    monkeypatch.setattr("fiberscope.accelerators.gamma.element.SumLookahead", Late)
    assert outcome(configured(**SMALL), *small_operands()) != plain


def congested(**changed):
    """A machine whose writers often find no space for a line, and end partial fibers with one."""
    settings = {
        "pe.count": 2,
        "pe.radix": 4,
        "pe.pipeline_queue": 1,
        "network.queue": 2,
        "network.pe_latency": 1,
        "fibercache.size": 512,
        "fibercache.banks": 1,
        "fibercache.ways": 2,
        "fibercache.misses": 1,
        "memory.model": "simple",
        "memory.channels": 1,
        "scheduler.stream_lines": 40,
    } | changed
    generator = np.random.default_rng(8)
    a, b = (
        sparse.random_array(shape, density=density, rng=generator, format="csr")
        for shape, density in (((30, 40), 0.1), ((40, 80), 0.3))
    )
    for matrix in (a, b):
        matrix.sort_indices()
    return configured(**{key.replace(".", "__"): value for key, value in settings.items()}), a, b


def test_a_writer_that_is_held_up_by_its_requests_is_as_in_step():
    assert outcome(*congested()) == outcome(*congested(), kernel=Kernel())


@pytest.mark.parametrize("order_seed", range(4))
def test_a_sum_that_is_taken_before_the_pipeline_ticks_leaves_its_slot_to_the_next_cycle(order_seed):
    quick = {"pe.accumulator_latency": 1, "pe.multiplier_latency": 1, "pe.pipeline_queue": 2}
    machine = congested(**quick | {"fibercache.misses": 2})
    plain = outcome(*machine, kernel=Kernel())
    assert outcome(*machine, kernel=LookaheadKernel(order_seed=order_seed)) == plain


def test_planted_a_writer_whose_word_outlives_its_task_is_found(monkeypatch):
    class Eager(FiberWriter):
        known = 0

        def promised_pops(self):
            self.known = max(self.known, self.elements.pops + super().promised_pops())
            return self.known - self.elements.pops

    plain = outcome(*congested(), kernel=Kernel())
    monkeypatch.setattr("fiberscope.accelerators.gamma.element.FiberWriter", Eager)
    assert outcome(*congested()) != plain


def test_histograms_see_the_tokens_within_and_change_nothing_else():
    a, b = small_operands()
    report = simulate("gamma", a, b, histograms=True)
    assert report.components == simulate("gamma", a, b).components
    for channels in ("pe.merger.ways", "pe.multiplier.operands", "pe.accumulator.products"):
        assert max(report.occupancies[channels].cycles) > 0, channels
