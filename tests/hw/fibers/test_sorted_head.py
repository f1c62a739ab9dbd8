"""OuterSPACE's merge core: the swaps of the worked example, rows against a heap."""

import random

import pytest
from fibers import check_accounting_of
from hypothesis import given
from hypothesis import strategies as st
from merge_rows import inputs_of, merged, order, positions, swaps, tokens_out

from fiberscope.hw.fibers.arithmetic import Accumulator
from fiberscope.hw.fibers.sorted_head import FORMS, SEQUENTIAL, SYSTOLIC, SortedHeads, SortedHeadUnit
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim import Kernel, SimulationError
from fiberscope.sim.testing import StreamSink, StreamSource, check_laws, run_block

WORKED = [[(1, 1.0), (4, 2.0)], [(2, 4.0), (4, 8.0)], [(2, 16.0), (3, 32.0)]]
OUTPUTS = ["merged", "successors"]
sizes = st.fixed_dictionaries({"capacity": st.integers(1, 5), "latency": st.integers(1, 4)})
stall_seeds = st.none() | st.integers(0, 1000)
fibers = st.lists(
    st.tuples(st.integers(0, 9), st.floats(-1e6, 1e6)), min_size=1, max_size=5, unique_by=lambda e: e[0]
).map(sorted)
rows_of_lists = st.lists(st.lists(fibers, max_size=6), max_size=4)


def check(form, rows, **bench):
    outcome = run_block(SortedHeadUnit("unit", 8, form), inputs_of(rows), OUTPUTS, **bench)
    assert {port: outcome.tokens(port) for port in OUTPUTS} == tokens_out(rows)
    assert outcome.statistics["unit"].counters == {
        "rows": len(rows),
        "merged_elements": sum(len(order(lists)) for lists in rows),
        "swaps": sum(map(swaps, rows)),
    }
    return outcome


