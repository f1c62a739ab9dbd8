"""The checker of the protocol of ports, cycle by cycle: what it names, and what it lets pass."""

import pytest

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.interface import Bundle, Interface, Payload, Stream
from fiberscope.hw.rtl.kit.protocol_checker import ProtocolChecker
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.hw.rtl.kit.words import Words

TOKEN = {"control": 2, "coordinate": 8, "line": Payload(100)}
STREAMS = (
    Stream("tasks", "tasks", "input", {"coordinate": 4}),
    Stream("fibers", "fibers", "input", {"control": 1, "coordinate": 4}),
    Stream("out", "out", "output", TOKEN),
    Stream("out.1", "out_lane_1", "output", TOKEN),
    Bundle("row", "row", "output", {"coordinate": 4}, 3, mask=True),
)
LANES = "out_lane_1_"


def violation(*cycles, **rules):
    """What the checker says of cycles in which these wires are not 0; text is X or Z."""
    interface = Interface("unit", STREAMS, ("pending",))
    words = Words(interface)
    checker = ProtocolChecker("unit", interface, words, **rules)
    zeros = dict.fromkeys((wire.name for wire in interface.wires()), 0)
    for number, wires in enumerate(cycles):
        words.unknown.clear()
        words.unknown.update({name: bits for name, bits in wires.items() if isinstance(bits, str)})
        known = {name: bits for name, bits in wires.items() if not isinstance(bits, str)}
        words.drive(zeros | known)
        words.show(zeros | known)
        checker.cycle(number)
    if checker.violation is None:
        return None
    cycle, text = checker.violation
    assert text.startswith(f"unit: in cycle {cycle}, ")
    return cycle, text.partition(", ")[2]


def offer(coordinate=5, *, ready=0, lane="out_", **fields):
    return {f"{lane}valid": 1, f"{lane}coordinate": coordinate, f"{lane}ready": ready} | {
        f"{lane}{name}": bits for name, bits in fields.items()
    }


KEPT = [
    ("taken in its cycle", [offer(ready=1), {}]),
    ("taken later", [{}, offer(), offer(), offer(ready=1), offer(7, ready=1)]),
    ("nothing is offered", [{"out_ready": 1, "out_coordinate": 3}, {"out_coordinate": 4}]),
    (
        "lanes move up",
        [
            offer(1, ready=1) | offer(2, lane=LANES),
            offer(2) | offer(3, lane=LANES),
            offer(2, ready=1) | offer(3, ready=1, lane=LANES),
        ],
    ),
    (
        "a lane that the mask leaves out changes",
        [
            {"row_valid": 1, "row_mask": 0b101, "row_coordinate": 0x123},
            {"row_valid": 1, "row_mask": 0b101, "row_coordinate": 0x173},
        ],
    ),
]


@pytest.mark.parametrize(("what", "cycles"), KEPT)
def test_a_token_that_is_kept_until_it_is_taken_passes(what, cycles):
    assert violation(*cycles) is None, what


BROKEN = [
    ([offer(), {}], 1, "out: out_valid falls before the token is taken"),
    ([offer(), offer(), offer(control=1)], 2,
     "out: out_control changes from 0 to 1 before the token is taken"),
    (
        [offer(line=1 << 80), offer(line=1 << 81)],
        1,
        f"out: out_line changes from {1 << 80} to {1 << 81} before the token is taken",
    ),
    ([offer(), offer(6, ready=1)], 1, "out: out_coordinate changes from 5 to 6 before the token is taken"),
    (
        [{"row_valid": 1, "row_mask": 5, "row_coordinate": 0x123}, {"row_valid": 1, "row_mask": 7}],
        1,
        "row: row_mask changes from 101 to 111 before the token is taken",
    ),
    (
        [{"row_valid": 1, "row_mask": 5, "row_coordinate": 0x123}, {"row_valid": 1, "row_mask": 5}],
        1,
        "row: row_coordinate changes from 3 to 0 before the token is taken",
    ),
    ([offer(ready=1) | offer(ready=1, lane=LANES), offer(ready=1, lane=LANES)], 1,
     "out.1: lane 1 moves a token without lane 0"),
    ([offer() | offer(ready=1, lane=LANES)], 0, "out.1: lane 1 moves a token without lane 0"),
    ([{}, {"tasks_ready": "X"}], 1, "tasks: tasks_ready is X: not reset, or driven by nothing"),
    ([{"out_lane_1_control": "0Z"}], 0, "out.1: out_lane_1_control is 0Z: not reset, or driven by nothing"),
    ([{"pending": "X"}], 0, "pending: pending is X: not reset, or driven by nothing"),
    ([offer(), {}, {"pending": "X"}], 1, "out: out_valid falls before the token is taken"),
]  # fmt: skip


