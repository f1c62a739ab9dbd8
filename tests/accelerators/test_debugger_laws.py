"""Laws of the debugger on all kinds of runs: what is done and looked at on the way changes nothing."""

from pathlib import Path

import pytest
from debugger_moves import MANY, check, whole
from debugger_runs import RUNS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from modes import other_mode, this_mode

from fiberscope.run.debug import simulators

MODES = Path(__file__).parent / "support" / "debugger_modes.py"
MOVES = st.one_of(
    st.tuples(st.just("run"), st.floats(0, 1.1)),
    st.tuples(st.just("step"), st.floats(0, 0.1)),
    st.tuples(st.just("back"), st.floats(0, 0.5)),
    st.tuples(st.just("goto"), st.floats(0, 1.1)),
    st.tuples(st.sampled_from(["until", "add_break", "watch"]), st.integers(0, 99)),
    st.tuples(st.sampled_from(["show", "queue", "why"]), st.integers(0, 999)),
    st.tuples(st.sampled_from(["report", "info"]), st.none()),
)


@pytest.mark.parametrize("name", RUNS)
def test_moves_and_looks_on_the_way_change_nothing(name):
    check(RUNS[name], (*MANY, ("goto", 0.4), ("watch", 6), ("until", 17), ("step", 0.02)))


def compare_modes(*run: str) -> None:
    compiled, uncompiled = this_mode(MODES, *run), other_mode(MODES, *run)
    assert compiled.pop("compiled") != uncompiled.pop("compiled")
    assert compiled == uncompiled


def test_the_laws_hold_uncompiled_and_all_that_is_seen_is_as_compiled():
    compare_modes()


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_the_laws_hold_uncompiled_on_any_run(name):
    compare_modes(name)


@pytest.mark.parametrize("name", ["gamma", "conversion"])
def test_a_run_is_replayed_where_the_system_cannot_fork(name, monkeypatch):
    whole(RUNS[name])
    monkeypatch.setattr(simulators, "can_fork", lambda: False)
    check(RUNS[name], (*MANY, ("report", None)))


@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(MOVES, max_size=6), st.sampled_from([0, 1, 3, 16]))
def test_any_moves_followed_by_run_give_the_report_of_an_uninterrupted_run(moves, snapshots):
    check(RUNS["gamma"], moves, snapshots=snapshots)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(MOVES, max_size=12), st.sampled_from([0, 1, 3, 16]))
def test_any_moves_on_any_run_give_the_report_of_an_uninterrupted_run(name, moves, snapshots):
    check(RUNS[name], moves, snapshots=snapshots)
