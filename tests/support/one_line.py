"""Errors whose message is one line."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def one_line(kind: type[Exception] | tuple[type[Exception], ...], text: str) -> Iterator[None]:
    """Expect an error of a kind, whose message is one line that contains a text."""
    with pytest.raises(kind) as caught:
        yield
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
