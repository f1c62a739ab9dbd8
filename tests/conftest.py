"""Makes the helpers that all rooms' tests share importable: ``from sim.testing import run_block``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
