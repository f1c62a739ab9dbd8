"""Python's garbage collector, kept from visiting the objects of a large machine again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["frozen_objects", "paused_collector"]


@contextmanager
def paused_collector() -> Iterator[None]:
    """Collect no cyclic garbage while many objects are made that stay: each pass would visit all of them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def frozen_objects() -> Iterator[None]:
    """Leave all objects that exist out of collections, which then visit new objects alone."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
