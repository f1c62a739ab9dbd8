"""The functional pass counts what the machine's own counters count, without its cycles."""

import numpy as np
import pytest
from gamma_bench import configurations, configured, counted, operands, run_gamma, small_operands
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.accelerators.gamma.functional_pass import FunctionalPass
from fiberscope.workloads.sparse import sparse

MISSES = ("fetch_misses", "read_misses", "consume_misses")


def check_counts(work, run, machine):
    """Requests, tasks, merged elements and rows of Z are equal to the element."""
    assert int(work.merged.sum()) == machine.operations()["merge"]
    assert run.tasks == machine.operations()["tasks"]
    assert int(work.outputs.sum()) == machine.result().nnz
    readers, prefetchers = counted(machine, "pe.reader"), counted(machine, "pe.prefetcher")
    assert run.pointer_reads == prefetchers["pointer_reads"]
    cache = run.cache
    assert cache.fetches == prefetchers["fetches"]
    assert (cache.reads - run.pointer_reads, cache.consumes) == (
        readers["lines_read"],
        readers["lines_consumed"],
    )
    assert cache.writes == counted(machine, "pe.writer")["partial_lines_written"]


@given(operands(), configurations())
def test_counts_are_those_of_any_machine_on_any_matrices(pair, parameters):
    machine, work = run_gamma(parameters, *pair), FunctionalPass(parameters, *pair)
    run, _ = work.run_cache()
    check_counts(work, run, machine)
    banks = counted(machine, "fibercache.bank")
    cache = run.cache
    fills = cache.fetch_misses + cache.read_misses + cache.write_misses
    drops = cache.consumes - cache.consume_misses
    # The approximate order of the pass may hold more lines at once than the machine, and evict some of them.
    if banks["evictions"] == 0 and fills - drops == cache.tags.held:
        assert cache.traffic_lines() == sum(banks[name] for name in MISSES)


@given(operands(), configurations())
def test_a_pass_runs_as_often_as_it_is_asked_to(pair, parameters):
    work = FunctionalPass(parameters, *pair)
    (first, _), (again, _) = work.run_cache(), work.run_cache()
    assert np.array_equal(first.lines, again.lines)
    assert (first.partial_reads, first.cache.traffic_lines()) == (
        again.partial_reads,
        again.cache.traffic_lines(),
    )
    assert (np.asarray(work.trees.table.missing) >= 0).all()


@given(operands(), configurations(), st.sampled_from(["none", "selective"]))
def test_lines_of_a_and_z_are_those_of_any_machine(pair, parameters, tiling):
    """Each processing element may write a last line of Z in part. Tiling makes more rows of A than Z has."""
    output = parameters.scheduler.model_copy(update={"output": "memory"})
    parameters = parameters.model_copy(update={"tiling": tiling, "tile": 192, "scheduler": output})
    machine, work = run_gamma(parameters, *pair), FunctionalPass(parameters, *pair)
    counted, moved = work.traffic(work.run_cache()[0]), machine.traffic()
    assert counted["A"] == moved["A"]
    part_filled = moved["Z"].write_bytes - counted["Z"].write_bytes
    assert 0 <= part_filled <= parameters.pe.count * parameters.fibercache.line


@pytest.mark.parametrize(
    "changes", [{}, {"reorder": "affinity"}, {"tiling": "selective", "tile": 192}, {"pe.prefetch": False}]
)
def test_work_by_row_is_that_of_the_rows_in_the_order_in_which_they_run(changes):
    a, b = small_operands()
    parameters = configured(**{key.replace(".", "__"): value for key, value in changes.items()})
    machine, work = run_gamma(parameters, a, b), FunctionalPass(parameters, a, b)
    run, _ = work.run_cache()
    check_counts(work, run, machine)
    by_row = np.zeros(len(machine.table.row_lengths), np.int64)
    np.add.at(by_row, work.preprocessed.product_rows, work.outputs)
    assert by_row.tolist() == list(machine.table.row_lengths)
    assert int(np.asarray(run.lines).sum()) == run.cache.traffic_lines()


def drawn(rows, nonzeros, seed):
    generator = np.random.default_rng(seed)
    places = generator.choice(rows * rows, nonzeros, replace=False)
    return sparse.csr_array((np.ones(nonzeros), np.divmod(np.sort(places), rows)), shape=(rows, rows))


def test_misses_of_a_cache_that_holds_a_tenth_of_the_operand_are_the_machines():
    a = drawn(6000, 30000, 5)
    parameters = configured(
        pe__count=8, fibercache__size=48 << 10, fibercache__banks=4, fibercache__ways=16, memory__channels=4
    )
    machine, work = run_gamma(parameters, a, a), FunctionalPass(parameters, a, a)
    run, _ = work.run_cache()
    check_counts(work, run, machine)
    missed = sum(counted(machine, "fibercache.bank")[name] for name in MISSES)
    assert run.cache.traffic_lines() == pytest.approx(missed, rel=0.03)


def test_lines_of_long_tasks_are_read_while_they_merge_and_evicted_before_it_if_the_cache_is_small():
    generator = np.random.default_rng(3)
    b = sparse.csr_array(np.where(generator.random((60, 600)) < 0.3, 1.0, 0.0))
    a = sparse.csr_array(np.where(generator.random((20, 60)) < 0.8, 1.0, 0.0))
    parameters = configured(pe__count=4, fibercache__size=24 << 10, fibercache__banks=4, memory__channels=4)
    machine, work = run_gamma(parameters, a, b), FunctionalPass(parameters, a, b)
    run, _ = work.run_cache()
    check_counts(work, run, machine)
    missed = sum(counted(machine, "fibercache.bank")[name] for name in MISSES)
    assert run.cache.traffic_lines() - run.cache.write_backs == pytest.approx(missed, rel=0.25)
    assert run.cache.read_misses > 0


def test_the_state_of_the_cache_is_kept_before_the_rows_that_are_asked_for():
    a, b = small_operands()
    parameters = configured()
    whole, states = FunctionalPass(parameters, a, b).run_cache([0, 10, 30])
    assert list(states) == [0, 10, 30]
    assert (states[0].lines < 0).all()
    assert (states[10].lines >= 0).any()
    shape = (parameters.fibercache.banks, parameters.fibercache.sets, parameters.fibercache.ways)
    assert states[10].lines.shape == states[10].reuse.shape == shape
    again, _ = FunctionalPass(parameters, a, b).run_cache()
    assert again.cache.traffic_lines() == whole.cache.traffic_lines()
