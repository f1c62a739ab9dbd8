"""What a specification does not say of the machine that is built from it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from fiberscope.accelerators.configuration import Configuration

__all__ = ["SHIPPED", "MappedParameters", "Timing"]

SHIPPED = Path(__file__).parent / "config.yaml"


class Timing(Configuration):
    """The section ``timing``; ``config.yaml`` beside this file has it with units and sources."""

    tasks: int = Field(ge=1, le=2**16)
    dispatch: Literal["dynamic", "static"]
    depth: int = Field(ge=0, le=2**24)
    way: int = Field(ge=1, le=2**16)
    stages: int = Field(ge=1, le=8)

    @property
    def capacity(self) -> int | None:
        """Tokens that a channel holds; None without a bound."""
        return self.depth or None


class MappedParameters(Configuration):
    """The parameters of every machine that is built from a specification."""

    timing: Timing
