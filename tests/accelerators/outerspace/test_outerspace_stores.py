"""OuterSPACE's store, the lists of T: who writes which field, and when."""

from __future__ import annotations

from pathlib import Path

import pytest
from modes import other_mode

from fiberscope.sim import mode

SCRIPT = Path(__file__).parent / "support" / "outerspace_stores.py"


@pytest.mark.skipif(not mode.compiled(), reason="the script runs in the other mode")
def test_every_part_keeps_to_the_rule_for_stores():
    found = other_mode(SCRIPT)
    assert not found["compiled"]
    assert found["as built"] == ""
    assert "multiplier writes RowLists.values, which only a merger may" in found["another writer"]
    assert "linker reads RowLists.values[" in found["not behind a token"]
