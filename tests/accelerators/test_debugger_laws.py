"""Laws of the debugger on all kinds of runs: what is done and looked at on the way changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from machine_case import cases

import fiberscope
from fiberscope.run.debug import simulators
from fiberscope.run.debug.session import Session

ROOT = Path(__file__).parents[2]
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


RUNS: dict[str, Callable[..., Session]] = {
    **{name: _machine(name) for name in cases()},
    "specification": lambda **options: fiberscope.debug(
        str(ROOT / "examples" / "specifications" / "spmv.yaml"), tensors={"A": SMALL, "x": VECTOR}, **options
    ),
    "graph": _graph,
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


def comparable(report) -> str:
    document = json.loads(report.to_json())
    del document["host"]
    return json.dumps(document)


@cache
def whole(name: str) -> tuple[str, int]:
    """The report of an uninterrupted run, and its cycles."""
    with RUNS[name]() as session:
        session.run()
        return comparable(session.report()), session.cycle


def conditions_of(session: Session) -> list[str]:
    """Conditions of every kind on the components of a machine."""
    views = session.show("*").data
    conditions = []
    for view in views[:: max(1, len(views) // 8)]:
        short = view.name
        conditions += [f"{short} busy >= 5", f"{short}.state == busy", f"cycle >= 7 and {short} idle < 90"]
        conditions += [f"{short} {counter} >= 3" for counter in list(view.counters)[:2]]
        conditions += [f"{short}.{signal} != 0" for signal in list(view.signals)[:2]]
        conditions += [f"{short}.{channel.port} >= 1" for channel in view.channels[:2]]
        conditions += [f"{short}.{channel.port} has coordinate >= 1" for channel in view.channels[:1]]
    return conditions


def looks(session: Session, number: int) -> tuple[str, ...]:
    """What is seen in a cycle, of some components."""
    views = session.show("*").data
    chosen = [views[(number + place) % len(views)] for place in (0, 7, 19)]
    queues = [f"{view.name}.{view.channels[-1].port}" for view in chosen if view.channels]
    chains = [str(session.why(view.name)) for view in chosen]
    return (repr(views), *(str(session.queue(queue)) for queue in queues), *chains)


def follow(session: Session, cycles: int, moves) -> None:
    """Make moves; each is a verb and a share of the run's cycles or the number of a name."""
    conditions = conditions_of(session)
    names = [view.name for view in session.show("*").data]
    ports = [f"{view.name}.{one.port}" for view in session.show("*").data for one in view.channels]
    for verb, number in moves:
        if verb in {"run", "goto"}:
            target = int(number * cycles)
            getattr(session, verb)(max(target, session.cycle) if verb == "run" else target)
        elif verb in {"step", "back"}:
            getattr(session, verb)(1 + int(number * cycles))
        elif verb in {"until", "add_break", "watch"}:
            getattr(session, verb)(conditions[number % len(conditions)])
        elif verb in {"show", "why"}:
            getattr(session, verb)(names[number % len(names)])
        elif verb == "queue":
            session.queue(ports[number % len(ports)])
        else:
            getattr(session, verb)()


def check(name: str, moves, **options) -> None:
    """Follow moves: the cycle reached looks as always, and the report is that of an uninterrupted run."""
    report, cycles = whole(name)
    with RUNS[name](**options) as session:
        follow(session, cycles, moves)
        here, ended = session.cycle, session._stop.ended
        seen = looks(session, len(moves))
        with RUNS[name](snapshots=0) as straight:
            straight.run(None if ended else here)
            assert looks(straight, len(moves)) == seen
        for line in str(session.breaks()).splitlines():
            if line != "no breakpoints":
                session.delete(int(line.partition(":")[0]))
        session.run()
        assert comparable(session.report()) == report


MANY = ("until", 3), ("show", 5), ("back", 0.1), ("queue", 4), ("add_break", 11), ("run", 0.9), ("why", 8)


@pytest.mark.parametrize("name", RUNS)
def test_moves_and_looks_on_the_way_change_nothing(name):
    check(name, (*MANY, ("goto", 0.4), ("watch", 6), ("until", 17), ("step", 0.02)))


@pytest.mark.parametrize("name", ["gamma", "conversion"])
def test_a_run_is_replayed_where_the_system_cannot_fork(name, monkeypatch):
    whole(name)
    monkeypatch.setattr(simulators, "can_fork", lambda: False)
    check(name, (*MANY, ("report", None)))


@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(MOVES, max_size=6), st.sampled_from([0, 1, 3, 16]))
def test_any_moves_followed_by_run_give_the_report_of_an_uninterrupted_run(moves, snapshots):
    check("gamma", moves, snapshots=snapshots)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(MOVES, max_size=12), st.sampled_from([0, 1, 3, 16]))
def test_any_moves_on_any_run_give_the_report_of_an_uninterrupted_run(name, moves, snapshots):
    check(name, moves, snapshots=snapshots)
