"""A machine of a user's."""

from pathlib import Path

import pytest


@pytest.fixture
def toy() -> str:
    """Its file."""
    return str(Path(__file__).parents[2] / "support" / "machines" / "toy" / "__init__.py")
