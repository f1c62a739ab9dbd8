"""Say of a small Gamma, after moves that keep the laws, its report and what is seen in some of its cycles."""

import json

from debugger_moves import MANY, check, looks, whole

import fiberscope
from fiberscope.run.debug.session import Session
from fiberscope.sim import import_mode

SETTINGS = {"pe.count": 2, "pe.radix": 4, "fibercache.banks": 2, "memory.channels": 1}


def start(**options) -> Session:
    return fiberscope.debug("gamma", "uniform:rows=8,cols=8,nonzeros=20,seed=3", settings=SETTINGS, **options)


def main() -> None:
    check(start, (*MANY, ("goto", 0.4), ("step", 0.02)), snapshots=3)
    report, cycles = whole(start)
    with start() as session:
        seen = []
        for cycle in range(0, cycles, cycles // 8):
            session.goto(cycle)
            seen.append(looks(session, cycle))
    document = json.loads(report)
    del document["environment"]  # says whether the engine is compiled
    print(json.dumps({"compiled": import_mode.compiled(), "report": document, "seen": seen}))


if __name__ == "__main__":
    main()