@pytest.mark.parametrize("form", FORMS)
def test_the_worked_example_takes_12_swaps(form):
    outcome = check(form, [WORKED])
    assert outcome.statistics["unit"].counters["swaps"] == 12
    assert [token[1:3] for token in outcome.tokens("merged")[:-1]] == [
        (1, 0), (2, 2), (2, 1), (3, 2), (4, 1), (4, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_one_list_and_of_none(form):
    outcome = check(form, [[], [[(3, 1.0), (5, 2.0)]], []])
    assert outcome.statistics["unit"].counters["swaps"] == 0


@given(form=st.sampled_from(FORMS), rows=rows_of_lists, size=sizes, seed=stall_seeds)
def test_merges_any_rows_under_any_stalls(form, rows, size, seed):
    check(form, rows, seed=seed, **size)
    check_laws(lambda: SortedHeadUnit("unit", 8, form), inputs_of(rows), OUTPUTS, seeds=[seed], **size)


def test_planted_a_unit_whose_lists_are_numbered_the_other_way_around():
    inputs = inputs_of([WORKED])
    mirrored = [(kind, column, 2 - number, value) for kind, column, number, value in inputs["elements"]]
    outcome = run_block(SortedHeadUnit("unit", 3), inputs | {"elements": mirrored}, OUTPUTS)
    assert outcome.tokens("merged") != tokens_out([WORKED])["merged"]
    assert outcome.statistics["unit"].counters["swaps"] != 12


def test_the_accounting_of_the_worked_example():
    outcome = check(SYSTOLIC, [WORKED])
    # Task at 1, heads 2 to 4, then 3 successors and 3 stops to 10, as all come a token a cycle.
    check_accounting_of(outcome, "unit", busy=10, idle=2, input_stall={}, output_stall={})
    outcome = check(SEQUENTIAL, [WORKED])
    check_accounting_of(outcome, "unit", busy=10 + sum(positions(WORKED)), idle=2)


def test_it_waits_for_the_successor_and_for_space():
    kernel = Kernel()
    kernel.clock("core", 10**9)
    unit = kernel.add(SortedHeadUnit("unit", 2))
    inputs = inputs_of([[[(1, 1.0), (2, 2.0), (3, 3.0)]]])
    for port, latency in (("tasks", 1), ("elements", 10)):
        source = kernel.add(StreamSource(port, inputs[port]))
        kernel.connect(source, "out", unit, port, capacity=4, latency=latency)
    for port, stalls in (("merged", (0,)), ("successors", (20, 0))):
        sink = kernel.add(StreamSink(f"sink.{port}", stalls))
        kernel.connect(unit, port, sink, "in", capacity=1)
    kernel.run()
    statistics = kernel.statistics()["unit"]
    # Task at 1; the elements are seen from 10 on. The first leaves then; the sink takes its list at 11 and
    # pauses until 32. At 11, 13 and 34 merged still has the token before; the third waits from 14 to 32.
    assert statistics.input_stall == {"elements": 8}
    assert statistics.output_stall == {"merged": 3, "successors": 19}


@given(pushed=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=30), seed=st.integers(0, 99))
def test_the_heads_are_an_ordered_list(pushed, seed):
    generator = random.Random(seed)
    heads, model = SortedHeads(30), []
    for column, source in pushed:
        before = sum(key < (column, -source) for key in model)
        assert heads.position(column, source) == before
        assert heads.push(column, source) == before
        model = sorted([*model, (column, -source)])
        if generator.random() < 0.3:
            first, inverted = model.pop(0)
            assert (heads.column(), heads.source()) == (first, -inverted)
            heads.pop()
        assert heads.count == len(model)


def test_an_accumulator_behind_it_is_the_reduce_stage():
    kernel = Kernel()
    kernel.clock("core", 10**9)
    unit, reduce = kernel.add(SortedHeadUnit("unit", 3)), kernel.add(Accumulator("reduce"))
    for port, tokens in inputs_of([WORKED]).items():
        kernel.connect(kernel.add(StreamSource(port, tokens)), "out", unit, port, capacity=2)
    ends = [kernel.add(StreamSink(name)) for name in ("row", "successors")]
    kernel.connect(unit, "merged", reduce, "products", capacity=2)
    kernel.connect(unit, "successors", ends[1], "in", capacity=2)
    kernel.connect(reduce, "sums", ends[0], "in", capacity=2)
    kernel.run()
    assert [token for _, token in ends[0].received] == [
        (DATA, 1, 0, 1.0), (DATA, 2, 0, 20.0), (DATA, 3, 0, 32.0), (DATA, 4, 0, 10.0), (STOP, 0, 0, 0.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, "tree"), "unit: form must be one of systolic, sequential, not tree"),
        ((0,), "unit: entries must be from 1 to 1048576, not 0"),
        ((1048577,), "unit: entries must be from 1 to 1048576, not 1048577"),
    ],
)
def test_what_cannot_be_built_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SortedHeadUnit("unit", *arguments)


@pytest.mark.parametrize(
    ("lists", "element", "message"),
    [
        (3, (DATA, 1, 0, 0.0), "unit: a row of 3 lists does not fit its 2 entries; merge it in rounds"),
        (1, (DATA, 1, 2, 0.0), "unit: there is no list 2; they are numbered from 0 to 1"),
        (1, (DATA, 1, -1, 0.0), "unit: there is no list -1"),
        (1, (DATA, 1 << 42, 0, 0.0), "unit: column 4398046511104 has more than 42 bits"),
    ],
)
def test_what_does_not_fit_is_refused(lists, element, message):
    inputs = {"tasks": [(0, lists, 0, 0.0)], "elements": [element]}
    with pytest.raises(SimulationError, match=message):
        run_block(SortedHeadUnit("unit", 2), inputs, OUTPUTS)


def test_the_tokens_of_the_oracle():
    assert len(merged(WORKED)) == 7
    assert positions(WORKED)[:4] == [0, 1, 1, 2]
    assert swaps(WORKED) == 12
