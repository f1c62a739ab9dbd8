"""The same files compiled and uncompiled give the same results."""

import json
from pathlib import Path

import pytest
from modes import other_mode
from networks import Arbiter
from representative import measure

MEASURE = Path(__file__).parents[1] / "support" / "representative.py"


def check_same(ours, others):
    """Raises AssertionError unless the results agree; both went through JSON."""
    assert ours["results"] == others["results"]


def through_json(measured):
    return json.loads(json.dumps(measured))


def test_both_modes_give_the_same_cycles_arrivals_accounting_and_errors():
    ours, others = through_json(measure()), other_mode(MEASURE)
    if not (ours["compiled"] or others["compiled"]):
        pytest.skip("the engine has not been compiled here")
    assert {ours["compiled"], others["compiled"]} == {True, False}
    check_same(ours, others)


def test_planted_a_difference_between_the_modes_is_found():
    class Unfair(Arbiter):
        def tick(self, now):
            self.turn = 0
            return super().tick(now)

    ours, others = through_json(measure()), through_json(measure(Unfair))
    with pytest.raises(AssertionError):
        check_same(ours, others)
