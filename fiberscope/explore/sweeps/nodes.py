"""Dask scheduler and worker without HTTP servers."""

from __future__ import annotations

from typing import Any

from distributed import Scheduler, Worker


class QuietScheduler(Scheduler):
    """A Dask scheduler without an HTTP server."""

    def start_http_server(self, *_arguments: Any, **_options: Any) -> None:  # noqa: ANN401  (of Dask)
        """Do nothing, because a sweep has no dashboard."""


class QuietWorker(Worker):
    """A Dask worker without an HTTP server."""

    def start_http_server(self, *_arguments: Any, **_options: Any) -> None:  # noqa: ANN401  (of Dask)
        """Do nothing, as ``QuietScheduler``."""


WORKER = f"{QuietWorker.__module__}.{QuietWorker.__qualname__}"  # for the option --worker-class
