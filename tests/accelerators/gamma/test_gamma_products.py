"""Whole Gammas on small matrices: the product, the counts of operations, and the traffic, all exact."""

import gamma_model as model
import numpy as np
import pytest
from gamma_bench import AMPLE, TINY, configurations, configured, counted, csr, operands, run_gamma, tiny
from gamma_checks import check_all
from hypothesis import given


@given(operands(), configurations())
def test_any_machine_on_any_matrices(pair, parameters):
    check_all(run_gamma(parameters, *pair), *pair)


@given(operands(), configurations())
def test_a_cache_that_holds_all_reads_b_once_and_never_spills(pair, parameters):
    ample = {"size": 1 << 18, "banks": 4, "ways": 16, "line": parameters.fibercache.line}
    cache = parameters.fibercache.model_copy(update=ample)
    scheduler = parameters.scheduler.model_copy(update={"output": "memory"})
    machine = run_gamma(parameters.model_copy(update={"fibercache": cache, "scheduler": scheduler}), *pair)
    check_all(machine, *pair)
    element, pointer = parameters.format.element, parameters.format.pointer
    lines = model.lines_of_b(*pair, element, pointer, cache.line)
    assert counted(machine, "fibercache.bank")["evictions"] == 0
    assert machine.traffic()["B"].read_bytes == lines * cache.line
    assert machine.traffic()["partial"].read_bytes == 0


CROWDED = {"pe.count": 6, "fibercache.banks": 1, "network.queue": 4}  # all at one bank


def dense(rows, columns, seed=0):
    generator = np.random.default_rng(seed)
    return csr([{k: float(generator.integers(-3, 4)) for k in range(columns)} for _ in range(rows)], columns)


@pytest.mark.parametrize("nonzeros", [1, 2, 3, 4, 9, 10, 27, 28, 82])
def test_a_row_longer_than_powers_of_the_radix(nonzeros):
    a, b = dense(1, nonzeros), dense(nonzeros, 5, seed=1)
    machine = run_gamma(tiny(pe__radix=3), a, b)
    check_all(machine, a, b)
    assert machine.operations()["tasks"] == max(1, -(-(nonzeros - 1) // 2))


def test_the_product_is_where_it_was_written():
    """Though it fills a tenth of the room that it might have taken."""
    a, b = dense(3, 10), csr([{4: 1.0}] * 10, 30)
    machine = run_gamma(tiny(), a, b)
    check_all(machine, a, b)
    assert np.shares_memory(machine.result().data, np.asarray(machine.product.values))


def test_partial_fibers_spill_and_come_back():
    a, b = dense(4, 40), dense(40, 30, seed=1)
    machine = run_gamma(tiny(), a, b)
    check_all(machine, a, b)
    spilled = machine.traffic()["partial"]
    assert 0 < spilled.write_bytes < spilled.read_bytes


@pytest.mark.parametrize("shape", [(0, 0, 0), (0, 5, 3), (4, 0, 3), (4, 5, 0), (1, 1, 1)])
def test_the_smallest_shapes(shape):
    m, k, n = shape
    a, b = csr([{}] * m, k), csr([{}] * k, n)
    machine = run_gamma(tiny(), a, b)
    check_all(machine, a, b)
    assert machine.operations()["multiply"] == 0


def test_one_by_one():
    a = csr([{0: 3.0}], 1)
    machine = run_gamma(configured(**TINY), a, a)
    check_all(machine, a, a)
    assert machine.result().toarray().tolist() == [[9.0]]


def test_values_that_cancel_and_stored_zeros_stay_entries_of_the_product():
    a, b = csr([{0: 1.0, 1: -1.0, 2: 0.0}], 3), csr([{0: 2.0}, {0: 2.0}, {1: 5.0}], 2)
    machine = run_gamma(tiny(), a, b)
    check_all(machine, a, b)
    assert machine.result().data.tolist() == [0.0, 0.0]


def test_rows_of_b_that_no_nonzero_selects_are_not_read():
    b = dense(100, 8)
    a = csr([{7: 1.0}], 100)
    machine = run_gamma(configured(**(TINY | AMPLE)), a, b)
    check_all(machine, a, b)
    assert machine.traffic()["B"].read_bytes == 64 * (2 + 1)  # 8 nonzeros in 2 lines, 2 pointers in 1


def test_empty_rows_between_two_rows_that_share_a_line_of_nonzeros():
    """A's row pointers between them are many more lines than the scheduler holds."""
    a = csr([dict.fromkeys(range(6), 1.0), *({} for _ in range(3000)), {0: 2.0}], 6)
    b = dense(6, 4)
    check_all(run_gamma(tiny(pe__radix=6, scheduler__stream_lines=4), a, b), a, b)


def test_no_read_overtakes_the_fetch_of_its_line():
    """A fetch behind its consume would bring a partial fiber that memory never had, and keep it."""
    a, b = dense(12, 20), dense(20, 16, seed=1)
    machine = run_gamma(configured(**(TINY | AMPLE | CROWDED)), a, b)
    check_all(machine, a, b)
    banks = counted(machine, "fibercache.bank")
    assert banks["read_misses"] == model.lines(20 + 1, 4, 64)  # of B's row pointers, which nobody fetches
    assert banks["consume_misses"] + banks["evictions"] == 0
    assert machine.traffic()["partial"].read_bytes == 0


def test_the_minimum_of_traffic_counts_each_nonzero_and_row_once():
    a, b = csr([{0: 1.0, 2: 1.0}, {}, {0: 1.0}], 3), dense(3, 4)
    machine = run_gamma(tiny(), a, b)
    # 3 nonzeros and 3 rows of A, 2 rows of B with 4 nonzeros each, 8 nonzeros and 3 rows of Z.
    assert machine.traffic_minimum_bytes() == 12 * (3 + 8 + 8) + 4 * (3 + 2 + 3)


def test_without_row_pointers_memory_moves_elements_alone():
    a = csr([{k % 30: 1.0, (7 * k + 3) % 30: 2.0} for k in range(40)], 30)
    b = csr([{0: 1.0, k % 20: 2.0} for k in range(30)], 20)
    runs = [run_gamma(configured(format__pointer=size), a, b) for size in (4, 0)]
    check_all(runs[1], a, b)
    assert runs[1].chosen() == ()  # not taken for operands of values alone
    most, least = (sum(t.read_bytes + t.write_bytes for t in m.traffic().values()) for m in runs)
    assert most - least == 64 * sum(model.lines(rows + 1, 4, 64) for rows in (40, 30, 40))
