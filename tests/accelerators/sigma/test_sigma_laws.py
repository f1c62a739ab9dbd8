"""SIGMA's laws: published cycles, counts against a plain model, what is never done, what bandwidth brings."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from sigma_bench import IDEAL, TINY, built, makes, operands, ran
from sigma_model import PlainSigma

import fiberscope
from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.sigma import ACCELERATOR
from fiberscope.accelerators.sigma.packing import cut_slices, pack_chunks
from fiberscope.accelerators.sigma.plan import Plan
from fiberscope.accelerators.testing import cycles, run_to_end
from fiberscope.explore.compare import read_published
from fiberscope.sim import import_mode
from fiberscope.workloads import draw

PUBLISHED = read_published(ACCELERATOR)
COMPARED_MODEL = "none, ideal output"
COMPARED = {"output.words_per_cycle": 0, "memory.model": "none"}
compiled_only = pytest.mark.skipif(
    not import_mode.compiled(), reason="routing 128 lanes takes minutes uncompiled"
)


def gemm(m, n, k, a=0.2, b=0.9):
    return f"gemm:m={m},n={n},k={k},a={a},b={b}"


@compiled_only
@pytest.mark.parametrize(
    "matrix",
    [
        pytest.param(figures.matrix, marks=[] if few else pytest.mark.slow)
        for figures in PUBLISHED.figures
        if figures.by == "reported" and not figures.settings and COMPARED_MODEL in figures.models
        for few in [figures.matrix in (gemm(2048, 1, 128), gemm(256, 256, 2048), gemm(2048, 4096, 32))]
    ],
)
def test_the_published_cycles_are_met_within_a_hundredth(matrix):
    report = fiberscope.simulate("sigma", matrix, settings=COMPARED)
    assert report.cycles == pytest.approx(PUBLISHED.find(matrix, "reported", COMPARED_MODEL).cycles, rel=0.01)


@compiled_only
@pytest.mark.parametrize(
    ("settings", "filters"),
    [
        ({"memory.model": "none"}, False),
        ({"memory.model": "simple"}, True),
        ({"memory.model": "none", "pack.filter": "regor"}, True),
        ({"memory.model": "simple", "pack.filter": "none"}, False),
    ],
)
def test_nonzeros_that_meet_nothing_are_left_out_as_asked_or_where_memory_is_modelled(settings, filters):
    report = fiberscope.simulate("sigma", gemm(512, 1, 128), settings=settings)
    left_out = report.operations["multiply"] < round(0.2 * 512 * 128)  # a tenth of B's rows hold nothing
    assert left_out == filters


@compiled_only
@pytest.mark.parametrize(("m", "n", "k"), [(2048, 1, 128), (256, 256, 2048), (100, 30, 700), (300, 7, 50)])
def test_cycles_are_the_closed_form_within_a_fill(m, n, k):
    z = round(0.2 * m * k)
    chunks = -(-k // 128) * -(-(0.2 * m * min(k, 128)) // 16384)
    form = -(-z // 128) + 14 * -(-z // 16384) + n * chunks
    assert abs(fiberscope.simulate("sigma", gemm(m, n, k), settings=COMPARED).cycles - form) <= 5


@pytest.mark.parametrize(("m", "n", "k", "stationary"), [(256, 256, 2048, "A"), (2048, 1, 128, "B")])
def test_cycles_with_unlimited_input_are_those_of_whole_folds(m, n, k, stationary):
    """The form that fits Figure 12 of the paper: a column of all slices at once."""
    held, streamed = (round(0.2 * m * k), n) if stationary == "A" else (k * n, m)
    folds = -(-held // 16384)
    make = COMPARED | {"input.words_per_cycle": 0, "stationary": stationary}
    found = fiberscope.simulate("sigma", gemm(m, n, k, b=1), settings=make).cycles
    assert 0 <= found - (-(-held // 128) + (14 + streamed) * folds) <= 5


def test_passes_of_one_cycle_follow_each_other():
    one = sparse.csr_array(np.ones((1, 3)))
    make = TINY | IDEAL | {"dpe.count": 1, "dpe.multipliers": 2, "slice.k": 1, "reduce.flush": 0}
    machine = ran((one, one.T.tocsr()), make | {"controller.first_fold": "hidden"})
    # Two lines and three columns; the pass, network, multipliers, 2 + 2 levels of adders.
    assert cycles(machine) == 2 + 3 + 1 + 1 + 1 + 2 + 2


def sram_bytes(a, b, make, staying):
    """Two folds, two slices that are streamed, and the sums of so many columns."""
    rows, columns = (a.shape[0], b.shape[1]) if make["stationary"] == "A" else (b.shape[1], a.shape[0])
    fold, width = make["dpe.count"] * make["dpe.multipliers"], min(make["slice.k"], a.shape[1])
    if make["pack.by"] == "rows":
        width = a.shape[1]
    operands = 2 * (width * columns + fold) * make["value.bytes"]
    return operands + staying * rows * make["value.sum_bytes"]


# Two slices share a line: the column of the second is sent faster than the sums of the first are taken.
NARROWER_SLICE = (sparse.csr_array([[1.0, 0, 0, 1], [0, 1, 0, 0]]), sparse.csr_array(np.ones((4, 1))))
ONE_WORD_A_CYCLE = TINY | {"slice.k": 3, "input.words_per_cycle": 1, "output.words_per_cycle": 1}
ONE_WORD_A_CYCLE |= {"stationary": "A", "pack.by": "nonzeros", "value.bytes": 1, "value.sum_bytes": 2}


@example(NARROWER_SLICE, ONE_WORD_A_CYCLE | {"memory.model": "none"}, 20)
@given(operands(), makes(), st.sampled_from([0, 1, 4, 20]))
def test_cycles_counts_and_moved_bytes_are_those_of_the_plain_model(given_operands, make, staying):
    """Of an SRAM with room for the sums of any number of columns."""
    a, b = (one.copy() for one in given_operands)
    for one in (a, b):
        one.data[one.data == 0] = 1.0
    make["sram.data"] = sram_bytes(a, b, make, staying)
    machine = ran((a, b), make)
    plain = run_to_end(PlainSigma(machine.parameters, a.toarray(), b.toarray()))
    assert machine.operations() == plain.operations()
    counters = machine.kernel.statistics()
    assert counters["sigma.controller"].counters == {"passes": len(plain.steps), "bits": plain.core.bits}
    distributor = counters["sigma.distributor"].counters
    assert distributor == {
        "lines_loaded": sum(step.lines for step in plain.steps),
        "columns_sent": sum(step.columns for step in plain.steps),
        "flushes": sum(step.flush for step in plain.steps),
    }
    assert cycles(machine) == cycles(plain)
    if machine.parameters.memory.model != "none":
        assert machine.traffic() == plain.traffic()
        assert machine.memory() == plain.memory()


@pytest.mark.parametrize("columns", [1, 3, 15, 256])
@pytest.mark.parametrize("more", [{}, {"input.words_per_cycle": 0}, {"pack.slices": "one"}])
def test_each_bit_of_both_bitmaps_is_scanned_once(columns, more):
    """Eight slices, 7 of 4 coordinates of K and one of 2; 20 rows and 15 columns, in blocks of any size."""
    machine = ran(draw("gemm:m=20,n=15,k=30,a=0.4,b=0.6"), TINY | {"stream.columns": columns, **more})
    assert machine.kernel.statistics()["sigma.controller"].counters["bits"] == (7 * 4 + 2) * (20 + 15)


@given(operands(), makes())
def test_each_flex_dpe_loads_or_streams_and_each_sum_comes_once(given_operands, make):
    both, machine = [], None

    class Watched(ACCELERATOR.parts["dpe"]):
        def tick(self, now):
            both.append(self.lines.can_pop() and self.columns.can_pop())
            return super().tick(now)

    machine = run_to_end(built(given_operands, make | {"step": "column"}, parts={"dpe": Watched}))
    assert make["load.double_buffer"] or not any(both)
    assert not any(machine.accumulators.partial)
    sums = machine.accumulators.sums_taken + machine.accumulators.add_outside
    assert sums == sum(dpe.multiply - dpe.add for dpe in machine.dpes)
    done = machine.accumulators.columns
    assert done == machine.distributor.columns_sent


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("input.words_per_cycle", [1, 2, 4, 0]),
        ("output.words_per_cycle", [1, 2, 4, 0]),
        ("load.words_per_cycle", [1, 2, 4]),
        ("memory.bandwidth", ["1 GB/s", "4 GB/s", "16 GB/s"]),
        ("controller.bits_per_cycle", [1, 8, 64]),
        ("reduce.flush", [9, 3, 0]),
        ("load.double_buffer", ["false", "true"]),
        ("sram.bandwidth", ["1 GB/s", "4 GB/s", "1000 GB/s"]),
    ],
)
def test_more_of_it_never_takes_longer(key, values):
    pair = draw("gemm:m=20,n=15,k=30,a=0.4,b=0.6")
    found = [cycles(ran(pair, TINY | {key: value})) for value in values]
    assert all(before >= after for before, after in pairwise(found))
    assert found[0] > found[-1]


def test_bytes_are_bitmaps_and_nonzeros():
    """128 x 4096 at 20 %: 65,536 and 209,716 bytes, read in lines of 64; Z is written once."""
    report = fiberscope.simulate(
        "sigma", gemm(128, 3, 4096, b=1), memory__model="simple", stream__line=64, memory__interleave=64
    )
    assert report.traffic["A"].read_bytes == -(-(65_536 + 2 * 104_858) // 64) * 64
    assert 0 <= report.traffic["B"].read_bytes - (3 * 512 + 2 * 4096 * 3) < 64
    assert report.traffic["Z"].read_bytes == 0
    assert report.traffic["Z"].write_bytes == 128 * 3 * 4
    assert report.traffic_minimum_bytes == 65_536 + 209_716 + 1_536 + 24_576 + 1_536


def test_sums_that_do_not_stay_go_to_memory_and_back():
    pair = draw("gemm:m=30,n=20,k=64,a=0.5,b=1")
    small, large = (
        ran(
            pair,
            {
                "slice.k": 32,
                "stream.line": 64,
                "memory.interleave": 64,
                "memory.model": "simple",
                "dpe.count": 2,
                "dpe.multipliers": 32,
                "sram.data": size,
            },
        )
        for size in (2 * (32 * 20 + 64) * 2, 1 << 20)
    )
    assert (small.plan.resident, large.plan.resident) == (0, 20)
    assert large.traffic()["Z"].read_bytes == 0
    assert large.traffic()["Z"].write_bytes == -(-30 * 20 * 4 // 64) * 64
    visits = 4 * 20 * sum(chunk_rows(small))
    assert small.traffic()["Z"].write_bytes - visits in range(64)
    assert small.traffic()["Z"].read_bytes - (visits - 4 * 20 * 30) in range(64)
    assert np.array_equal(small.result(), large.result())


def chunk_rows(machine):
    """Rows of each chunk of a machine's plan."""
    plan = Plan(machine.a, machine.b, machine.parameters)
    while not plan.finished:
        one = plan.take()
        if one.is_chunk_end:
            yield one.table.chunk.sum_count


