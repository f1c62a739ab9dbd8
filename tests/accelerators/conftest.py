"""Makes the helpers of all machines' tests importable, and holds the requests of every machine in them."""

import sys
from pathlib import Path

import pytest
from held_requests import pytest_runtest_call  # noqa: F401  (a hook)

HERE = Path(__file__).parent
sys.path[:0] = [str(folder) for folder in (HERE / "support", *HERE.glob("*/support"))]
pytest.register_assert_rewrite("gamma_checks", "extensor_checks", "inner_product_model", "outerspace_checks")
