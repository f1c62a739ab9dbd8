"""Parts joined by wires, loops that they must not make, and what parts show of themselves passed on."""

import re
from dataclasses import replace

import pyrtl
import pytest
from joined import skipping, skipping_pair
from pairs import _build, check_pair

from fiberscope.hw.fibers import intersect_rtl as intersector
from fiberscope.hw.fibers import merge_rtl as merger
from fiberscope.hw.lanes import prefix_sum_rtl as prefix_sum
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.loops import loop_of, paths
from fiberscope.hw.rtl.kit.twin import build
from fiberscope.hw.rtl.kit.wrapper import Composition, Link, Part, flat, hierarchical

FINGERS = Part(intersector.TWO_FINGER, intersector.TwoFingerParameters(8, 8, 32))


def three_way(capacity):
    """What three fibers have in common."""
    return Composition(
        "three_way",
        {"first": FINGERS, "second": FINGERS},
        (Link("first.matches_a", "second.a", capacity),),
        {
            "a": "first.a",
            "b": "first.b",
            "c": "second.b",
            "matches": "second.matches_a",
            "others": "second.matches_b",
            "beside": "first.matches_b",
        },
    )


def test_a_loop_of_wires_is_refused_by_its_ports():
    said = (
        "three_way: wires make a loop without a register, where a channel should be: "
        "first.matches_a_ready -> first.matches_a_valid -> second.a_valid -> second.a_ready"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$") as caught:
        three_way(capacity=0)
    assert "\n" not in str(caught.value)
    assert three_way(capacity=2).interface().module == "three_way"


def test_parts_without_a_status_may_be_all_there_are():
    merge = Part(merger.BLOCK, merger.MergerParameters(2, 8, 8, 32, stages=1))
    chain = Composition(
        "chain",
        {"first": merge, "second": merge},
        (Link("first.merged", "second.ways[0]", capacity=0),),
        {
            "tasks[0]": "first.tasks",
            "tasks[1]": "second.tasks",
            **{f"ways[{i}]": f"first.ways[{i}]" for i in range(2)},
            "ways[2]": "second.ways[1]",
            "merged": "second.merged",
        },
    )
    assert "assign pending = 0;" in hierarchical(chain, "chain")
    backend = PyrtlBackend(build(chain.interface(), lambda between: flat(chain, between)))
    backend.cycle()
    assert backend.words.seen()["pending"] == 0


@pytest.mark.parametrize("seed", range(3))
def test_what_a_part_shows_is_passed_on(seed):
    pair = skipping_pair(seed)
    assert check_pair(pair) > 60
    kernel, _sides = _build(pair)
    kernel.run()
    found = kernel.statistics()
    counters = found["event.intersector"].counters
    assert found["rtl.block"].counters == {name: counters[name] for name in ("intersect", "dropped")}
    assert counters["dropped"] > 0


def test_a_status_that_is_not_there_or_has_the_name_of_a_port_is_refused():
    composition = skipping()
    with pytest.raises(ValueError, match=r"skipping: there is no status intersector\.droped"):
        replace(composition, status={"dropped": "intersector.droped"})
    with pytest.raises(ValueError, match="skipping: status matches_a would have a name that is taken"):
        replace(composition, status={"matches_a": "intersector.dropped"})
    assert composition.without_status().interface().status_widths == {}
    assert composition.interface().status_widths == {"pending": 1, "dropped": 4, "steps": 1}


def test_paths_are_those_of_the_logic():
    found = paths(FINGERS.block, FINGERS.parameters)
    assert {"matches_a_ready", "matches_b_ready", "a_valid", "b_valid"} <= found["matches_a_valid"]
    assert "matches_b_ready" in found["a_ready"]
    rows = paths(prefix_sum.BLOCK, prefix_sum.PrefixSumParameters(lanes=2, width=4))
    assert rows["sums_valid"] == frozenset()
    assert rows["lanes_ready"] == {"sums_ready"}


def test_a_loop_is_found_wherever_it_begins():
    assert loop_of({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c"]
    assert loop_of({"a": ["b", "c"], "b": ["d"], "c": ["d"]}) == []
    assert loop_of({"a": ["a"]}) == ["a"]


def driven_twice(between):
    between.show("odd", wire := pyrtl.WireVector(1, "twice"))
    for bit in (0, 1):
        wire <<= pyrtl.Const(bit, 1)


def driven_by_nothing(between):
    between.show("odd", pyrtl.WireVector(1, "floating"))


@pytest.mark.parametrize(
    ("design", "told"), [(driven_twice, "twice"), (driven_by_nothing, r"never driven: \['floating'\]")]
)
def test_planted_a_wire_of_two_drivers_or_none_is_refused(design, told):
    with pytest.raises(pyrtl.PyrtlError, match=told):
        build(Interface("odd", (), ("odd",)), design)
