"""The check that no test leaves another handler of a signal behind finds one that does."""

import signal

import pytest
from kept_handlers import NUMBERS, handlers_kept


@pytest.mark.parametrize("number", NUMBERS)
def test_a_handler_that_is_left_behind_is_found_and_put_back(number):
    before = signal.getsignal(number)
    with pytest.raises(AssertionError, match="a handler of a signal is left behind"), handlers_kept():
        signal.signal(number, lambda _number, _frame: None)
    assert signal.getsignal(number) is before


def test_one_that_is_put_back_is_none():
    with handlers_kept():
        before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, before)
    assert signal.getsignal(signal.SIGTERM) == before
