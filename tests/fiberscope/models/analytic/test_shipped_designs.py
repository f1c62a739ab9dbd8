"""Cycles and energies of every design that ships, to the last level and tensor: that none has moved."""

from pathlib import Path

import pytest
from kept import check_kept

from fiberscope.models.analytic.api import analyze
from fiberscope.models.analytic.inputs import list_designs

KEPT = Path(__file__).parent / "shipped_designs.json"


def flat(design: str, mode: str) -> dict[str, float]:
    """Cycles, energies, words kept, bandwidth that metadata takes, and what is skipped, by where."""
    report = analyze(design, settings={"mode": mode})
    found = {"cycles": report.cycles, "energy": report.energy.total_pj}
    for level, one in report.levels.items():
        found |= {f"{level} cycles": one.cycles, f"{level} leak": one.leak_pj}
        for name, tensor in one.tensors.items():
            found[f"{level} {name} energy"] = tensor.energy_pj
            found[f"{level} {name} words"] = tensor.words
            found[f"{level} {name} read share"] = tensor.read_format_share
            found[f"{level} {name} write share"] = tensor.write_format_share
            found[f"{level} {name} skipped"] = (
                tensor.reads.skipped + tensor.fills.skipped + tensor.updates.skipped
            )
    return found


@pytest.mark.parametrize("mode", ["exact", "timeloop"])
@pytest.mark.parametrize("design", list_designs())
def test_no_number_of_a_design_that_ships_has_moved(design: str, mode: str) -> None:
    check_kept(KEPT, f"{design} {mode}", flat(design, mode), rel=1e-9)
