"""Blocks that pass tokens on pass all of their words: the value, and the mark of an absent one."""

import pytest

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.coordinate_dropper import CoordinateDropper, ValueDropper
from fiberscope.hw.streams.droppers import EmptyFiberDropper, StopDropper
from fiberscope.hw.streams.lanes import Lanes
from fiberscope.hw.streams.parallel import Scatter
from fiberscope.hw.streams.seek import Seek
from fiberscope.hw.streams.serializer import Serializer
from fiberscope.hw.streams.task_sum import TaskPoints
from fiberscope.hw.streams.tokens import ABSENT, CRD, DATA, REF, VAL, token
from fiberscope.sim.testing import run_block

ELEMENTS = [(DATA, 0, ABSENT, 2.5), (DATA, 0, 0, 1.5)]
VALUES = [*ELEMENTS, token("S0", VAL), token("D", VAL)]
NESTED = [*ELEMENTS, token("S1", VAL), token("D", VAL)]
ONE = [token(written, CRD) for written in (0, "S0", "D")]
PAIR = [token(written, CRD) for written in (0, 1, "S0", "D")]
LEVEL = Level([0, 2], [0, 1])
CASES = {
    "stop dropper": (lambda: StopDropper("block", VAL, kept=0), {"in_stream": VALUES}, "out_stream"),
    "empty fibers": (lambda: EmptyFiberDropper("block", VAL), {"in_stream": VALUES}, "out_stream"),
    "coordinates": (
        lambda: CoordinateDropper("block", VAL),
        {"in_outer": ONE, "in_inner": NESTED},
        "out_inner",
    ),
    "values": (lambda: ValueDropper("block"), {"in_outer": PAIR, "in_inner": VALUES}, "out_inner"),
    "scatter": (lambda: Scatter("block", 1, carries=VAL), {"in_crd": VALUES}, "out_crd0"),
    "serializer": (
        lambda: Serializer("block", 1, 0, VAL),
        {"in_ref": [token(written, REF) for written in (0, 0, "S0", "D")], "in_stream[0]": VALUES},
        "out_stream",
    ),
    "lanes": (lambda: Lanes("block", 2), {"in_stream": VALUES}, "out_stream"),
    "lanes with sizes": (
        lambda: Lanes("block", 2),
        {"in_stream": VALUES, "in_sizes": [token(2, CRD)]},
        "out_stream",
    ),
    "seek": (
        lambda: Seek("block", LEVEL, [VAL]),
        {
            "in_crd": PAIR,
            "in_base": [token(written, REF) for written in (0, 0, "S0", "D")],
            "in_carried0": VALUES,
        },
        "out_carried0",
    ),
    "points of tasks": (lambda: TaskPoints("block", 1, 0), {"in_0": PAIR, "in_val": VALUES}, "out_val"),
}


@pytest.mark.parametrize("case", CASES)
def test_all_words_of_a_token_are_passed_on(case):
    make, inputs, output = CASES[case]
    found = run_block(make(), inputs, [f"{output}[0]"]).tokens(f"{output}[0]")
    assert found == (NESTED if NESTED in inputs.values() else VALUES)
