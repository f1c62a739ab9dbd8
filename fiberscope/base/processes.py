"""Checks of the system resources that worker processes need, before the first worker starts."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import subprocess
import tempfile
from contextlib import suppress

from fiberscope.base.errors import InputError

ALONE = "--workers 1 runs all of it in one process"
SPARE_FILES = 16  # open files that the process needs for itself
SPACE_BYTES = 1 << 16  # in the folder of temporary files, for sockets, locks and logs


class StartError(InputError):
    """A process cannot be started. The message names the missing resource."""


def check_processes(workers: int, files_per_worker: int) -> None:
    """Check that worker processes can be started.

    A soft limit of open files that is too low is raised if the hard limit allows it.

    Args:
        workers: number of worker processes.
        files_per_worker: files and sockets that this process opens for each worker.

    Raises:
        StartError: open files, processes, shared memory or temporary files are too limited.
    """
    _check_files(workers * files_per_worker + SPARE_FILES)
    _check_temporary_files()
    _check_semaphores()
    _check_fork()


def _check_files(needed: int) -> None:
    """Check that this process can open ``needed`` more files; raise its soft limit if necessary."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        used = len(os.listdir("/proc/self/fd"))
    except OSError as error:
        if error.errno != errno.EMFILE:
            return  # a system without /proc
        used = soft  # the limit is reached: not even this folder can be opened
    if soft == resource.RLIM_INFINITY or used + needed <= soft:
        return
    total = used + needed
    if hard == resource.RLIM_INFINITY or hard >= total:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (total, hard))
            return
    raise StartError(
        f"workers cannot start: at most {soft} files may be open (ulimit -n), "
        f"and {total} are needed; raise the limit, or {ALONE}"
    )


def _check_temporary_files() -> None:
    try:
        with tempfile.NamedTemporaryFile(prefix="fiberscope-") as file:
            file.write(bytes(SPACE_BYTES))
            file.flush()
    except OSError as error:
        # ``tempfile`` raises ENOENT if it finds no folder; ``gettempdir`` would raise it again.
        folder = os.environ.get("TMPDIR", "/tmp") if error.errno == errno.ENOENT else tempfile.gettempdir()
        raise StartError(
            f"workers cannot start: no temporary file can be written in {folder} "
            f"({error.strerror}); name another folder in TMPDIR, or {ALONE}"
        ) from error


def _check_semaphores() -> None:
    try:
        multiprocessing.get_context("spawn").Lock()
    except OSError as error:
        raise StartError(
            f"workers cannot start: no semaphore can be made in /dev/shm ({error.strerror}); "
            f"make /dev/shm writable, or {ALONE}"
        ) from error


def _check_fork() -> None:
    try:
        subprocess.run(["true"], stdin=subprocess.DEVNULL, check=False, close_fds=False)
    except FileNotFoundError:
        return  # a system without the program true
    except OSError as error:
        raise StartError(
            f"workers cannot start: the system starts no process ({error.strerror}); "
            f"see ulimit -u, or {ALONE}"
        ) from error
