"""Results of a script in the mode of this process, compiled or uncompiled, and in the other mode."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fiberscope.sim import import_mode

ROOT = Path(__file__).parents[2]
SUPPORT = Path(__file__).parent


def other_mode(script: Path, *arguments: str) -> Any:
    """Run a script, which writes JSON to its standard output, in the other mode.

    Raises:
        AssertionError: if it fails, with what it wrote to its standard error.
    """
    return _run(script, arguments, uncompiled=not import_mode.uncompiled_requested())


def this_mode(script: Path, *arguments: str) -> Any:
    """Run a script in a separate process in the mode of this process; see ``other_mode``.

    Raises:
        AssertionError: if it fails, with what it wrote to its standard error.
    """
    return _run(script, arguments, uncompiled=import_mode.uncompiled_requested())


def _run(script: Path, arguments: Sequence[str], uncompiled: bool) -> Any:
    environment = {**os.environ, import_mode.VARIABLE: "1" if uncompiled else "0"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(SUPPORT)])
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
