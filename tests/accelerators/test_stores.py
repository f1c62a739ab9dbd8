"""Stores of machines: one writer a field, read behind a token; scripts break the rule, uncompiled."""

from pathlib import Path

import pytest
from gamma_bench import csr, tiny
from modes import other_mode
from stores import watched

from fiberscope.accelerators.gamma import Gamma
from fiberscope.sim import SimulationError, import_mode

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(not import_mode.compiled(), reason="the scripts run in the other mode")

BREACHES = {
    "extensor": {
        "another writer": "core writes PartialSlot.values, which only a outputs may",
        "not behind a token": "llb.outputs reads PartialSlot.keys[",
    },
    "gamma": {"another writer": "prefetcher writes TaskTable.starts, which only a scheduler may"},
    "outerspace": {
        "another writer": "multiplier writes RowLists.values, which only a merger may",
        "not behind a token": "linker reads RowLists.values[",
    },
}


@pytest.mark.parametrize("machine", BREACHES)
def test_every_part_keeps_to_the_rule_for_stores(machine):
    found = other_mode(HERE / machine / "support" / f"{machine}_stores.py")
    assert not found.pop("compiled")
    assert found.pop("as built") == ""
    assert found.keys() == BREACHES[machine].keys()
    for case, said in found.items():
        assert BREACHES[machine][case] in said


def test_a_compiled_machine_is_refused():
    matrix = csr([{0: 1.0}], 1)
    machine = Gamma(tiny(), matrix, matrix)
    refused = pytest.raises(
        SimulationError, match="is compiled; stores are watched with FIBERSCOPE_UNCOMPILED"
    )
    with refused, watched(machine.kernel, machine.table):
        pass
