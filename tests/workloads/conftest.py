"""Every test here sees an empty data path, a cache of its own, and no network beyond this machine."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))

GIVEN_DATA = os.environ.get("FIBERSCOPE_DATA", "")


@pytest.fixture(autouse=True)
def _own_surroundings(request, monkeypatch, tmp_path):
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FIBERSCOPE_OFFLINE", "1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    if request.node.get_closest_marker("real"):
        monkeypatch.setenv("FIBERSCOPE_DATA", GIVEN_DATA)
    else:
        monkeypatch.delenv("FIBERSCOPE_DATA", raising=False)
