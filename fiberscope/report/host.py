"""What the computer that runs the simulation tells of itself."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path

__all__ = ["hertz", "peak_memory_bytes"]


def peak_memory_bytes() -> int:
    """The most memory this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def hertz() -> float | None:
    """The fastest present frequency of a core; None where the system does not tell."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", text, flags=re.MULTILINE)
    return max(float(megahertz) for megahertz in found) * 1e6 if found else None