@pytest.mark.parametrize(
    ("settings_given", "message"),
    [
        (
            {"slice.k": 129},
            r"slice\.k is 129, and a fold cannot be packed: the network of a Flex-DPE has 128",
        ),
        ({"dpe.multipliers": 100}, r"dpe\.multipliers is 100; it should be a power of two"),
        ({"benes.stages": 6, "dpe.multipliers": 4, "slice.k": 4}, r"benes\.stages is 6; between 5 columns"),
        ({"sram.bitmap": 100}, r"a fold cannot be packed: the bitmaps of two slices have 320 bytes"),
        ({"sram.data": 1000}, r"a fold cannot be packed: two folds and two slices.* have 68096 bytes"),
    ],
)
def test_what_cannot_be_built_is_refused(settings_given, message):
    with pytest.raises(ConfigurationError, match=message):
        fiberscope.simulate("sigma", "gemm:m=10,n=10,k=64,a=0.5,b=0.5", settings=settings_given)


@pytest.mark.parametrize("b", [np.zeros((2, 3)), np.diag([0.0, 2.0]), np.diag([1.0, 1e-150])])
def test_values_that_only_doubles_hold_are_computed_in_doubles(b):
    a = np.array([[1e150, 0.0], [2.0**24 + 1, 1.0], [0.0, 3e150]])
    assert fiberscope.simulate("sigma", a, b).verification.passed


