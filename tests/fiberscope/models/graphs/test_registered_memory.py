"""Graphs whose blocks read memories with a registered output: results, cycles, reports and refusals."""

from pathlib import Path

import numpy as np
import pytest

from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.models.graphs.execution import run

EXAMPLES = Path(__file__).parents[4] / "examples" / "graphs"
REGISTERED = {"memory": "registered"}


def drawn(shape, seed):
    """Return a sparse tensor of whole numbers."""
    generator = np.random.default_rng(seed)
    return (generator.random(shape) < 0.3) * generator.integers(1, 9, shape).astype(float)


def operands():
    return {"B": drawn((12, 9), 1), "c": drawn((9,), 2)}


def test_registered_memories_cost_latency_and_no_throughput():
    reports = {
        memory: run(EXAMPLES / "spmv.gv", operands(), settings={"memory": memory})
        for memory in ("combinational", "registered")
    }
    assert all(report.verification.passed for report in reports.values())
    default, registered = (report.cycles for report in reports.values())
    assert default < registered <= default + 2 * 2 + 1  # two levels of B, and its values
    assert reports["registered"].config["memory"] == "registered"
    assert reports["combinational"].config == run(EXAMPLES / "spmv.gv", operands()).config
    assert "memory" not in reports["combinational"].config


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"timing": "sam"}, "combinational with timing=sam or quirks"),
        ({"quirks": "4"}, "combinational with timing=sam or quirks"),
        ({"scratchpad.latency": 4}, "combinational with scratchpad.latency=4"),
    ],
)
def test_settings_that_have_no_registered_memory_are_refused(setting, says):
    with pytest.raises(ConfigurationError, match=says):
        run(EXAMPLES / "spmv.gv", operands(), settings={**REGISTERED, **setting})


@pytest.mark.parametrize(
    ("graph", "says"), [("fig13_skip", "that skips"), ("fig13_bittree", "of a bit vector")]
)
def test_scanners_that_have_no_registered_memory_are_refused(graph, says):
    given = {"b": drawn((40,), 3), "c": drawn((40,), 4)}
    with pytest.raises(InputError, match=f"no scanner {says} has memory=registered"):
        run(EXAMPLES / f"{graph}.gv", given, settings=REGISTERED)
