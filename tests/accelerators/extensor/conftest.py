"""Makes the helpers of this machine's tests importable: ``from extensor_bench import run_extensor``."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))
pytest.register_assert_rewrite("extensor_checks")
