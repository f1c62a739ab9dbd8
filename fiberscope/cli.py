"""The entry of the command ``fiberscope``.

It handles Ctrl-C before it imports the rest, which takes most of the time of a short command.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

from fiberscope.base.errors import INTERRUPTED

__all__ = ["main", "run"]


def main() -> None:
    """Run the command line of the process, and end the process with its exit code."""
    is_handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not ignored, as by `nohup`
    if is_handled:
        signal.signal(signal.SIGINT, _leave)
    from fiberscope.commands.command_line import reduce_overhead

    reduce_overhead()
    if is_handled:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = run()
    if is_handled:
        signal.signal(signal.SIGINT, lambda *_: os._exit(code))  # all is written, and the user knows it
    raise SystemExit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; return the exit code, with what was wrong on stderr."""
    from fiberscope.commands.command_line import execute

    return execute(arguments)


def _leave(*_: object) -> None:
    """End the process during its imports: one that is broken off may raise anything."""
    os.write(2, b"fiberscope: interrupted before the command began; nothing was written\n")
    os._exit(INTERRUPTED)
