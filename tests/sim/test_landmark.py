"""Where a waveform opens: at the first mark, else at the first stall of what has just been busy."""

import pytest

from fiberscope.sim.constants import BUSY, FIRST_STALL, IDLE
from fiberscope.sim.landmark import Landmark
from fiberscope.sim.probe import Changes
from fiberscope.sim.waveform import STATE, Variable

STALL = FIRST_STALL + 1


def opened(
    scopes: list[str], *states: tuple[int, int, int], marks: tuple[int, ...] = ()
) -> tuple[int | None, str]:
    """Return time and scope after states (time, place, state); behind the states each scope has a mark."""
    variables = [Variable(scope, STATE, "text", 1) for scope in scopes]
    variables += [Variable(scope, "seen", "mark", 1) for scope in scopes]
    landmark, changes = Landmark(variables), Changes(len(variables), {})
    for time, position, value in (*states, *((time, len(scopes), 1) for time in marks)):
        changes.values[position] = value
        changes.positions[0] = position
        landmark.observe(time, changes, 1)
    return landmark.time, landmark.scope


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([(0, 0, BUSY), (5, 0, STALL)], (5, "m.a")),
        ([(0, 0, STALL), (5, 0, BUSY)], (None, "")),
        ([(0, 0, BUSY), (3, 0, IDLE), (5, 0, STALL)], (None, "")),
        ([(0, 0, BUSY), (1, 1, BUSY), (4, 1, STALL), (5, 0, STALL)], (4, "m.b")),
        ([(0, 0, BUSY), (4, 0, FIRST_STALL), (6, 0, BUSY), (7, 0, STALL)], (4, "m.a")),
    ],
)
def test_the_first_stall_is_that_of_a_component_that_was_busy_right_before(
    states: list[tuple[int, int, int]], expected: tuple[int | None, str]
) -> None:
    assert opened(["m.a", "m.b"], *states) == expected


def test_a_mark_goes_before_a_stall_however_late_it_is_set() -> None:
    states = (0, 1, BUSY), (5, 1, STALL)
    assert opened(["m.a", "m.b"], *states) == (5, "m.b")
    assert opened(["m.a", "m.b"], *states, marks=(9, 11)) == (9, "m.a")


def test_of_a_machine_with_parts_alike_only_their_stalls_count() -> None:
    scopes = ["m.pe00.merger", "m.pe01.merger", "m.scheduler"]
    assert opened(scopes, (0, 2, BUSY), (1, 2, STALL)) == (None, "")
    assert opened(scopes, (0, 2, BUSY), (1, 2, STALL), (1, 1, BUSY), (8, 1, STALL)) == (8, "m.pe01.merger")
