"""Properties of the host, and the software environment of a run."""

from __future__ import annotations

import hashlib
import platform
import re
import resource
import sys
from dataclasses import dataclass
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import distribution
from pathlib import Path

import numpy as np

from fiberscope.results.report import parts
from fiberscope.results.report.parts import Environment
from fiberscope.sim import import_mode


@dataclass(frozen=True)
class Timing:
    """Wall-clock times of a run on the host, in seconds.

    Args:
        seconds: from the loaded operands to the checked answer.
        simulation_seconds: of the simulation alone.
    """

    seconds: float
    simulation_seconds: float


def peak_memory_bytes() -> int:
    """Return the peak resident memory of this process since its start, including earlier runs."""
    # the system reports bytes on macOS, KiB on Linux
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def hertz() -> float | None:
    """Return the highest current frequency of a core in Hz; None if the system does not report frequencies.

    They are read from ``/proc/cpuinfo``, where Linux on x86 reports them.
    """
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    clocks = re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", text, flags=re.MULTILINE)
    return max(float(megahertz) for megahertz in clocks) * 1e6 if clocks else None


def measure_host(timing: Timing, cycles: int, multiplies: int | None, ticks: int | None = None) -> parts.Host:
    """Return the speed of the simulation on this host, and the peak memory of the process.

    The rates are per second of the simulation alone. The frequency is read now, after the run.

    Args:
        timing: wall-clock time of the run.
        cycles: simulated cycles.
        multiplies: number of multiplications; None if the problem has none.
        ticks: executed ticks of components; None if no components were simulated.
    """
    seconds = max(timing.simulation_seconds, 1e-9)  # a clock may measure 0
    rate = None if multiplies is None else multiplies / seconds
    frequency = hertz()
    return parts.Host(
        seconds=timing.seconds,
        simulation_seconds=timing.simulation_seconds,
        ticks_per_second=None if ticks is None else ticks / seconds,
        cycles_per_second=cycles / seconds,
        multiplies_per_second=rate,
        computes_per_host_cycle=rate / frequency if frequency and rate is not None else None,
        hertz=frequency,
        peak_memory_bytes=peak_memory_bytes(),
        compiled=import_mode.compiled(),
    )


@cache
def environment() -> Environment:
    """Return the environment of this process, as it was at the first call."""
    compiled = import_mode.compiled()
    return Environment(
        python=f"{platform.python_version()} ({platform.python_implementation()})",
        numpy=np.__version__,
        scipy=_read_version("scipy"),
        compiled=compiled,
        build=_build(Path(str(sys.modules["fiberscope.sim.kernel"].__file__)).parent) if compiled else None,
    )


def _read_version(library: str) -> str:
    """Read the version of a library without importing the library or parsing all metadata."""
    match = re.search("^Version: (.*)$", distribution(library).read_text("METADATA") or "", re.MULTILINE)
    return match[1] if match else distribution(library).version


def _build(folder: Path) -> str:
    """Return the digest of the engine's compiled modules."""
    modules = sorted(folder.glob(f"*{EXTENSION_SUFFIXES[0]}"))
    return hashlib.sha256(b"".join(module.read_bytes() for module in modules)).hexdigest()
