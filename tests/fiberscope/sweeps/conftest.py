"""One scheduler with two workers on the loopback, for all tests of sweeps."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TOY = str(Path(__file__).parents[2] / "support" / "machines" / "toy" / "__init__.py")
SMALL = "uniform:rows=20,cols=20,nonzeros=60"


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    pytest.importorskip("distributed", reason="the extra 'sweep' is not installed")
    from fiberscope.sweeps.clusters import Where, connected

    with connected(Where(workers=2)) as client:
        yield client


@pytest.fixture
def scheduler(client: Any) -> str:
    return str(client.scheduler.address)


@pytest.fixture
def toy() -> str:
    """The file of a machine of a user's."""
    return TOY


@pytest.fixture
def small() -> str:
    return SMALL
