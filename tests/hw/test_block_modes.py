"""The compiled and the uncompiled blocks: the same cycles, tokens and statistics, number by number."""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from block_scenarios import outcomes

from fiberscope.sim import mode

TESTS = Path(__file__).parent.parent
SCENARIOS = TESTS / "hw" / "support" / "block_scenarios.py"


def outcomes_uncompiled():
    """The outcomes of the same scenarios in an interpreter of their own, uncompiled."""
    paths = (TESTS.parent, TESTS / "support", TESTS / "hw" / "support")
    environment = os.environ | {mode.VARIABLE: "1", "PYTHONPATH": os.pathsep.join(map(str, paths))}
    printed = subprocess.run([sys.executable, SCENARIOS], env=environment, capture_output=True, check=True)
    document = json.loads(printed.stdout)
    assert not document["compiled"]
    return document["outcomes"]


def check_same(compiled, uncompiled):
    assert compiled.keys() == uncompiled.keys()
    for name in compiled:
        assert compiled[name] == uncompiled[name], f"{name} differs"


@pytest.mark.skipif(not mode.compiled(), reason="the blocks are not compiled here")
def test_both_forms_do_the_same():
    found = outcomes()
    assert found["bank"]["statistics"]["bank"]["counters"]["write_backs"] > 0
    uncompiled = outcomes_uncompiled()
    check_same(found, uncompiled)
    planted = copy.deepcopy(uncompiled)
    planted["merger"]["received"]["merged"][7][1][3] += 1e-9
    with pytest.raises(AssertionError, match="merger differs"):
        check_same(found, planted)
