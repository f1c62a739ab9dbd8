"""Makes what the tests of all machines share, and each machine's helpers, importable."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(folder) for folder in (HERE / "support", *HERE.glob("*/support"))]
pytest.register_assert_rewrite("gamma_checks", "extensor_checks", "inner_product_model", "outerspace_checks")
