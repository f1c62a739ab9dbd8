"""Gamma's stores, task table, partial fibers and rows of Z: one writer a field, read behind a token."""

from __future__ import annotations

from pathlib import Path

import pytest
from gamma_bench import csr, tiny
from modes import other_mode
from stores import watched

from fiberscope.accelerators.gamma import Gamma
from fiberscope.sim import SimulationError, mode

SCRIPT = Path(__file__).parent / "support" / "gamma_stores.py"
compiled_only = pytest.mark.skipif(not mode.compiled(), reason="the script runs in the other mode")


@compiled_only
def test_every_part_keeps_to_the_rule_for_stores():
    found = other_mode(SCRIPT)
    assert not found["compiled"]
    assert found["as built"] == ""
    assert "prefetcher writes TaskTable.starts, which only a scheduler may" in found["another writer"]


@compiled_only
def test_a_compiled_machine_is_refused():
    matrix = csr([{0: 1.0}], 1)
    machine = Gamma(tiny(), matrix, matrix)
    refused = pytest.raises(
        SimulationError, match="is compiled; stores are watched with FIBERSCOPE_UNCOMPILED"
    )
    with refused, watched(machine.kernel, machine.table):
        pass
