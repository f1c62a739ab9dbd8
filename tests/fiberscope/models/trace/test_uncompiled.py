"""The loop nests and what they are counted by give the same as plain Python."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from fiberscope.models.trace import nest
from fiberscope.models.trace.evaluate import run
from fiberscope.models.trace.load import load
from fiberscope.models.trace.model import Model
from fiberscope.workloads.fibertree import FiberTree

SYMBOLS = {"extensor": {"K1": 16, "M1": 12, "N1": 8, "K0": 4, "M0": 4, "N0": 4}}
MACHINES = ("gamma", "extensor", "outerspace", "sigma")


def measured(machine):
    """Bodies, operations, intersections and metrics of a machine's run on a small matrix."""
    chosen = np.random.default_rng(7).choice(24 * 20, 90, replace=False)
    rows, columns = np.unravel_index(np.sort(chosen), (24, 20))
    a = FiberTree.from_coo({"K": 24, "M": 20}, [rows, columns], chosen % 5 + 1.0)
    b = FiberTree.from_coo({"K": 24, "N": 20}, [rows, columns], chosen % 7 + 1.0)
    specification = load(machine, SYMBOLS.get(machine, {}))
    model = Model(specification)
    outcome = run(specification, {"A": a, "B": b}, model.observe)
    counts = [[each.bodies, each.operations, repr(each.intersections)] for each in outcome.runs]
    return json.dumps([counts, outcome.wrong is None, model.metrics(outcome)], sort_keys=True)


@pytest.fixture(scope="module")
def uncompiled():
    """What the same gives in plain Python, by machine."""
    environment = os.environ | {"FIBERSCOPE_UNCOMPILED": "1"}
    command = [sys.executable, __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("machine", MACHINES)
def test_compiled_and_uncompiled_give_the_same(machine, uncompiled):
    assert measured(machine) == uncompiled[machine]


if __name__ == "__main__":
    assert nest.__file__.endswith(".py")
    print(json.dumps({machine: measured(machine) for machine in MACHINES}))
