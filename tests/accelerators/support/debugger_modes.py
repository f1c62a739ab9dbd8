"""Check the laws of the debugger on a run, and print its report and what is seen in some of its cycles.

The argument is a name of ``debugger_runs.RUNS``; without it, the run is a tiny one of Gamma.
"""

import json
import sys

from debugger_moves import MANY, Start, check, looks, whole

import fiberscope
from fiberscope.run.debug.session import Session
from fiberscope.sim import import_mode

SETTINGS = {"pe.count": 2, "pe.radix": 4, "fibercache.banks": 2, "memory.channels": 1}


def start_gamma(**options) -> Session:
    return fiberscope.debug("gamma", "uniform:rows=8,cols=8,nonzeros=20,seed=3", settings=SETTINGS, **options)


def start_of(name: str) -> Start:
    from debugger_runs import RUNS

    return RUNS[name]


def main(start: Start) -> None:
    check(start, (*MANY, ("goto", 0.4), ("step", 0.02)), snapshots=3)
    report, cycles = whole(start)
    with start() as session:
        seen = []
        for cycle in range(0, cycles, max(1, cycles // 8)):
            session.goto(cycle)
            seen.append(looks(session, cycle))
    document = json.loads(report)
    del document["environment"]  # says whether the engine is compiled
    print(json.dumps({"compiled": import_mode.compiled(), "report": document, "seen": seen}))


if __name__ == "__main__":
    main(start_of(sys.argv[1]) if len(sys.argv) > 1 else start_gamma)
