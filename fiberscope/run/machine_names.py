"""Names of the machines that ship, as a type: editors complete them."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["MachineName"]

MachineName: TypeAlias = Literal[
    "extensor", "gamma", "graphicionado", "outerspace", "sigma", "weight_stationary"
]
