"""Makes the helpers of this room's tests importable: ``from pairs import check_pair``."""

import importlib.util
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "support"), str(Path(__file__).parents[1] / "faults" / "support")]

collect_ignore_glob = (
    [] if importlib.util.find_spec("pyrtl") else ["test_*.py"]
)  # the extra ``rtl`` is not installed
