"""The compiled and the uncompiled blocks of the stream machine: the same tokens, cycles and counts."""

import copy
import json
from pathlib import Path

import pytest
from modes import other_mode
from stream_scenarios import outcomes

from fiberscope.sim import mode

SCENARIOS = Path(__file__).parents[1] / "support" / "stream_scenarios.py"


def check_same(found, other):
    assert found.keys() == other.keys()
    for name in found:
        assert found[name] == other[name], f"{name} differs"


@pytest.mark.skipif(not mode.compiled(), reason="the blocks are not compiled here")
def test_both_forms_do_the_same():
    found = json.loads(json.dumps(outcomes()))
    uncompiled = other_mode(SCENARIOS)
    assert not uncompiled["compiled"]
    check_same(found, uncompiled["outcomes"])
    planted = copy.deepcopy(uncompiled["outcomes"])
    planted["intersect, 0"]["streams"]["out_crd"][0][0] += 1
    with pytest.raises(AssertionError, match="intersect, 0 differs"):
        check_same(found, planted)
