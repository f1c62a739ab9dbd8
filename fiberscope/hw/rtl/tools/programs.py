"""Start external programs and extract their error messages."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def with_temporary_folder(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with a usable folder for temporary files.

    Raises:
        OSError: no folder is usable.
    """
    folder = tempfile.gettempdir()
    return {**environment, "TMPDIR": folder, "TMP": folder}


def run_program(
    command: Sequence[str], folder: Path | None = None, environment: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end and capture its output as text; the caller checks the exit code.

    Args:
        command: program and arguments.
        folder: working directory; None: that of this process.
        environment: environment variables. ``TMPDIR`` and ``TMP`` are replaced by a usable folder.

    Raises:
        OSError: the program does not start, or no folder for temporary files is usable.
    """
    return subprocess.run(
        command,
        cwd=folder,
        env=with_temporary_folder(environment),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def first_error(outcome: subprocess.CompletedProcess[str]) -> str | None:
    """Return the first output line that reports an error, or None without one."""
    lines = (outcome.stdout + outcome.stderr).splitlines()
    return next((line for line in lines if "ERROR" in line or "Error" in line), None)
