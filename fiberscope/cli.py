"""Entry point of the command ``fiberscope``.

Ctrl-C is handled before the imports, which take most of the time of a short command.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

from fiberscope.base.errors import INTERRUPTED


def main() -> None:
    """Run the command line of the process, and end the process with its exit code."""
    is_handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not ignored, as by `nohup`
    if is_handled:
        signal.signal(signal.SIGINT, _abort)
    from fiberscope.commands.command_line import configure_process

    configure_process()
    if is_handled:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = run()
    if is_handled:
        signal.signal(signal.SIGINT, lambda *_: os._exit(code))  # all output is written
    raise SystemExit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; print errors to stderr and return the exit code."""
    from fiberscope.commands.command_line import execute

    return execute(arguments)


def _abort(*_: object) -> None:
    """End the process during its imports, because an interrupted import may raise any exception."""
    os.write(2, b"fiberscope: interrupted before the command began; nothing was written\n")
    os._exit(INTERRUPTED)
