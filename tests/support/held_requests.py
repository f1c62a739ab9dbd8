"""A fixture that checks each memory request of each machine against the request's tensor."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import pytest

from fiberscope.accelerators.composition import Composition
from fiberscope.accelerators.request_check import RequestCheck, checked_requests

build = Composition.build


@contextmanager
def held() -> Iterator[list[RequestCheck]]:
    """Check each machine that is built in the context; finished machines to the end."""
    checks: list[RequestCheck] = []
    with ExitStack() as stack:

        def build_checked(machine: Composition) -> None:
            build(machine)
            heard = [hasattr(channel, "on_request") for channel in machine.channels]
            says = type(machine).layouts is not Composition.layouts  # plain models do not
            if says and heard and all(heard):
                checks.append(stack.enter_context(checked_requests(machine)))

        with patch.object(Composition, "build", build_checked):
            yield checks
        for check in checks:
            if _is_done(check.machine):
                check.finish()


def _is_done(machine: Composition) -> bool:
    done, work = machine.progress()
    channels = machine.kernel.wiring.channels
    return 0 < work == done and not any(channel.occupancy for channel in channels)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Check that every memory request in a test is within its tensor."""
    with held() as checks:
        yield
    if not item.get_closest_marker("astray"):
        faults = [fault for check in checks for fault in check.faults]
        assert faults == [], faults
