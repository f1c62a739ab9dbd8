"""Laws of the debugger on all kinds of runs: what is done and looked at on the way changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from debugger_moves import MANY, check, whole
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from machine_case import cases
from modes import other_mode, this_mode

import fiberscope
from fiberscope.run.debug import simulators
from fiberscope.run.debug.session import Session

ROOT = Path(__file__).parents[2]
MODES = Path(__file__).parent / "support" / "debugger_modes.py"
SMALL = "uniform:rows=14,cols=14,nonzeros=60,seed=3"
VECTOR = "uniform:rows=14,cols=1,nonzeros=9"


def _machine(name: str) -> Callable[..., Session]:
    """Start sessions of the first make of a machine, with the DRAM model if it has a memory."""
    case = cases()[name]
    problem = {f"problem.{key}": value for key, value in (case.problem or {}).items()}
    memory = {"memory.model": "dram"} if "memory" in case.kind.configuration.model_fields else {}
    make = {**next(iter(case.variants.values())), **problem, **memory}
    return lambda **options: fiberscope.debug(case.accelerator, *case.operands(), settings=make, **options)


def _graph(**options) -> Session:
    path = str(ROOT / "examples" / "graphs" / "fig14_identity.gv")
    return fiberscope.debug(path, tensors={"B": SMALL}, **options)


def _phases(**options) -> Session:
    path = str(ROOT / "examples" / "graphs" / "fig11_unfused.gv")
    tensors = {"B": "uniform:rows=9,cols=8,nonzeros=20", "C": "ones:shape=9x7", "D": "ones"}
    return fiberscope.debug(path, tensors=tensors, **options)


RUNS: dict[str, Callable[..., Session]] = {
    **{name: _machine(name) for name in cases()},
    "specification": lambda **options: fiberscope.debug(
        str(ROOT / "examples" / "specifications" / "spmv.yaml"), tensors={"A": SMALL, "x": VECTOR}, **options
    ),
    "graph": _graph,
    "graph of two phases": _phases,
    "conversion": lambda **options: fiberscope.debug("convert csr csc", SMALL, **options),
    "machine of one's own": lambda **options: fiberscope.debug(
        str(ROOT / "examples" / "inner_product"), SMALL, SMALL, **options
    ),
}
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


def test_the_laws_hold_uncompiled_and_all_that_is_seen_is_as_compiled():
    compiled, uncompiled = this_mode(MODES), other_mode(MODES)
    assert compiled.pop("compiled") != uncompiled.pop("compiled")
    assert compiled == uncompiled


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
