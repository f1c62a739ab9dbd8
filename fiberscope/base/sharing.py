"""A cache of results for the runs of one process, by key, with a memory limit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")


class _Entry(NamedTuple):
    result: Any
    size: int


class SharedResults:
    """A cache of results by key that evicts the least recently used result.

    Args:
        max_bytes: memory limit of all results. A larger result is not cached.

    Attributes:
        hits: number of calls of ``get`` that found their result.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.hits = 0
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Result], size: Callable[[Result], int]) -> Result:
        """Return the result of a key, computed on a miss.

        Args:
            key: everything on which the result depends, and the kind of the result.
            make: computes the result, which callers must not change.
            size: returns the bytes of a result.
        """
        if key in self._entries:
            self.hits += 1
            self._entries.move_to_end(key)
            entry: Result = self._entries[key].result
            return entry
        result = make()
        self._store(key, _Entry(result, size(result)))
        return result

    def _store(self, key: Hashable, entry: _Entry) -> None:
        if entry.size > self.max_bytes:
            return
        self._entries[key] = entry
        while sum(cached.size for cached in self._entries.values()) > self.max_bytes:
            self._entries.popitem(last=False)


_current: list[SharedResults] = []  # caches of this process, the innermost last


@contextmanager
def share_results(max_bytes: int) -> Iterator[SharedResults]:
    """Cache results for the runs of this process within a ``with`` statement.

    A nested statement has a cache of its own, and does not use the outer cache.

    Args:
        max_bytes: see ``SharedResults``.
    """
    _current.append(SharedResults(max_bytes))
    try:
        yield _current[-1]
    finally:
        _current.pop()


def shared(key: Hashable, make: Callable[[], Result], size: Callable[[Result], int]) -> Result:
    """Return the result of a key, see ``SharedResults.get``. Outside of ``share_results``, compute it."""
    return _current[-1].get(key, make, size) if _current else make()
