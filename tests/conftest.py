"""Makes the helpers that all rooms' tests share importable: ``from memory_stub import MemoryStub``."""

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))

from kept_handlers import _handlers_are_kept, heeding  # noqa: F401  (fixtures of all tests)


def pytest_collection_finish() -> None:
    """Some ten thousand tests live as long as the process: the collector of garbage need not look at them."""
    gc.freeze()
