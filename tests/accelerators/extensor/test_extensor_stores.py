"""ExTensor's stores, slots of partial outputs and rows of output tiles: who writes them, and when."""

from __future__ import annotations

from pathlib import Path

import pytest
from extensor_bench import small_operands, tiny
from modes import other_mode
from stores import watched

from fiberscope.accelerators.extensor import ExTensor
from fiberscope.sim import SimulationError, mode

SCRIPT = Path(__file__).parent / "support" / "extensor_stores.py"
compiled_only = pytest.mark.skipif(not mode.compiled(), reason="the script runs in the other mode")


@compiled_only
def test_every_part_keeps_to_the_rule_for_stores():
    found = other_mode(SCRIPT)
    assert not found["compiled"]
    assert found["as built"] == ""
    assert "core writes PartialSlot.values, which only a outputs may" in found["another writer"]
    assert "llb.outputs reads PartialSlot.keys[" in found["not behind a token"]


@compiled_only
def test_a_compiled_machine_is_refused():
    machine = ExTensor(tiny(), *small_operands())
    refused = pytest.raises(SimulationError, match="is compiled; stores are watched with")
    with refused, watched(machine.kernel, *machine.slots):
        pass
