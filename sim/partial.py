"""Files under construction, beside their final place, named after the process that makes them."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path

__all__ = ["ENDING", "partial", "remove_abandoned"]

ENDING = ".partial"


def partial(path: Path, ending: str = "") -> Path:
    """The name under which this process makes a file; ``ending`` tells several for one file apart."""
    return path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}{ending}{ENDING}")


def remove_abandoned(path: Path) -> None:
    """Remove what processes of this host left of this file and, being dead, cannot remove themselves."""
    start = f".{path.name}.{platform.node()}."
    with suppress(OSError):  # a folder that cannot be read is found out about elsewhere
        for other in path.parent.iterdir():
            if other.name.startswith(start) and other.name.endswith(ENDING):
                process = other.name[len(start) :].partition(".")[0]
                if process.isdecimal() and _is_dead(int(process)):
                    other.unlink(missing_ok=True)


def _is_dead(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # another user's, so it lives
        return False
    return False
