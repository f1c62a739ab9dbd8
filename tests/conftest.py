"""Makes the helpers that all rooms' tests share importable: ``from memory_stub import MemoryStub``."""

import gc
import sys
from pathlib import Path

import pytest
from hypothesis import Phase, settings

sys.path.insert(0, str(Path(__file__).parent / "support"))

from commands import here, printed, refusal, run_command  # noqa: F401  (fixtures of all tests)
from kept_handlers import _handlers_are_kept, heeding  # noqa: F401  (fixtures of all tests)
from sweeps_here import sweeps_here  # noqa: F401
from time_limit import TimeLimit

from fiberscope.sim import import_mode

DEFAULT_RUN, SLOW_RUN, UNCOMPILED = 20, 200, 6


def pytest_configure(config: pytest.Config) -> None:
    """Properties are tried with few examples by default, and with many where slow tests run too.

    Failures are not explained: that phase runs hundreds of examples under a tracer.
    """
    examples = DEFAULT_RUN if "not slow" in config.option.markexpr else SLOW_RUN
    settings.register_profile(
        "here",
        max_examples=examples if import_mode.compiled() else UNCOMPILED,
        deadline=None,
        phases=[phase for phase in Phase if phase is not Phase.explain],
    )
    settings.load_profile("here")
    config.pluginmanager.register(TimeLimit())


def pytest_collection_finish() -> None:
    """Some ten thousand tests live as long as the process: the collector of garbage need not look at them.

    Nor need it look for cycles as often: each collection would visit the some 100,000 objects of a machine.
    """
    gc.freeze()
    gc.set_threshold(400_000, 5, 20)


def pytest_sessionfinish() -> None:
    """One collection of garbage at the end is enough; pytest makes five, each over all that is alive."""
    gc.collect()
    gc.freeze()
