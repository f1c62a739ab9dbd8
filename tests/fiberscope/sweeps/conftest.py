"""Where the tests of sweeps run them: a worker in the process itself, or processes of a cluster."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sweeps_here import worker_here

TOY = str(Path(__file__).parents[2] / "support" / "machines" / "toy" / "__init__.py")
SMALL = "uniform:rows=20,cols=20,nonzeros=60"


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """Of a worker in this process: what processes of workers do is told by tests of ``workers``."""
    pytest.importorskip("distributed", reason="the extra 'sweep' is not installed")
    with worker_here() as client:
        yield client


@pytest.fixture(scope="session")
def scheduler(client: Any) -> str:
    return str(client.scheduler.address)


@pytest.fixture(scope="session")
def workers() -> Iterator[Any]:
    """The client of a real scheduler with two processes of workers."""
    pytest.importorskip("distributed", reason="the extra 'sweep' is not installed")
    from fiberscope.explore.sweeps.clusters import connect_workers
    from fiberscope.explore.sweeps.executors import ExecutorChoice

    with connect_workers(ExecutorChoice(workers=2)) as client:
        yield client


@pytest.fixture
def toy() -> str:
    """The file of a machine of a user's."""
    return TOY


@pytest.fixture(scope="session")
def small() -> str:
    return SMALL
