"""Blocks of tasks: how they are dealt, end, and are added up; each by a worked example, cycle by cycle.

A cut sends a task and its stop in one cycle, and the sinks here take a token a cycle.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.droppers import StopDropper
from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.hw.streams.kept import EACH
from fiberscope.hw.streams.lane_seek import LaneSeek
from fiberscope.hw.streams.lanes import Lanes
from fiberscope.hw.streams.point_table import PointTable
from fiberscope.hw.streams.reduce import ScalarReduce
from fiberscope.hw.streams.root import Root
from fiberscope.hw.streams.run_sum import RunSum
from fiberscope.hw.streams.task_cut import Cut, TaskEnd
from fiberscope.hw.streams.task_sum import TaskPoints, TaskSum
from fiberscope.hw.streams.tensor_reduce import TensorReduce
from fiberscope.hw.streams.testing import GIGAHERTZ, TimedSource, protocol_of, run_streams
from fiberscope.hw.streams.tokens import CRD, REF
from fiberscope.sim import Kernel, SimulationError
from fiberscope.sim.testing import StreamSink

OUTPUTS = ["out_0_0", "out_0_1"]


def now(*tokens):
    """A token in every cycle."""
    return list(enumerate(tokens))


def test_a_task_goes_to_the_instance_with_the_fewest():
    cut = Cut("cut", 2, [REF], tasks=1)
    inputs = {"in_stream[0]": now(5, 6, 7, "S0", "D"), "ended[0]": [(10, 0)], "ended[1]": [(6, 0), (12, 0)]}
    found = run_streams(cut, inputs, ["out_0_0", "out_0_1", "out_over"], checked=False)
    assert found == {
        "out_0_0": [(0, 5), (1, "S0"), (8, "D")],
        "out_0_1": [(1, 6), (2, "S0"), (6, 7), (7, "S0"), (8, "D")],
        "out_over": [(12, "D")],
    }
    assert cut.counters()["dealt"] == 3
    assert list(cut.owner.integers()) == [0, 1, 1]
    assert list(cut.elements[0].integers()) == [5, 6, 7]


@given(
    st.integers(1, 9),
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 40)), min_size=1, max_size=24),
)
def test_tasks_go_where_a_search_of_all_instances_finds_the_fewest(instances, most, ends):
    """As many tasks as ends, each at an instance and in a cycle."""
    ends = sorted({(instance % instances, cycle) for instance, cycle in ends})
    cut, left, owners, held = Cut("cut", instances, [REF], tasks=most), len(ends), [], [0] * instances
    for cycle in range(80):
        for instance, ended in ends:
            held[instance] -= ended == cycle
        chosen = min(range(instances), key=lambda instance: held[instance])
        if left and held[chosen] < most:
            owners.append(chosen)
            held[chosen] += 1
            left -= 1
    inputs = {
        f"ended[{place}]": [(cycle, 0) for instance, cycle in ends if instance == place]
        for place in range(instances)
    }
    run_streams(cut, {"in_stream[0]": now(*range(len(ends)), "D"), **inputs}, [], checked=False)
    assert list(cut.owner.integers()) == owners


def test_tasks_in_turn_wait_for_the_instance_whose_turn_it_is():
    inputs = {"in_stream[0]": now(5, 6, 7, "D"), "ended[0]": [(9, 0), (11, 0)], "ended[1]": [(4, 0)]}
    cut = Cut("cut", 2, [REF], tasks=1, static=True)
    found = run_streams(cut, inputs, ["out_0_0", "out_0_1"], checked=False)
    assert found["out_0_0"] == [(0, 5), (1, "S0"), (9, 7), (10, "S0"), (11, "D")]
    assert found["out_0_1"] == [(1, 6), (2, "S0"), (10, "D")]


def test_a_task_without_anything_to_do_is_passed_over_and_two_streams_are_dealt_alike():
    """Fibers 0 and 2 are empty, of the first stream; of the second nothing is known."""
    segments = memoryview(bytearray(8 * 4)).cast("q")
    segments[2] = segments[3] = 3
    cut = Cut("cut", 1, [REF, CRD], required=[segments, None])
    inputs = {"in_stream[0]": now(0, 1, 2, "D"), "in_stream[1]": now(7, 8, 9, "D"), "ended[0]": [(5, 0)]}
    found = run_streams(cut, inputs, ["out_0_0", "out_1_0"], checked=False)
    assert found == {"out_0_0": [(1, 1), (2, "S0"), (3, "D")], "out_1_0": [(1, 8), (2, "S0"), (3, "D")]}
    assert (cut.counters()["dealt"], cut.counters()["empty"]) == (1, 2)


FAST = 64  # ticks a cycle of lanes


def cycles_on_lanes(lanes, level, *tokens):
    """In which cycles of the lanes the tokens leave that all come at once."""
    block = Lanes("lanes", lanes, level, FAST)
    kernel = Kernel()
    kernel.clock("fast", FAST * GIGAHERTZ)
    source = kernel.add(TimedSource("source", REF, now(*tokens)))
    sink = kernel.add(StreamSink("sink"))
    kernel.add(block)
    kernel.connect(source, "out", block, "in_stream", capacity=None)
    kernel.connect(block, "out_stream[0]", sink, "in", capacity=None)
    kernel.run()
    assert block.counters()["elements"] == sum(isinstance(one, int) or one == "N" for one in tokens)
    first = sink.received[0][0]
    return [1 + (tick - first) // FAST for tick, _token in sink.received], block.counters()["steps"]


@pytest.mark.parametrize(
    ("lanes", "level", "tokens", "cycles", "steps"),
    [
        (2, 0, [1, 2, "S0", 3, "S0", 4, 5, 6, "S1", "D"], [1, 1, 1, 2, 2, 3, 3, 4, 4, 5], 3),
        (1, 0, [1, 2, "S0", 3, "S1", "D"], [1, 2, 2, 3, 3, 4], 2),
        (3, 1, [1, 2, "S0", 3, "S1", 4, "N", "S0", 5, "S1", "D"], [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3], 2),
        (2, 0, ["S0", "S0", 1, 2, "S0", "D"], [1, 2, 3, 3, 3, 4], 3),
    ],
    ids=["whole cycles", "one lane", "a step of two loops", "empty steps"],
)
def test_a_step_takes_a_cycle_for_so_many_elements_as_there_are_lanes(lanes, level, tokens, cycles, steps):
    assert cycles_on_lanes(lanes, level, *tokens) == (cycles, steps)


def test_a_held_fiber_is_looked_up_as_a_whole():
    """Rows m and k in one coordinate 4 m + k: elements (0, 1), (0, 3), (1, 1) and (2, 0); columns of B.

    A column with k = 1 and 2 finds the first and the third, one with k = 3 the second, an empty one none.
    """
    held = Level([0, 4], [1, 3, 5, 8])
    columns = Level([0, 2, 2, 3], [1, 2, 3])
    seek = LaneSeek("seek", held, columns, divisor=1, size=4)
    inputs = {"in_ref0": now(0, "S0", 0, "S0", 0, "S0", "D"), "in_ref1": now(0, "S0", 1, "S0", 2, "S0", "D")}
    outputs = ["out_crd", "out_ref0", "out_ref1", "out_sizes"]
    found = {
        name: [one for _cycle, one in stream]
        for name, stream in run_streams(seek, inputs, outputs, checked=False).items()
    }
    assert found["out_crd"] == [1, 5, "S1", "S1", 3, "S1", "D"]
    assert found["out_ref0"] == [0, 2, "S1", "S1", 1, "S1", "D"]
    assert found["out_ref1"] == [0, 0, "S1", "S1", 2, "S1", "D"]
    assert found["out_sizes"] == [4, 4, 4]
    assert (seek.matches, seek.folds) == (3, 1)


def test_matches_leave_in_the_order_of_the_lanes_whose_fiber_changes():
    """Elements of coordinates 1, 5 and 8 seek 1, 1 and 0; that of the second fiber seeks 0."""
    seek = LaneSeek("seek", Level([0, 3, 4], [1, 5, 8, 4]), Level([0, 2], [0, 1]), size=4)
    inputs = {"in_ref0": now(0, "S0", 1, "S0", 0, "S0", "D"), "in_ref1": now(0, "S0", 0, "S0", 0, "S0", "D")}
    found = run_streams(seek, inputs, ["out_ref0", "out_ref1", "out_sizes"], checked=False)
    references = {name: [token for _cycle, token in stream] for name, stream in found.items()}
    assert references["out_ref0"] == [0, 1, 2, "S1", 3, "S1", 0, 1, 2, "S1", "D"]
    assert references["out_ref1"] == [1, 1, 0, "S1", 0, "S1", 1, 1, 0, "S1", "D"]
    assert references["out_sizes"] == [3, 1, 3]
    assert seek.folds == 3


def test_lanes_take_the_time_of_what_they_hold():
    """Of 5 and 3 elements on two lanes: three cycles and two, however few pass."""
    lanes = Lanes("lanes", 2, ticks=10)
    inputs = {"in_stream": now(7, "S0", "S0", "D"), "in_sizes": now(5, 3)}
    found = run_streams(lanes, inputs, ["out_stream"], checked=False)["out_stream"]
    assert found == [(0, 7), (1, "S0"), (30, "S0"), (50, "D")]
    assert (lanes.steps, lanes.elements) == (2, 8)


def test_what_arrives_late_takes_further_cycles():
    """The third element of a step on two lanes, and one that arrives after the cycle of its step."""
    lanes = Lanes("lanes", 2, ticks=10)
    inputs = {"in_stream": [*now(0, 1, 2, "S0", 3), (45, 4), (46, "S0"), (47, "D")]}
    found = run_streams(lanes, inputs, ["out_stream"], checked=False)["out_stream"]
    assert found == [(0, 0), (1, 1), (10, 2), (11, "S0"), (20, 3), (45, 4), (46, "S0"), (55, "D")]


@pytest.mark.parametrize("wrong", [{"lanes": 0}, {"lanes": 1, "ticks": 0}])
def test_there_is_a_lane_and_a_tick(wrong):
    with pytest.raises(ValueError, match=f"lanes: {[*wrong][-1]} must be at least 1, not 0"):
        Lanes("lanes", **wrong)


def test_a_cut_has_an_instance_and_an_instance_holds_a_task():
    for wrong, said in (
        ({"instances": 0}, "instances must be at least 1"),
        ({"tasks": 0}, "tasks must be at"),
    ):
        with pytest.raises(ValueError, match=said):
            Cut("cut", **{"instances": 1, "carried": [REF], **wrong})


def test_the_end_of_a_task_is_a_stop_of_its_level_or_higher():
    block = TaskEnd("end", 1)
    assert ended_by(block, now(1, "S0", 2, "S1", "S2", "D")) == 2


def test_the_coordinate_of_a_task_says_its_instance_which_is_waited_for():
    """Coordinates 1, 3 and 0 on two instances with room for one task: the second waits for the first."""
    cut = Cut("cut", 2, [REF, CRD], tasks=1, coordinates=1, of_elements=True)
    inputs = {"in_stream[0]": now(5, 6, 7, "D"), "in_stream[1]": now(1, 3, 0, "D")}
    ends = {"ended[0]": [(9, 0)], "ended[1]": [(4, 0), (9, 0)]}
    found = run_streams(cut, {**inputs, **ends}, OUTPUTS, checked=False)
    assert found == {"out_0_0": [(5, 7), (6, "D")], "out_0_1": [(0, 5), (4, 6), (6, "D")]}


def test_tasks_of_an_element_have_no_stop_and_follow_back_to_back():
    cut = Cut("cut", 2, [REF], tasks=4, static=True, of_elements=True)
    ends = {f"ended[{one}]": [(9, 0)] * 2 for one in range(2)}
    found = run_streams(cut, {"in_stream[0]": now(5, 6, "N", 7, "S0", "D"), **ends}, OUTPUTS, checked=False)
    assert found == {"out_0_0": [(0, 5), (2, "N"), (5, "D")], "out_0_1": [(1, 6), (3, 7), (5, "D")]}


def test_each_element_ends_a_task_of_one_and_stops_end_none():
    assert ended_by(TaskEnd("end", EACH), now(1, "N", 2, "D")) == 3
    points = TaskPoints("points", 0, EACH)
    found = run_streams(points, {"in_val": now(1.0, "N", 2.0, "D")}, ["out_val"], checked=False)
    assert found["out_val"] == [(0, 1.0), (1, "N"), (2, 2.0), (3, "D")]


def test_elements_of_several_instances_are_added_up_in_one_cycle():
    """Tasks at 7, 8, 7 and 8, of instances 0, 1, 0 and 1; the last has no value."""
    block = TaskSum("sum", 2, 0, [column(7, 8, 7, 8)], at_once=2, of_elements=True)
    inputs = {"turns": now(0, 1, 0, 1, "D")}
    inputs |= {"in_val[0]": [(4, 1.0), (5, 2.0), (6, "D")], "in_val[1]": [(4, 4.0), (5, "N"), (6, "D")]}
    found = run_streams(block, inputs, ["out_over"], checked=False)
    assert sums_of(block) == {(7,): 3.0, (8,): 4.0}
    assert found["out_over"] == [(6, "D")]
    assert (block.counters()["additions"], block.counters()["elements"]) == (1, 2)


def ended_by(block, stream):
    """Tasks whose end a block tells."""
    kernel = Kernel()
    kernel.clock("core", GIGAHERTZ)
    source = kernel.add(TimedSource("source", protocol_of(block, "in_stream"), stream))
    sink = kernel.add(StreamSink("sink"))
    kernel.add(block)
    kernel.connect(source, "out", block, "in_stream", capacity=None)
    kernel.connect(block, "ended", sink, "in", capacity=None)
    kernel.run()
    return len(sink.received)


def test_stops_from_a_level_on_stay():
    dropper = StopDropper("points", CRD, kept=1)
    found = run_streams(dropper, {"in_stream": now(1, "S0", 2, "S1", "D")}, ["out_stream"], checked=False)
    assert found["out_stream"] == [(0, 1), (2, 2), (3, "S1"), (4, "D")]
    assert dropper.counters()["dropped"] == 1


def test_runs_of_a_coordinate_are_added_up():
    inputs = {"in_crd": now(3, 3, 5, "S1", 5, "S1", "D"), "in_val": now(1.0, 2.0, 4.0, "S1", 8.0, "S1", "D")}
    block = RunSum("runs")
    found = run_streams(block, inputs, ["out_crd", "out_val"], checked=False)
    assert found["out_crd"] == [(2, 3), (3, 5), (4, "S1"), (6, 5), (7, "S1"), (8, "D")]
    assert found["out_val"] == [(2, 3.0), (3, 4.0), (4, "S1"), (6, 8.0), (7, "S1"), (8, "D")]
    assert block.counters()["additions"] == 1


def test_an_accumulator_is_emptied_by_the_stop_of_a_task():
    """Points 4, 2, 4 of one task, none of the next, and 4 of a third; an N is none."""
    inputs = {
        "in_crd[0]": now(4, 2, 4, "S2", "S2", 4, 9, "S2", "D"),
        "in_val": now(1.0, 2.0, 4.0, "S2", "S2", 8.0, "N", "S2", "D"),
    }
    block = TensorReduce("sums", 1, flushes=True)
    found = run_streams(block, inputs, ["out_crd0", "out_val"], checked=False)
    tokens = [token for _cycle, token in found["out_crd0"]]
    assert tokens == [2, 4, "S1", "S1", 4, "S1", "D"]
    assert [token for _cycle, token in found["out_val"]] == [2.0, 5.0, "S1", "S1", 8.0, "S1", "D"]
    assert [cycle for cycle, _token in found["out_crd0"]][:3] == [4, 5, 6]  # behind the stop that came in 3
    assert (block.counters()["points"], block.counters()["elements"]) == (4, 3)


def test_a_reducer_marks_what_is_empty_where_it_is_asked_to():
    block = ScalarReduce("sum")
    block.marks = True
    found = run_streams(block, {"in_val": now(1.0, 2.0, "S0", "S1", "D")}, ["out_val"], checked=False)
    assert found["out_val"] == [(2, 3.0), (3, "N"), (4, "S0"), (5, "D")]
    assert block.nonempty_fibers == 1


def test_tasks_near_one_another_have_one_instance_while_it_may_have_more():
    cut = Cut("cut", 3, [REF], tasks=2, near=True)
    inputs = {"in_stream[0]": now(4, 1, 4, 2, "S0", "D"), **{f"ended[{one}]": [] for one in range(3)}}
    with pytest.raises(SimulationError):  # no task ends
        run_streams(cut, inputs, [], checked=False)
    assert list(cut.owner.integers()) == [1, 1, 2, 2]


def test_what_leaves_an_instance_are_its_points_and_the_ends_of_tasks():
    block = TaskPoints("points", 1, 1)
    inputs = {"in_0": now(1, 2, "S0", 3, "S1", "D"), "in_val": now(1.0, "N", "S0", 2.0, "S1", "D")}
    found = run_streams(block, inputs, ["out_0", "out_val"], checked=False)
    assert found["out_0"] == [(0, 1), (3, 3), (4, "S1"), (5, "D")]
    assert found["out_val"] == [(0, 1.0), (3, 2.0), (4, "S1"), (5, "D")]
    assert block.counters()["dropped"] == 2


def column(*coordinates):
    """One for each task."""
    found = Growing()
    for coordinate in coordinates:
        found.append(coordinate)
    return found


def summed(turns, tasks, outputs, outer, **options):
    """A sum of tasks, by instance the coordinates and values of its points, and what leaves it."""
    block = TaskSum("sum", len(tasks), 1, outer, **options)
    inputs = {"turns": now(*turns, "D")}
    for instance, points in enumerate(tasks):
        inputs[f"in_0[{instance}]"] = now(*(one if one == "S1" else one[0] for one in points), "D")
        inputs[f"in_val[{instance}]"] = now(*(one if one == "S1" else one[1] for one in points), "D")
    return block, run_streams(block, inputs, outputs, checked=False)


def sums_of(block):
    return dict(zip(zip(*block.sums.columns(), strict=True), block.sums.all_values(), strict=True))


TWO_TASKS = ([(1, 1.0), (2, 2.0), "S1"], [(1, 10.0), "S1"])  # of instances 0 and 1


def test_tasks_are_added_up_in_the_order_in_which_they_were_dealt():
    """Instance 1 has the first task, at 7, and instance 0 the second, at 7 too."""
    block, found = summed((1, 0), TWO_TASKS, ["out_over", "out_element0"], [column(7, 7)])
    assert sums_of(block) == {(7, 1): 11.0, (7, 2): 2.0}
    assert found["out_element0"] == [(0, 0), (3, 0), (5, "D")]
    assert (block.counters()["additions"], block.counters()["elements"]) == (1, 2)
    assert found["out_over"] == [(5, "D")]  # two tokens of the first task, three of the second, and done


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2**40), st.integers(0, 1)), max_size=200))
def test_a_table_numbers_points_in_the_order_in_which_they_come(points):
    table, numbers = PointTable(3), {}
    for point in points:
        for way, coordinate in enumerate(point):
            table.set_coordinate(way, coordinate)
        number = table.find()
        assert number == numbers.setdefault(point, len(numbers))
        table.set_value(number, table.value(number) + 1)
    assert list(zip(*table.columns(), strict=True)) == list(numbers)
    assert list(table.all_values()) == [points.count(point) for point in numbers]


def test_several_tasks_are_added_up_side_by_side():
    outputs = ["out_over", "out_element0", "out_element1"]
    block, found = summed((1, 0), TWO_TASKS, outputs, [column(7, 7)], at_once=2)
    assert sums_of(block) == {(7, 1): 11.0, (7, 2): 2.0}
    assert found["out_over"] == [(4, "D")]  # the second begins a cycle behind the first, when it is told
    assert found["out_element1"] == [(0, 0), (4, "D")]
    assert found["out_element0"] == [(2, 0), (4, "D")]


def test_a_point_that_an_earlier_while_left_is_read_back_and_written_once_more():
    """Tasks at 7 and 8 of a while, at 7 again in the next: of its points 1 and 2 the first was there."""
    points = ([(1, 1.0), "S1", (1, 2.0), "S1", (1, 4.0), (2, 8.0), (1, 16.0), "S1"],)
    outputs = ["out_element0", "out_again0"]
    options = {"rounds": [column(0, 0, 1)]}
    block, found = summed((0, 0, 0), points, outputs, [column(7, 8, 7)], **options)
    assert sums_of(block) == {(7, 1): 21.0, (8, 1): 2.0, (7, 2): 8.0}
    assert [token for _cycle, token in found["out_again0"]] == [0, "D"]  # the first that was written
    assert len(found["out_element0"]) == 5  # two, one again, a new one, and done
    assert block.counters()["again"] == 1


def test_all_of_a_group_come_back_with_the_first_task_of_it_in_a_while():
    """A group of points 1 and 2, and one of point 1; a while later a task of the first has point 3 alone."""
    points = ([(1, 1.0), (2, 1.0), "S1", (1, 1.0), "S1", (3, 1.0), "S1"],)
    outputs = ["out_element0", "out_again0"]
    groups = [column(0, 1, 0)]
    options = {"rounds": [column(0, 0, 1)], "groups": groups}
    block, found = summed((0, 0, 0), points, outputs, groups, **options)
    assert [token for _cycle, token in found["out_again0"]] == [0, 1, "D"]
    assert len(found["out_element0"]) == 7  # three, two again, one, and done
    assert block.counters()["again"] == 2


def test_a_root_waits_for_what_comes_before_it():
    found = run_streams(Root("root"), {"after": [(4, 0)]}, ["out_ref"])
    assert found["out_ref"] == [(4, 0), (5, "D")]
