"""Signals that would end the command at once, and with it all that a run has reached."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["terminations_interrupt"]

TERMINATIONS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def terminations_interrupt() -> Iterator[None]:
    """Have SIGTERM and SIGHUP act as Ctrl-C, as batch systems and closed terminals send them.

    One that is ignored, as under ``nohup``, or handled already, stays as it is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    changed = [number for number in TERMINATIONS if signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)
