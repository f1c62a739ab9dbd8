"""Ctrl-C during a run. Plain Python on purpose, see ``give_way``."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TERMINATIONS = (signal.SIGTERM, signal.SIGHUP)
_elsewhere: list[Callable[[], None]] = []  # of runs in other threads than the one that signals reach


@contextmanager
def on_interrupt(call: Callable[[], None]) -> Iterator[None]:
    """Have the first Ctrl-C call this; a second one acts as if there were no such context.

    So do signals that would end the process, where they have been made to act as Ctrl-C does.
    Signals reach the main thread only: in any other thread ``interrupt_elsewhere`` calls this.
    """
    if threading.current_thread() is not threading.main_thread():
        _elsewhere.append(call)
        try:
            yield
        finally:
            _elsewhere.remove(call)
        return
    alike = [number for number in TERMINATIONS if signal.getsignal(number) is signal.default_int_handler]
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, *alike)}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def interrupt(_number: int, _frame: object) -> None:
        restore()
        call()

    for number in previous:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        restore()


def interrupt_elsewhere() -> None:
    """Call what is to be called on Ctrl-C in other threads, as within an HDL simulator."""
    for call in list(_elsewhere):
        call()


def give_way() -> None:
    """Give a Ctrl-C that came in the meantime its chance.

    Python handles signals between bytecodes, and compiled code has none: unless it calls a function that
    has, such as this, Ctrl-C waits for the end of the run.
    """
