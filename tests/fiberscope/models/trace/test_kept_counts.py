"""What specifications count with the semantics of machines, where no tool is there to compare with."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from kept import check_kept

import fiberscope

KEPT = Path(__file__).parent / "counts.json"
MACHINES = {  # small enough for buffers to be full
    "gamma": {"fibercache.size": "1 KiB", "fibercache.banks": 2, "fibercache.ways": 4},
    "outerspace": {},
    "sigma": {},
    "extensor": {"pe.tile": 4, "K1": 16, "M1": 8, "N1": 32},
    "extensor-energy": {"pe.tile": 4, "K1": 16, "M1": 8, "N1": 32},
}


def flat(told: Mapping[str, object], path: str = "") -> Iterator[tuple[str, float]]:
    """All numbers of a report's part, by where they stand."""
    for key, value in told.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{path}{key} ")
        elif isinstance(value, int | float):
            yield f"{path}{key}", value


@pytest.mark.parametrize("machine", MACHINES)
def test_no_count_of_a_machine_has_moved(machine: str) -> None:
    settings = {"semantics": "machine", **MACHINES[machine]}
    report = fiberscope.model(machine, "uniform:rows=60,cols=60,nonzeros=300", settings=settings)
    told = report.teaal.model_dump()
    counts = {key: told[key] for key in ("bodies", "metrics", "energy")}
    check_kept(KEPT, machine, dict(flat({**counts, "spent": report.energy.model_dump()})), rel=1e-12)
