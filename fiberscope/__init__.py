"""Fiberscope: a cycle-level simulator of sparse tensor accelerators.

``fiberscope.simulate("gamma", "wiki-Vote")`` runs a machine and returns a ``Report``. Modules are imported at
the first use of their names, so that the command line starts quickly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiberscope.workloads.first_use import imported_at_first_use

if TYPE_CHECKING:
    from fiberscope.accelerators import ConfigurationError
    from fiberscope.accelerators.sampling import Sample
    from fiberscope.base.errors import InputError
    from fiberscope.base.version import __version__
    from fiberscope.explore.ablate import ablate
    from fiberscope.explore.check import check
    from fiberscope.explore.compare import compare
    from fiberscope.explore.sweeps.design_search import search
    from fiberscope.explore.sweeps.suite import suite
    from fiberscope.explore.sweeps.sweep import sweep
    from fiberscope.models.analytic.api import analyze
    from fiberscope.models.analytic.sweep import density_sweep
    from fiberscope.models.trace.api import model
    from fiberscope.page.written import write_page
    from fiberscope.results.errors import (
        DeadlockedRunError,
        FailedRunError,
        MisplacedRequestsError,
        UnwrittenFileError,
        VerificationError,
    )
    from fiberscope.results.report.document import Report
    from fiberscope.run.api import StateFiles, Waveform, simulate
    from fiberscope.run.catalogue import machines, matrices, parameters
    from fiberscope.run.debug.api import debug
    from fiberscope.run.format_ranking import sage
    from fiberscope.run.parameter_tree import machine
    from fiberscope.run.shortcuts import convert, diff, graph, map, plot, profile, tile
    from fiberscope.workloads import WorkloadError

__all__ = [
    "ConfigurationError",
    "DeadlockedRunError",
    "FailedRunError",
    "InputError",
    "MisplacedRequestsError",
    "Report",
    "Sample",
    "StateFiles",
    "UnwrittenFileError",
    "VerificationError",
    "Waveform",
    "WorkloadError",
    "__version__",
    "ablate",
    "analyze",
    "check",
    "compare",
    "convert",
    "debug",
    "density_sweep",
    "diff",
    "graph",
    "machine",
    "machines",
    "map",
    "matrices",
    "model",
    "parameters",
    "plot",
    "profile",
    "sage",
    "search",
    "simulate",
    "suite",
    "sweep",
    "tile",
    "write_page",
]

_MODULES = {
    "ConfigurationError": "fiberscope.accelerators",
    "DeadlockedRunError": "fiberscope.results.errors",
    "FailedRunError": "fiberscope.results.errors",
    "InputError": "fiberscope.base.errors",
    "MisplacedRequestsError": "fiberscope.results.errors",
    "Report": "fiberscope.results.report.document",
    "Sample": "fiberscope.accelerators.sampling",
    "UnwrittenFileError": "fiberscope.results.errors",
    "VerificationError": "fiberscope.results.errors",
    "StateFiles": "fiberscope.run.api",
    "Waveform": "fiberscope.run.api",
    "WorkloadError": "fiberscope.workloads",
    "__version__": "fiberscope.base.version",
    "ablate": "fiberscope.explore.ablate",
    "analyze": "fiberscope.models.analytic.api",
    "density_sweep": "fiberscope.models.analytic.sweep",
    "compare": "fiberscope.explore.compare",
    "check": "fiberscope.explore.check",
    "debug": "fiberscope.run.debug.api",
    "machine": "fiberscope.run.parameter_tree",
    "model": "fiberscope.models.trace.api",
    "sage": "fiberscope.run.format_ranking",
    "search": "fiberscope.explore.sweeps.design_search",
    "simulate": "fiberscope.run.api",
    "suite": "fiberscope.explore.sweeps.suite",
    "sweep": "fiberscope.explore.sweeps.sweep",
    "write_page": "fiberscope.page.written",
    **dict.fromkeys(("machines", "matrices", "parameters"), "fiberscope.run.catalogue"),
    **dict.fromkeys(
        ("convert", "diff", "graph", "map", "plot", "profile", "tile"), "fiberscope.run.shortcuts"
    ),
}


def _advice(error: ModuleNotFoundError) -> str | None:
    from fiberscope.base.extras import find_extra_hint  # noqa: PLC0415  (rarely needed)

    return find_extra_hint(error)


__getattr__ = imported_at_first_use(__name__, _MODULES, _advice)


def __dir__() -> list[str]:
    return __all__
