"""A time limit for each test: a test that hangs fails, and the run goes on.

``FIBERSCOPE_TEST_SECONDS`` sets the limit in seconds, 600 by default; 0 turns it off. A slow test has six
times as long.
"""

import faulthandler
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

import pytest

VARIABLE, SECONDS, SLOW = "FIBERSCOPE_TEST_SECONDS", "600", 6
LAST = 1.5  # times the limit, when the process ends


class OverTimeLimit(BaseException):
    """A test takes too long. No ``Exception``: Hypothesis would try the example again."""


class TimeLimit:
    """A plugin of pytest that limits the setup, the call and the teardown of each test.

    At the limit, a signal raises ``OverTimeLimit`` in Python code. A compiled loop holds the interpreter, so
    no handler of signals runs. At 1.5 times the limit, ``faulthandler`` therefore prints the stacks of all
    threads and ends the process. pytest-xdist reports the test as failed, and starts another worker.

    Raises:
        pytest.UsageError: the variable is not a number of at least 0.
    """

    def __init__(self) -> None:
        text = os.environ.get(VARIABLE, SECONDS)
        try:
            self._seconds = float(text)
        except ValueError:
            self._seconds = -1
        if not 0 <= self._seconds < float("inf"):
            raise pytest.UsageError(
                f"{VARIABLE} is {text}; it should be a number of seconds, or 0 for no limit"
            )
        self._stderr = os.dup(2)  # where pytest does not capture it

    @contextmanager
    def _limited(self, item: pytest.Item) -> Generator[None]:
        seconds = self._seconds * (SLOW if item.get_closest_marker("slow") else 1)
        if not seconds or item.config.option.usepdb:
            yield
            return

        def stop(_number: int, _frame: FrameType | None) -> None:
            raise OverTimeLimit(f"not done after {seconds:g} s; {VARIABLE} is {self._seconds:g}")

        before = signal.signal(signal.SIGALRM, stop)
        faulthandler.dump_traceback_later(seconds * LAST, exit=True, file=self._stderr)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            self.pytest_enter_pdb()
            signal.signal(signal.SIGALRM, before)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        with self._limited(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        with self._limited(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        with self._limited(item):
            return (yield)

    def pytest_enter_pdb(self) -> None:
        """Stop both timers: whoever debugs a test takes time."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()

    def pytest_unconfigure(self) -> None:
        os.close(self._stderr)
