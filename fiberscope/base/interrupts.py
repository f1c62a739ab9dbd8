"""Conversion of termination signals to Ctrl-C, so that a command keeps the results so far."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

TERMINATIONS = (signal.SIGTERM, signal.SIGHUP)  # from batch systems, and from closed terminals


@contextmanager
def interrupt_on_termination() -> Iterator[None]:
    """Let SIGTERM and SIGHUP act as Ctrl-C during the context, which has an effect in the main thread only.

    A signal that is ignored (``nohup``) or has a handler is unchanged.
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
