"""Behind a merger that adds up before it stores: blocks by worked examples, however their ends stall."""

import pytest

from fiberscope.hw.streams.merge_lists import POINTS, SUM, Lists
from fiberscope.hw.streams.merged_points import MergedPoints
from fiberscope.hw.streams.merged_sums import Either, FiberSums, PointsAndSums
from fiberscope.hw.streams.tokens import DATA, DONE, EMPTY, STOP
from fiberscope.sim import Input, Kernel
from fiberscope.sim.testing import StreamSink, StreamSource, check_laws, run_block

OVER = (DONE, 0, 0, 0.0)
ENDS = (STOP, 1, 0, 0.0)
STORED, LAST = (DATA, 1, 0, 0.0), (DATA, POINTS, 0, 0.0)  # where fibers go: into area 1, or on


def element(coordinate, source, value):
    return (DATA, coordinate, source, value)


def number(coordinate):
    return (DATA, coordinate, 0, 0.0)


def value(real):
    return (DATA, 0, 0, real)


def lists_of(*lists):
    """The coordinates of lists, and the references that travel along."""
    table = Lists(1)
    for coordinate, reference in lists:
        table.coordinates.append(coordinate)
        table.carried[0].append(reference)
    return table


def given_off(make, inputs, outputs):
    """What leaves by each port, in whatever order ticks run and however the ends stall."""
    check_laws(make, inputs, outputs)
    return {port: run_block(make(), inputs, outputs).tokens(port) for port in outputs}


def test_products_and_sums_part_and_each_fiber_is_told_where_it_goes():
    """A fiber of a point of list 1, which is to be stored, and one of two sums, which goes on."""
    merged = [element(3, 1, 2.0), ENDS, element(4, SUM, 5.0), element(6, SUM, 7.0), ENDS]
    outputs = ["targets", *(f"out_{one}[0]" for one in ("outer", "inner", "val", "carried0", "sum"))]
    inputs = {"merged": merged, "groups": [STORED, LAST, OVER]}
    found = given_off(lambda: PointsAndSums("points", lists_of((9, 70), (8, 71))), inputs, outputs)
    assert found == {
        "targets": [STORED, LAST, OVER],
        "out_outer[0]": [number(3), ENDS, number(4), number(6), ENDS, OVER],
        "out_inner[0]": [number(8), ENDS, ENDS, OVER],
        "out_val[0]": [value(2.0), ENDS, ENDS, OVER],
        "out_carried0[0]": [number(71), ENDS, ENDS, OVER],
        "out_sum[0]": [ENDS, value(5.0), value(7.0), ENDS, OVER],
    }


STORED_AND_LAST = {
    "points_and_sums": (PointsAndSums, "merged", "groups", ("targets",)),
    "points": (MergedPoints, "merged", "groups", ("partials",)),
    "fiber_sums": (FiberSums, "in_crd", "targets", ("partials",)),
}


@pytest.mark.parametrize(
    ("kind", "elements", "areas", "messages"), STORED_AND_LAST.values(), ids=STORED_AND_LAST
)
def test_no_element_of_those_that_a_block_calls_quiet_makes_it_send_a_message(
    kind, elements, areas, messages
):
    block, kernel = kind("block", lists_of((9, 70), (8, 71))), Kernel()
    kernel.clock("core", 10**9)
    kernel.add(block)
    tokens = {elements: [element(3, 1, 2.0), element(4, 0, 2.0), ENDS, element(5, 1, 1.0), ENDS]}
    tokens |= {areas: [STORED, LAST, OVER], "in_val": [value(2.0), value(1.0), ENDS, value(1.0), ENDS, OVER]}
    if kind is FiberSums:
        tokens["in_crd"].append(OVER)
    for port in block.declared_ports():
        if isinstance(port, Input):
            source = kernel.add(StreamSource(f"source.{port.name}", tokens[port.name]))
            kernel.connect(source, "out", block, port.name, capacity=None)
        else:
            name = f"{port.name}[0]" if port.array else port.name
            kernel.connect(block, name, kernel.add(StreamSink(f"sink.{port.name}")), "in", capacity=None)
    kernel.build()
    heads = block.channel(elements)
    seen = 0
    sent = [block.channel(port) for port in messages]
    is_quiet, before = False, 0
    while kernel.step():
        pushes = sum(channel.pushes for channel in sent)
        assert not is_quiet or pushes == before
        is_quiet = block.quiet() > 0 and heads.occupancy > 0 and heads.token(0)[0] == DATA
        seen, before = seen + is_quiet, pushes
    assert seen > 0


@pytest.mark.parametrize("first_of_two", [True, False])
def test_a_fiber_comes_from_either_side_and_ends_when_both_have(first_of_two):
    """Of three fibers the second comes from the other side; no side overtakes."""
    empty = (EMPTY, 0, 0, 0.0)
    sides = [value(1.0), empty, ENDS, ENDS, value(3.0), ENDS, OVER], [ENDS, value(2.0), ENDS, ENDS, OVER]
    first, second = sides if first_of_two else reversed(sides)
    inputs = {"in_first": first, "in_second": second}
    found = given_off(lambda: Either("either"), inputs, ["out_val[0]"])
    assert found["out_val[0]"] == [value(1.0), empty, ENDS, value(2.0), ENDS, value(3.0), ENDS, OVER]


def test_sums_that_are_merged_again_are_stored_and_the_last_of_a_task_go_on():
    lists = Lists(0)
    inputs = {
        "in_crd": [number(3), number(5), ENDS, number(4), ENDS, OVER],
        "in_val": [value(1.0), value(2.0), ENDS, value(4.0), ENDS, OVER],
        "targets": [STORED, LAST, OVER],
    }
    outputs = ["partials", "out_crd[0]", "out_val[0]"]
    found = run_block(FiberSums("fibers", lists), inputs, outputs)
    assert found.tokens("partials") == [(DATA, 0, 0, 0.0)]
    assert found.tokens("out_crd[0]") == [number(4), ENDS, OVER]
    assert found.tokens("out_val[0]") == [value(4.0), ENDS, OVER]
    stored = lists.elements[1].integers(), lists.sources[1].integers(), lists.values[1].values()
    assert [list(column) for column in stored] == [[3, 5], [SUM, SUM], [1.0, 2.0]]
    assert list(lists.ends[1].integers()) == [2]
    assert found.statistics["fibers"].counters["stored"] == 2
    check_laws(lambda: FiberSums("fibers", Lists(0)), inputs, outputs)
