"""Names of the shipped machines, as a type for completion in editors."""

from __future__ import annotations

from typing import Literal, TypeAlias

MachineName: TypeAlias = Literal[
    "extensor", "gamma", "graphicionado", "outerspace", "sigma", "weight_stationary"
]
