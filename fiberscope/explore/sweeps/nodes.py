"""A scheduler and a worker of Dask that listen for messages of the cluster alone: they run no HTTP server."""

from __future__ import annotations

from typing import Any

from distributed import Scheduler, Worker

__all__ = ["WORKER", "QuietScheduler", "QuietWorker"]


class QuietScheduler(Scheduler):
    """A Dask scheduler without an HTTP server."""

    def start_http_server(self, *_arguments: Any, **_options: Any) -> None:  # noqa: ANN401  (of Dask)
        """Open no port: nobody looks at the dashboard of a sweep."""


class QuietWorker(Worker):
    """A Dask worker without an HTTP server."""

    def start_http_server(self, *_arguments: Any, **_options: Any) -> None:  # noqa: ANN401  (of Dask)
        """Open no port, as ``QuietScheduler``."""


WORKER = f"{QuietWorker.__module__}.{QuietWorker.__qualname__}"  # as the option --worker-class takes it
