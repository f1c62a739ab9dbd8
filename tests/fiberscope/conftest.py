"""The toy accelerator, found as every accelerator is; the helpers of these tests are importable."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fiberscope import accelerators

MACHINES = Path(__file__).parent.parent / "support" / "machines"
sys.path.insert(0, str(Path(__file__).parent / "support"))


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(accelerators, "__path__", [*accelerators.__path__, str(MACHINES)])
    yield "toy"
    sys.modules.pop("fiberscope.accelerators.toy", None)
