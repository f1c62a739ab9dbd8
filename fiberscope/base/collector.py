"""Pauses of Python's garbage collector, and a threshold for processes that only run machines."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

COLLECTION_THRESHOLD = 200_000  # new objects before a garbage collection; more than those of a run


@contextmanager
def pause_collector() -> Iterator[None]:
    """Pause the cyclic garbage collector while many long-lived objects are created.

    Each collection would visit all of them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
