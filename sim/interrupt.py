"""Ctrl-C during a run. Plain Python on purpose, see ``give_way``."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_interrupt(call: Callable[[], None]) -> Iterator[None]:
    """Have the first Ctrl-C call this; a second one acts as if there were no such context.

    Signals reach the main thread only: in any other thread this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, previous)
        call()

    previous = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def give_way() -> None:
    """Give a Ctrl-C that came in the meantime its chance.

    Python handles signals between bytecodes, and compiled code has none: unless it calls a function that
    has, such as this, Ctrl-C waits for the end of the run.
    """
