"""Fiberscope: a cycle-level simulator of sparse tensor accelerators.

The public face: ``fiberscope.simulate("gamma", "wiki-Vote")`` gives a ``Report``. Everything heavy is
imported when first used, so that the command line answers at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiberscope.version import __version__
from fiberscope.workloads.first_use import imported_at_first_use

if TYPE_CHECKING:
    from fiberscope.accelerators import ConfigurationError
    from fiberscope.api import StateFiles, Waveform, simulate
    from fiberscope.errors import (
        DeadlockedRunError,
        FailedRunError,
        InputError,
        MisplacedRequestsError,
        UnwrittenFileError,
        VerificationError,
    )
    from fiberscope.models.analytic.api import analyze
    from fiberscope.models.analytic.sweep import density_sweep
    from fiberscope.models.trace.api import model
    from fiberscope.report.document import Report
    from fiberscope.shortcuts import convert, diff, graph, map, plot, tile
    from fiberscope.study.ablate import ablate
    from fiberscope.study.compare import compare
    from fiberscope.sweeps.api import sweep
    from fiberscope.sweeps.suite import suite
    from fiberscope.workloads import WorkloadError

__all__ = [
    "ConfigurationError",
    "DeadlockedRunError",
    "FailedRunError",
    "InputError",
    "MisplacedRequestsError",
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
    "convert",
    "density_sweep",
    "diff",
    "graph",
    "map",
    "model",
    "plot",
    "simulate",
    "suite",
    "sweep",
    "tile",
]

_HOMES = {
    "ConfigurationError": "fiberscope.accelerators",
    "DeadlockedRunError": "fiberscope.errors",
    "FailedRunError": "fiberscope.errors",
    "InputError": "fiberscope.errors",
    "MisplacedRequestsError": "fiberscope.errors",
    "Report": "fiberscope.report.document",
    "UnwrittenFileError": "fiberscope.errors",
    "VerificationError": "fiberscope.errors",
    "StateFiles": "fiberscope.api",
    "Waveform": "fiberscope.api",
    "WorkloadError": "fiberscope.workloads",
    "ablate": "fiberscope.study.ablate",
    "analyze": "fiberscope.models.analytic.api",
    "density_sweep": "fiberscope.models.analytic.sweep",
    "compare": "fiberscope.study.compare",
    "model": "fiberscope.models.trace.api",
    "simulate": "fiberscope.api",
    "suite": "fiberscope.sweeps.suite",
    "sweep": "fiberscope.sweeps.api",
    **dict.fromkeys(("convert", "diff", "graph", "map", "plot", "tile"), "fiberscope.shortcuts"),
}

__getattr__ = imported_at_first_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
