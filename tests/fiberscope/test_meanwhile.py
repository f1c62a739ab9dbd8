"""What works while a machine's busiest worker does not: by hand, and on machines."""

from collections.abc import Mapping

import pytest

from fiberscope.explore.stall_attribution import Group, attribute_stalls
from fiberscope.results.recording.document import ComponentStates, Domain, StateTimeline

CLOCKS = {
    "core": Domain(hertz="1000000000", base_ticks=2),
    "memory": Domain(hertz="2000000000", base_ticks=1),
}
STATES = {"b": "busy", ".": "idle", "w": "wait:x", "f": "full:y"}


def timeline(drawn: Mapping[str, str], clock: str = "core") -> StateTimeline:
    """A run drawn as a letter a cycle."""
    components = {
        name: ComponentStates(
            clock=clock,
            states={state: [int(letter == one) for one in letters] for letter, state in STATES.items()},
        )
        for name, letters in drawn.items()
    }
    cycles = len(next(iter(drawn.values())))
    return StateTimeline(start=0, end=cycles, interval=1, clocks=CLOCKS, components=components)


def groups(**named: str) -> list[Group]:
    return [Group(part=part, kinds=tuple(kinds.split())) for part, kinds in named.items()]


def test_fill_waits_and_drain_by_hand() -> None:
    """Three cycles of fill; a wait for a reader, one for nothing, one for a bank; then nothing to do."""
    seen = timeline(
        {
            "m.reader": "bbb.b.......",
            "m.pe0.worker": "...bwwfbb...",
            "m.bank": "b..bb.b..b..",
            "m.writer": ".......b.bb.",
        }
    )
    found = attribute_stalls(seen, ["m.pe0.worker"], groups(read="reader", bank="bank", write="writer"))
    assert found == {
        "while the busiest pe.worker waits: read": 1,
        "while the busiest pe.worker waits: bank": 1,
        "while the busiest pe.worker waits: unexplained": 1,
        "while the busiest pe.worker is idle: read": 3,
        "while the busiest pe.worker is idle: bank": 1,
        "while the busiest pe.worker is idle: write": 1,
    }


def test_a_group_takes_what_those_before_it_have_left() -> None:
    seen = timeline({"m.worker": "....", "m.a": "bb..", "m.b": "bbb."})
    assert list(attribute_stalls(seen, ["m.worker"], groups(a="a", b="b")).values()) == [0, 2, 1]
    assert list(attribute_stalls(seen, ["m.worker"], groups(b="b", a="a")).values()) == [0, 3]
    assert list(attribute_stalls(seen, ["m.worker"], groups(both="a b")).values()) == [0, 3]


def test_another_element_explains_no_wait_but_that_there_is_no_work() -> None:
    seen = timeline(
        {"m.pe0.worker": "ww..", "m.pe1.worker": "bbbb", "m.pe1.reader": "bbbb", "m.pe0.reader": "b..."}
    )
    found = attribute_stalls(seen, ["m.pe0.worker"], groups(reader="pe.reader", others="pe.worker"))
    assert found == {
        "while the busiest pe.worker waits: reader": 1,
        "while the busiest pe.worker waits: unexplained": 1,
        "while the busiest pe.worker is idle: reader": 2,
    }


def test_of_two_phases_neither_explains_the_other() -> None:
    seen = timeline({"m.first": "bb..w.", "m.second": "..bb..", "m.third": "bbbbbb"})
    found = attribute_stalls(seen, ["m.first", "m.second"], groups(second="second", third="third"))
    assert {part: cycles for part, cycles in found.items() if cycles} == {
        "while the busiest first waits: third": 1,
        "while the busiest first and second are idle: third": 1,
    }


def test_within_an_interval_cycles_are_one_after_the_other_as_long_as_they_may_be() -> None:
    """Of 8 cycles, and then 4: the worker is busy in 5 and 1, the reader in 4 and 1."""
    components = {
        "m.worker": ComponentStates(clock="core", states={"busy": [5, 1], "idle": [3, 3]}),
        "m.reader": ComponentStates(clock="core", states={"busy": [4, 1], "idle": [4, 3]}),
    }
    seen = StateTimeline(start=0, end=12, interval=8, clocks=CLOCKS, components=components)
    stalls = attribute_stalls(seen, ["m.worker"], groups(read="reader"))
    assert stalls["while the busiest worker is idle: read"] == 4


@pytest.mark.parametrize(("busy", "cycles"), [(6, 3), (5, 3), (1, 1), (0, 0)])
def test_a_cycle_of_a_faster_clock_is_part_of_one(busy: int, cycles: int) -> None:
    components = {
        "m.worker": ComponentStates(clock="core", states={"idle": [4]}),
        "m.memory": ComponentStates(clock="memory", states={"busy": [busy], "idle": [8 - busy]}),
    }
    seen = StateTimeline(start=0, end=4, interval=4, clocks=CLOCKS, components=components)
    assert sum(attribute_stalls(seen, ["m.worker"], groups(memory="memory")).values()) == cycles


def test_a_machine_without_groups_says_that_its_worker_waits() -> None:
    found = attribute_stalls(timeline({"m.worker": "w.b"}), ["m.worker"], [])
    assert found == {"while the busiest worker waits: unexplained": 1}
