"""A fixture that checks that tests restore signal handlers."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

NUMBERS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def handlers_kept() -> Iterator[None]:
    """Have the handlers of Ctrl-C and of SIGTERM be again what they were; only the main thread has any.

    Raises:
        AssertionError: one is not; it is put back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in NUMBERS}
    yield
    left = {number: signal.getsignal(number) for number in NUMBERS}
    for number, handler in before.items():
        if left[number] != handler:
            signal.signal(number, handler)
    assert left == before, "a handler of a signal is left behind"


@pytest.fixture(autouse=True)
def _handlers_are_kept() -> Iterator[None]:
    """Check that no test changes the handlers of Ctrl-C or SIGTERM."""
    with handlers_kept():
        yield


@pytest.fixture
def heeding() -> Iterator[None]:
    """Ctrl-C is heeded, also where the tests themselves run in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
