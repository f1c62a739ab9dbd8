"""A private Dask scheduler and workers on this computer.

All sockets use the loopback address, all connections use TLS with a key of this sweep, and no HTTP server
runs. Other users of the computer are refused because they lack the key.
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

START_SECONDS = 120.0  # maximum start time of workers, on a busy computer
POLL_SECONDS = 0.2  # interval at which the supervisor checks the command
SHUTDOWN_SECONDS = 3.0  # time in which workers may end by themselves
EARLY_SECONDS = 20.0  # a command that ends sooner has not begun its work
MAX_EARLY_ENDS = 3  # consecutive early ends before a sweep gives up
FILES_PER_WORKER = 8  # files that this process opens for each worker
LOOPBACK = "127.0.0.1"
_OPTIONS = (
    *("--host", LOOPBACK, "--protocol", "tls"),
    # A memory limit of 0 is none: points have limits of their own, in their child processes
    *("--nthreads", "1", "--memory-limit", "0", "--no-dashboard", "--worker-class", WORKER),
    *("--preload-nanny", "fiberscope.explore.sweeps.watchdog"),
)
# Silences the clean-up messages of killed workers.
_QUIET = {"PYTHONWARNINGS": "ignore:resource_tracker"}
CONFIGURATION = {  # of Dask, with less frequent housekeeping for short points
    "logging.distributed": "critical",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.allowed-failures": 0,  # the sweep resubmits unfinished points
    "distributed.scheduler.work-stealing-interval": "1s",
    "distributed.worker.profile.enabled": False,
}


@contextmanager
def open_local_client(workers: int) -> Iterator[Client]:
    """Start a scheduler in this process and workers by Dask's command, and yield a client; end all of them.

    Scripts need no guard of ``__main__``, as no worker imports the main module.

    Args:
        workers: the number of worker processes.

    Raises:
        StartError: the workers do not start, or die repeatedly; the message names the missing resource.
    """
    check_processes(workers, FILES_PER_WORKER)
    security = Security.temporary()
    options = {"host": LOOPBACK, "port": 0, "protocol": "tls://", "security": security, "dashboard": False}
    scheduler = {"cls": QuietScheduler, "options": options}
    with (
        SpecCluster({}, scheduler, security=security, silence_logs=logging.CRITICAL) as cluster,
        _WorkerCommand(cluster, workers, security) as command,
        Client(cluster) as client,
    ):
        command.wait()
        try:
            yield client
        except InputError as error:
            # The scheduler is gone because the supervisor gave up: its reason is the better message
            if command.failure is None:
                raise
            raise StartError(command.failure) from error


class _WorkerCommand:
    """Dask's command that starts the workers, restarted when it dies; the sweep then resubmits their points.

    Args:
        cluster: the scheduler to which the workers connect.
        workers: number of workers.
        security: certificates of the connections.

    Attributes:
        failure: why the supervisor has given up; None while it has not.
    """

    def __init__(self, cluster: SpecCluster, workers: int, security: Security) -> None:
        self._cluster, self._workers = cluster, workers
        self._scheduler: Any = cluster.scheduler
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, *_OPTIONS]
        self._command = [*command, "--nworkers", str(workers)]
        settings = {**CONFIGURATION, **build_credentials(security, "worker")}
        self._environment = {**os.environ, **_as_environment(settings), **_QUIET}
        self._is_ending = threading.Event()
        self._early_ends, self._allowed_early_ends = 0, 1  # the first start must succeed
        self.failure: str | None = None
        self._start()
        self._supervisor = threading.Thread(target=self._supervise, daemon=True)
        self._supervisor.start()

    def _start(self) -> None:
        """Start the command; a process and an error output of an earlier start are replaced.

        Raises:
            StartError: the system starts no process.
        """
        self._started_at = time.monotonic()
        try:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                start_new_session=True,  # Ctrl-C goes to the sweep only
                stdin=subprocess.PIPE,  # never written to: its end tells the watchdog that the sweep is gone
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise StartError(
                f"workers cannot start: the system starts no process ({error.strerror}); {ALONE}"
            ) from error
        assert self._process.stderr is not None
        self._errors = _ErrorOutput(self._process.stderr)

    def _supervise(self) -> None:
        """Restart the command when it has died, unless it dies repeatedly without working."""
        while not self._is_ending.wait(POLL_SECONDS):
            # Once all workers are connected, a death is the fault of a point, not of the start
            if self._count_connected() >= self._workers:
                self._errors.start_forwarding()
                self._early_ends = 0
            if self._process.poll() is None:
                continue
            self._early_ends += time.monotonic() - self._started_at < EARLY_SECONDS
            if self._early_ends >= self._allowed_early_ends:
                self._fail()
                return
            try:
                self._start()
            except StartError as error:
                self._fail(str(error))
                return

    def _count_connected(self) -> int:
        return len(self._scheduler.workers)

    def _fail(self, reason: str | None = None) -> None:
        """Give up; closing the cluster informs all waiting clients."""
        self.failure = reason or f"workers cannot start: {self._errors.read_last_line()}; {ALONE}"
        self._cluster.close()

    def wait(self) -> None:
        """Return when all workers are connected.

        Raises:
            StartError: ``START_SECONDS`` are exceeded, or the command of the workers has ended.
        """
        deadline = time.monotonic() + START_SECONDS
        while self._count_connected() < self._workers:
            if self.failure is not None:
                raise StartError(self.failure)
            if time.monotonic() > deadline:
                raise StartError(
                    f"{self._workers} workers have not started within {START_SECONDS:g} s; {ALONE}"
                )
            time.sleep(0.02)
        self._early_ends, self._allowed_early_ends = 0, MAX_EARLY_ENDS

    def __enter__(self) -> _WorkerCommand:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        """End the workers and their points, immediately after an exception."""
        # The supervisor first, or it would start the command again
        self._is_ending.set()
        self._supervisor.join()
        self._errors.stop_forwarding()
        self._process.terminate()
        try:
            self._process.wait(SHUTDOWN_SECONDS if kind is None else 0)
        except subprocess.TimeoutExpired:  # points are running
            self._process.kill()
            self._process.wait()


class _ErrorOutput:
    """The error output of the workers: buffered until all have started, then forwarded to stderr.

    Args:
        stream: the error output.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._lock = stream, threading.Lock()
        self._buffer: deque[bytes] = deque(maxlen=1000)
        self._is_forwarding = self._is_silent = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._stream:
            with self._lock:
                self._buffer.append(line)
                if self._is_forwarding:
                    self._flush()

    def _flush(self) -> None:
        """Write the buffer to stderr, or drop it while silent; the caller holds the lock."""
        while self._buffer:
            line = self._buffer.popleft()
            if not self._is_silent:
                sys.stderr.write(line.decode(errors="backslashreplace"))
        sys.stderr.flush()

    def start_forwarding(self) -> None:
        """Forward the buffer, and from now on each line."""
        with self._lock:
            self._is_forwarding = True
            self._flush()

    def stop_forwarding(self) -> None:
        """Stop forwarding, because the workers are being ended."""
        with self._lock:
            self._is_silent = True

    def read_last_line(self) -> str:
        """Return the last line of the error output of an ended command, if it was not forwarded."""
        self._reader.join(1.0)  # until the rest of the output is in the buffer
        with self._lock:
            lines = [line.decode(errors="replace").strip() for line in self._buffer]
        return next((line for line in reversed(lines) if line), "their process ends at once")


def build_credentials(security: Security, role: str) -> dict[str, object]:
    """Return key and certificate as Dask's configuration; an environment is readable by its user only.

    Args:
        security: the security of the scheduler.
        role: ``worker`` or ``client``.
    """
    tls = security.get_tls_config_for_role(role)
    prefix = "distributed.comm.tls"
    keys = {f"{prefix}.ca-file": tls["ca_file"], f"{prefix}.{role}.cert": tls["cert"]}
    return {**keys, f"{prefix}.{role}.key": tls["key"], "distributed.comm.require-encryption": True}


def _as_environment(configuration: Mapping[str, object]) -> dict[str, str]:
    """Return the configuration as variables of an environment, which Dask reads as Python literals."""
    return {
        f"DASK_{key.upper().replace('-', '_').replace('.', '__')}": repr(value)
        for key, value in configuration.items()
    }
