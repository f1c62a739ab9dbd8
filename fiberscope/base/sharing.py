"""Results that the runs of one process share: kept by their content, with a limit on their memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

__all__ = ["SharedResults", "shared", "sharing"]

Result = TypeVar("Result")


class _Kept(NamedTuple):
    result: Any
    size: int


class SharedResults:
    """Results by key, of which the least recently used are dropped.

    Args:
        most_bytes: that all results take together; a larger result is not kept.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.hits = 0
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Result], size: Callable[[Result], int]) -> Result:
        """Return the result of a key, made if it is not there.

        Args:
            key: says all that the result depends on.
            make: the result, which nobody may change.
            size: bytes that a result takes.
        """
        if key in self._kept:
            self.hits += 1
            self._kept.move_to_end(key)
            kept: Result = self._kept[key].result
            return kept
        result = make()
        self._keep(key, _Kept(result, size(result)))
        return result

    def _keep(self, key: Hashable, kept: _Kept) -> None:
        if kept.size > self.most_bytes:
            return
        self._kept[key] = kept
        while sum(each.size for each in self._kept.values()) > self.most_bytes:
            self._kept.popitem(last=False)


_current: list[SharedResults] = []  # of this process, the innermost last


@contextmanager
def sharing(most_bytes: int) -> Iterator[SharedResults]:
    """Let the runs of this process share results for the time of a ``with`` statement.

    Args:
        most_bytes: as of ``SharedResults``.
    """
    _current.append(SharedResults(most_bytes))
    try:
        yield _current[-1]
    finally:
        _current.pop()


def shared(key: Hashable, make: Callable[[], Result], size: Callable[[Result], int]) -> Result:
    """Return the result of a key as of ``SharedResults.get``; without ``sharing`` it is made each time."""
    return _current[-1].get(key, make, size) if _current else make()
