"""Handling of Ctrl-C during a run. This module is never compiled; see ``give_way``."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TERMINATIONS = (signal.SIGTERM, signal.SIGHUP)
_thread_callbacks: list[Callable[[], None]] = []  # of runs outside the main thread


@contextmanager
def on_interrupt(callback: Callable[[], None]) -> Iterator[None]:
    """Call ``callback`` at the first Ctrl-C within the context. A second Ctrl-C acts as outside the context.

    Termination signals that act as Ctrl-C do the same. Signals reach only the main thread. For a run in
    another thread, ``interrupt_elsewhere`` calls ``callback``.
    """
    if threading.current_thread() is not threading.main_thread():
        _thread_callbacks.append(callback)
        try:
            yield
        finally:
            _thread_callbacks.remove(callback)
        return
    redirected = [number for number in TERMINATIONS if signal.getsignal(number) is signal.default_int_handler]
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, *redirected)}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def interrupt(_number: int, _frame: object) -> None:
        restore()
        callback()

    for number in previous:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        restore()


def interrupt_elsewhere() -> None:
    """Interrupt the runs in other threads, for example inside an HDL simulator."""
    for callback in list(_thread_callbacks):
        callback()


def give_way() -> None:
    """Let Python handle a pending Ctrl-C.

    Python handles signals between bytecodes, and compiled code has no bytecodes. Without a call of an
    uncompiled function, Ctrl-C would wait for the end of the run.
    """
