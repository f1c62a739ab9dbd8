"""Fiberscope: a cycle-level simulator of sparse tensor accelerators.

The public face: ``fiberscope.simulate("gamma", "wiki-Vote")`` gives a ``Report``. Everything heavy is
imported when first used, so that the command line answers at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelerators import ConfigurationError
    from fiberscope.api import Waveform, simulate
    from fiberscope.errors import (
        DeadlockedRunError,
        FailedRunError,
        InputError,
        UnwrittenWaveformError,
        VerificationError,
    )
    from fiberscope.report.document import Report
    from workloads import WorkloadError

__version__ = "0.1.0"

__all__ = [
    "ConfigurationError",
    "DeadlockedRunError",
    "FailedRunError",
    "InputError",
    "Report",
    "UnwrittenWaveformError",
    "VerificationError",
    "Waveform",
    "WorkloadError",
    "__version__",
    "simulate",
]

_HOMES = {
    "ConfigurationError": "accelerators",
    "DeadlockedRunError": "fiberscope.errors",
    "FailedRunError": "fiberscope.errors",
    "InputError": "fiberscope.errors",
    "Report": "fiberscope.report.document",
    "UnwrittenWaveformError": "fiberscope.errors",
    "VerificationError": "fiberscope.errors",
    "Waveform": "fiberscope.api",
    "WorkloadError": "workloads",
    "simulate": "fiberscope.api",
}


def __getattr__(name: str) -> object:
    """Import a public name from its home at first use."""
    if name not in _HOMES:
        raise AttributeError(f"module fiberscope has no attribute {name}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
