"""Fiberscope: a cycle-level simulator of sparse tensor accelerators.

The public face: ``fiberscope.simulate("gamma", "wiki-Vote")`` gives a ``Report``. Everything heavy is
imported when first used, so that the command line answers at once.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelerators import ConfigurationError
    from fiberscope.analytic.api import analyze
    from fiberscope.analytic.sweep import density_sweep
    from fiberscope.api import StateFiles, Waveform, simulate
    from fiberscope.errors import (
        DeadlockedRunError,
        FailedRunError,
        InputError,
        UnwrittenFileError,
        VerificationError,
    )
    from fiberscope.report.document import Report
    from fiberscope.study.ablate import ablate
    from fiberscope.study.compare import compare
    from fiberscope.sweeps.api import sweep
    from fiberscope.teaal.api import model
    from workloads import WorkloadError

__version__ = "0.1.0"

__all__ = [
    "ConfigurationError",
    "DeadlockedRunError",
    "FailedRunError",
    "InputError",
    "Report",
    "StateFiles",
    "UnwrittenFileError",
    "VerificationError",
    "Waveform",
    "WorkloadError",
    "__version__",
    "ablate",
    "analyze",
    "compare",
    "density_sweep",
    "model",
    "simulate",
    "sweep",
]

_HOMES = {
    "ConfigurationError": "accelerators",
    "DeadlockedRunError": "fiberscope.errors",
    "FailedRunError": "fiberscope.errors",
    "InputError": "fiberscope.errors",
    "Report": "fiberscope.report.document",
    "UnwrittenFileError": "fiberscope.errors",
    "VerificationError": "fiberscope.errors",
    "StateFiles": "fiberscope.api",
    "Waveform": "fiberscope.api",
    "WorkloadError": "workloads",
    "ablate": "fiberscope.study.ablate",
    "analyze": "fiberscope.analytic.api",
    "density_sweep": "fiberscope.analytic.sweep",
    "compare": "fiberscope.study.compare",
    "model": "fiberscope.teaal.api",
    "simulate": "fiberscope.api",
    "sweep": "fiberscope.sweeps.api",
}


def _check_rooms() -> None:
    """Say which file is in the way where Python finds another ``sim`` than ours, as one beside a script.

    Raises:
        ImportError: naming it.
    """
    root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    for room in ("sim", "hw", "accelerators", "converters", "workloads"):
        spec = None if room in sys.modules else importlib.util.find_spec(room)
        found = os.path.realpath(spec.origin) if spec and spec.origin else ""
        if found and found != os.path.join(root, room, "__init__.py"):
            raise ImportError(
                f"{found} is in the way: Fiberscope has a package called {room}, and Python finds this file "
                "first; give it another name, or run from another folder"
            )


_check_rooms()

from workloads.first_use import imported_at_first_use  # noqa: E402  (the rooms must be ours)

__getattr__ = imported_at_first_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