def test_a_gemm_whose_shapes_do_not_fit_is_refused():
    with pytest.raises(fiberscope.WorkloadError, match=r"B should have 5 rows"):
        fiberscope.simulate("sigma", np.ones((3, 5)), np.ones((4, 2)))


def test_whole_rows_by_hand():
    """Rows of 3, 2, 2 and 5 nonzeros in folds of 4: one, two, and the last one cut."""
    a = np.zeros((4, 9))
    for row, places in enumerate([(0, 4, 8), (1, 4), (4, 8), (0, 2, 4, 6, 8)]):
        a[row, list(places)] = 1.0
    make = TINY | IDEAL | {"dpe.count": 2, "dpe.multipliers": 2, "slice.k": 2, "pack.by": "rows"}
    machine = built((sparse.csr_array(a), sparse.csr_array(np.ones((9, 2)))), make)
    found = pack_chunks(cut_slices(machine.a, machine.b, machine.parameters), machine.parameters)
    seen = [(chunk.position, chunk.length, chunk.word_count, chunk.sum_count) for chunk in found]
    assert seen == [(0, 3, 3, 1), (4, 4, 3, 2), (8, 4, 4, 1), (12, 1, 1, 1)]


@compiled_only
def test_stonnes_run_is_met_by_whole_rows_alone():
    (figures,) = (one for one in PUBLISHED.figures if "STONNE" in one.source)
    make = COMPARED | {"dpe.count": 1}
    whole, ring = (
        fiberscope.simulate("sigma", figures.matrix, settings=make | {"pack.by": by}).cycles
        for by in ("rows", "nonzeros")
    )
    assert (whole, ring) == (34_692, 28_173)
    assert whole == pytest.approx(figures.cycles, rel=0.03)
    # Two rows a fold; of each the columns, the flush and a line.
    assert whole == 128 * (256 + 14 + 1) + 4
