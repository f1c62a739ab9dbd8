"""Makes the helpers of all machines' tests importable, and holds the requests of every machine in them."""

import os
import sys
from pathlib import Path

import pytest
from held_requests import pytest_runtest_call  # noqa: F401  (a hook)

from fiberscope.workloads import load

HERE = Path(__file__).parent
sys.path[:0] = [str(folder) for folder in (HERE / "support", *HERE.glob("*/support"))]
pytest.register_assert_rewrite("gamma_checks", "extensor_checks", "inner_product_model", "outerspace_checks")
GIVEN_DATA = os.environ.get("FIBERSCOPE_DATA", "")


@pytest.fixture
def published(name, monkeypatch):
    """The real matrix of a name, or a test is skipped."""
    monkeypatch.setenv("FIBERSCOPE_DATA", GIVEN_DATA)
    monkeypatch.setenv("FIBERSCOPE_OFFLINE", "1")
    workload = load(name)
    if workload.source != "real":
        pytest.skip(f"{name} is not on FIBERSCOPE_DATA")
    return workload.matrix