@pytest.mark.parametrize(("cycles", "cycle", "text"), BROKEN)
def test_the_first_broken_rule_is_named_with_its_port_and_cycle(cycles, cycle, text):
    assert violation(*cycles) == (cycle, text)


def test_an_arbiter_may_offer_another_token_and_some_outputs_may_end_an_offer():
    changes, falls = [offer(), offer(6)], [offer(), {}]
    assert violation(*changes, arbiters=("out",)) is None
    assert violation(*falls, arbiters=("out",)) == (1, "out: out_valid falls before the token is taken")
    assert violation(*changes, *falls, retracts=("out",)) is None
    assert violation(*falls, arbiters=("row",), retracts=("row",)) is not None


TASK = {"tasks_valid": 1, "tasks_ready": 1}
ELEMENT, STOP = offer(3, ready=1), offer(0, ready=1, control=1)


@pytest.mark.parametrize(
    ("cycles", "cycle"),
    [
        ([TASK, ELEMENT, STOP, STOP], 3),
        ([TASK, ELEMENT, STOP, offer()], 3),  # also if it is not taken
        ([STOP], 0),
        ([{"tasks_valid": 1} | STOP, {"tasks_valid": 1} | ELEMENT], 1),  # a task that shows begins its fiber
        ([TASK, TASK | STOP, STOP, {}], None),
        ([TASK, TASK, ELEMENT | offer(0, ready=1, control=1, lane=LANES), STOP, STOP], 4),
    ],
)
def test_no_token_follows_the_stop_of_the_last_task(cycles, cycle):
    found = violation(*cycles, fibers_of={"out": "tasks"})
    begun = (
        sum("tasks_ready" in wires for wires in cycles) or sum("tasks_valid" in wires for wires in cycles) > 0
    )
    text = f"out: a token follows the last stop; {int(begun)} fibers have begun at tasks"
    assert found == (None if cycle is None else (cycle, text))


def test_a_fiber_that_has_begun_may_leave_before_its_stop_comes():
    into = {"fibers_valid": 1, "fibers_ready": 1}
    end = into | {"fibers_control": 1}
    rules = {"fibers_of": {"out": "fibers"}}
    assert violation(into, ELEMENT, into, ELEMENT, end, STOP, **rules) is None
    assert violation(into, ELEMENT, end | STOP, ELEMENT, **rules) == (
        3,
        "out: a token follows the last stop; 1 fibers have begun at fibers",
    )


def test_no_token_follows_done():
    done = offer(0, ready=1, control=3)
    assert violation(STOP, STOP, done, {}, has_done=True) is None
    assert violation(STOP, done, STOP, has_done=True) == (2, "out: a token follows the last stop, done")
    assert violation(STOP, done, STOP) is None


def test_each_output_with_fibers_says_whose_it_follows():
    """Of blocks without rows: their ports carry the stops of fibers."""
    followed = {
        name: dict(BLOCKS[name].adapter.FIBERS_OF) for name in BLOCKS if BLOCKS[name].adapter.FIBERS_OF
    }
    assert followed == {
        "accumulator": {"sums": "products"},
        "channel": {"out": "in"},
        "merge_tree": {"merged": "tasks"},
        "merger": {"merged": "tasks"},
        "prefetch": {"elements": "jobs"},
        "skip_ahead": {"matches_a": "a", "matches_b": "b"},
        "sorted_head": {"merged": "tasks"},
        "two_finger": {"matches_a": "a", "matches_b": "b"},
    }
    assert registered(BLOCKS["merger"]).adapter.FIBERS_OF == {"merged": "tasks"}
    assert sum(BLOCKS[name].adapter.HAS_DONE for name in BLOCKS) > 15
