"""Moves of a debugging session, and the laws that they keep: what is done and looked at changes nothing."""

import json
from collections.abc import Callable
from functools import cache

from fiberscope.run.debug.session import Session

# A session with these options of ``fiberscope.debug``.
Start = Callable[..., Session]
MANY = ("until", 3), ("show", 5), ("back", 0.1), ("queue", 4), ("add_break", 11), ("run", 0.9), ("why", 8)


def comparable(report) -> str:
    document = json.loads(report.to_json())
    del document["host"]
    return json.dumps(document)


@cache
def whole(start: Start) -> tuple[str, int]:
    """The report of an uninterrupted run, and its cycles."""
    with start() as session:
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
    for verb, number in moves:
        conditions, views = conditions_of(session), session.show("*").data  # of the present phase
        names = [view.name for view in views]
        ports = [f"{view.name}.{one.port}" for view in views for one in view.channels]
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


def check(start: Start, moves, **options) -> None:
    """Follow moves: the cycle reached looks as always, and the report is that of an uninterrupted run."""
    report, cycles = whole(start)
    with start(**options) as session:
        follow(session, cycles, moves)
        here, ended = session.cycle, session.stop.ended
        seen = looks(session, len(moves))
        with start(snapshots=0) as straight:
            straight.run(None if ended else here)
            assert looks(straight, len(moves)) == seen
        for line in str(session.breaks()).splitlines():
            if line != "no breakpoints":
                session.delete(int(line.partition(":")[0]))
        session.run()
        assert comparable(session.report()) == report
