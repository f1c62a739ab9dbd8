"""Makes the helpers of the memory tests importable: ``from dram_rules import Rules``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
