"""A Dask scheduler and workers on this computer, which nobody else can talk to.

All sockets are on the loopback address, all connections use TLS with a key made for this sweep, and no HTTP
server runs. Another user of the computer can connect to a port, and is refused for want of the key.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from distributed import Client
from distributed.deploy.spec import SpecCluster
from distributed.security import Security

from fiberscope.base.errors import InputError
from fiberscope.base.processes import ALONE, StartError, check_processes
from fiberscope.explore.sweeps.nodes import WORKER, QuietScheduler

__all__ = ["CONFIGURATION", "credentials", "local_client"]

START_SECONDS = 120.0  # of workers on this computer, which may be busy
LOOK_SECONDS = 0.2
LAST_SECONDS = 3.0
SHORT_SECONDS = 20.0  # a command that ends sooner has not got to work
MOST_SHORT = 3  # such ends, one after the other, before a sweep gives up
FILES_EACH = 8  # that this process opens for a worker
LOOPBACK = "127.0.0.1"
_OPTIONS = (
    *("--host", LOOPBACK, "--protocol", "tls"),
    *("--nthreads", "1", "--memory-limit", "0", "--no-dashboard", "--worker-class", WORKER),
    *("--preload-nanny", "fiberscope.explore.sweeps.watchdog"),
)
# It cleans up after who was killed, and need not say so.
_QUIET = {"PYTHONWARNINGS": "ignore:resource_tracker"}
CONFIGURATION = {  # of Dask; what it looks after many times a second costs more than short points bear
    "logging.distributed": "critical",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.allowed-failures": 0,  # the sweep gives again what is unfinished of a batch
    "distributed.scheduler.work-stealing-interval": "1s",
    "distributed.worker.profile.enabled": False,
}


@contextmanager
def local_client(workers: int) -> Iterator[Client]:
    """Start a scheduler in this process, and workers by Dask's command.

    A script that sweeps so needs no guard of ``__main__``.

    Args:
        workers: processes that run points.

    Raises:
        StartError: the workers do not start, or die again and again; the message names the resource.
    """
    check_processes(workers, FILES_EACH)
    security = Security.temporary()
    options = {"host": LOOPBACK, "port": 0, "protocol": "tls://", "security": security, "dashboard": False}
    scheduler = {"cls": QuietScheduler, "options": options}
    with (
        SpecCluster({}, scheduler, security=security, silence_logs=logging.CRITICAL) as cluster,
        _Workers(cluster, workers, security) as started,
        Client(cluster) as client,
    ):
        started.wait()
        try:
            yield client
        except InputError as error:
            if started.failure is None:
                raise
            raise StartError(started.failure) from error


class _Workers:
    """Dask's command for workers, which is started again when it dies; their points are then run again."""

    def __init__(self, cluster: SpecCluster, workers: int, security: Security) -> None:
        self._cluster, self._workers = cluster, workers
        self._scheduler: Any = cluster.scheduler
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, *_OPTIONS]
        self._command = [*command, "--nworkers", str(workers)]
        settings = {**CONFIGURATION, **credentials(security, "worker")}
        self._environment = {**os.environ, **_as_environment(settings), **_QUIET}
        self._ending = threading.Event()
        self._short, self._allowed = 0, 1  # the first time they have to start
        self.failure: str | None = None
        self._start()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def _start(self) -> None:
        self._began = time.monotonic()
        try:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                start_new_session=True,  # Ctrl-C is for the sweep
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise StartError(
                f"workers cannot start: the system starts no process ({error.strerror}); {ALONE}"
            ) from error
        assert self._process.stderr is not None
        self._errors = _Errors(self._process.stderr)

    def _keep(self) -> None:
        """Start the command again when it has died, until it dies again and again without working."""
        while not self._ending.wait(LOOK_SECONDS):
            if self._present() >= self._workers:
                self._errors.release()
                self._short = 0
            if self._process.poll() is None:
                continue
            self._short += time.monotonic() - self._began < SHORT_SECONDS
            if self._short >= self._allowed:
                self._fail()
                return
            try:
                self._start()
            except StartError as error:
                self._fail(str(error))
                return

    def _present(self) -> int:
        return len(self._scheduler.workers)

    def _fail(self, reason: str | None = None) -> None:
        """Give up: whoever waits for a point learns of it as the scheduler goes."""
        last = self._errors.last_line()
        self.failure = reason or f"workers cannot start: {last}; {ALONE}"
        self._cluster.sync(self._scheduler.close)

    def wait(self) -> None:
        """Return when all workers are there.

        Raises:
            StartError: they are not within their time, or one has died.
        """
        last = time.monotonic() + START_SECONDS
        while self._present() < self._workers:
            if self.failure is not None:
                raise StartError(self.failure)
            if time.monotonic() > last:
                raise StartError(
                    f"{self._workers} workers have not started within {START_SECONDS:g} s; {ALONE}"
                )
            time.sleep(0.02)
        self._short, self._allowed = 0, MOST_SHORT

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        """End the workers, and the points that they run: at once where nobody waits for these any more."""
        self._ending.set()
        self._keeper.join()
        self._errors.quiet()
        self._process.terminate()
        try:
            self._process.wait(LAST_SECONDS if kind is None else 0)
        except subprocess.TimeoutExpired:  # points are running
            self._process.kill()
            self._process.wait()


class _Errors:
    """The messages of the workers: held back until all have started, then passed on to stderr.

    Args:
        stream: the messages.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._lock = stream, threading.Lock()
        self._held: deque[bytes] = deque(maxlen=1000)
        self._passing = self._silent = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._stream:
            with self._lock:
                self._held.append(line)
                if self._passing:
                    self._flush()

    def _flush(self) -> None:
        while self._held:
            line = self._held.popleft()
            if not self._silent:
                sys.stderr.write(line.decode(errors="backslashreplace"))
        sys.stderr.flush()

    def release(self) -> None:
        """Pass on what is held, and from now on each line as it comes."""
        with self._lock:
            self._passing = True
            self._flush()

    def quiet(self) -> None:
        """Pass on nothing more: the workers are being ended."""
        with self._lock:
            self._silent = True

    def last_line(self) -> str:
        """Return the last line of the messages of a command that has ended."""
        self._reader.join(1.0)
        with self._lock:
            lines = [line.decode(errors="replace").strip() for line in self._held]
        return next((line for line in reversed(lines) if line), "their process ends at once")


def credentials(security: Security, role: str) -> dict[str, object]:
    """Return key and certificate as Dask's configuration; an environment is readable by its user alone.

    Args:
        security: the security of the scheduler.
        role: ``worker`` or ``client``.
    """
    tls = security.get_tls_config_for_role(role)
    prefix = "distributed.comm.tls"
    keys = {f"{prefix}.ca-file": tls["ca_file"], f"{prefix}.{role}.cert": tls["cert"]}
    return {**keys, f"{prefix}.{role}.key": tls["key"], "distributed.comm.require-encryption": True}


def _as_environment(configuration: Mapping[str, object]) -> dict[str, str]:
    """Return the value as Dask reads it from the environment."""
    return {
        f"DASK_{key.upper().replace('-', '_').replace('.', '__')}": str(value)
        for key, value in configuration.items()
    }
