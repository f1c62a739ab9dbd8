"""Makes the helpers of these tests importable, and holds the requests of the converters in them."""

import sys
from pathlib import Path

from held_requests import pytest_runtest_call  # noqa: F401  (a hook)

sys.path.insert(0, str(Path(__file__).parent / "support"))
