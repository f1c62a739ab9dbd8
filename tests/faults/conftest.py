"""Makes the helpers of this room's tests importable: ``from faults import read``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
