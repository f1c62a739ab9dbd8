"""The compiled and the uncompiled blocks: the same cycles, tokens and statistics, number by number."""

import copy
import json
from importlib import import_module
from pathlib import Path

import pytest
from kept import check_kept, checksum
from modes import other_mode

from fiberscope.sim import import_mode

SUPPORT = Path(__file__).parent / "support"


def differing(found, others):
    """The scenarios of which both forms do not do the same."""
    assert found.keys() == others.keys()
    return [name for name in found if found[name] != others[name]]


@pytest.mark.parametrize("script", ["block_scenarios", "stream_scenarios"])
def test_tokens_cycles_and_counters_are_those_that_are_kept(script):
    """A number for each run: what both forms of a block, or a block and its twin, get wrong alike."""
    for name, outcome in import_module(script).outcomes().items():
        check_kept(SUPPORT / "kept_outcomes.json", name, {"checksum": checksum(outcome)})


@pytest.mark.skipif(not import_mode.compiled(), reason="the blocks are not compiled here")
@pytest.mark.parametrize(
    ("script", "name", "tokens"),
    [
        ("block_scenarios", "sorted_head", lambda outcome: outcome["received"]["merged"]),
        ("stream_scenarios", "intersect, 0", lambda outcome: outcome["streams"]["out_crd"]),
    ],
)
def test_both_forms_do_the_same(script, name, tokens):
    found = json.loads(json.dumps(import_module(script).outcomes()))
    uncompiled = other_mode(SUPPORT / f"{script}.py")
    assert not uncompiled["compiled"]
    assert differing(found, uncompiled["outcomes"]) == []
    planted = copy.deepcopy(found)
    tokens(planted[name])[0][0] += 1
    assert differing(found, planted) == [name]
