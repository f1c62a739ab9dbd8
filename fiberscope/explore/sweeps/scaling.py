"""File ``scaling.yaml`` of a machine: its multipliers, its bandwidth, and its scaling rules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.references import compile_expression, evaluate
from fiberscope.accelerators.yaml_document import read_document
from fiberscope.accelerators.yaml_schema import validate_document

AREA = "area"
RESOURCES = ("multipliers", "bandwidth", AREA)  # resources that can be equalized
ROUNDING = 1e-9  # relative error that counts as rounding of an integer
FILE = "scaling.yaml"

_Resource: TypeAlias = Literal["multipliers", "bandwidth", "area"]


class Rule(BaseModel):
    """Rule that scales a machine's amount of a resource.

    Args:
        source: the reason for these parameters.
        parameters: exponents by parameter; a parameter is multiplied by the scaling factor to this power.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str = Field(min_length=20)
    parameters: dict[str, float] = Field(min_length=1)

    def scale_parameters(self, values: Mapping[str, Any], factor: float) -> dict[str, int] | None:
        """Return the scaled parameters; None unless all are integers.

        A positive parameter is never scaled to 0.

        Args:
            values: the parameters of the machine, in base units.
            factor: the factor of the resource.
        """
        numbers = {key: values[key] * factor**power for key, power in self.parameters.items()}
        scaled = {key: round(number) for key, number in numbers.items()}
        # The tolerance is relative, and so 0 for an integer of 0: a small fraction is not rounded to 0
        are_integers = all(
            abs(numbers[key] - integer) <= ROUNDING * integer for key, integer in scaled.items()
        )
        return scaled if are_integers else None


class Scaling(BaseModel):
    """The content of ``scaling.yaml``.

    Args:
        multipliers: multiplications per cycle, as an expression over the parameters.
        bandwidth: peak bandwidth of the memory in bytes per second, as an expression.
        same: the rule of each resource.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    multipliers: str | int = ""
    bandwidth: str | int = ""
    same: dict[_Resource, Rule] = {}

    def rule(self, resource: str) -> Rule | None:
        """Return the rule of a resource; None if the file has none."""
        return self.same.get(cast(_Resource, resource))

    def compute_amount(self, resource: str, parameters: Mapping[str, object]) -> float | None:
        """Return the multipliers or the bandwidth of a machine; None if the file has no expression for it.

        The area has no expression: it follows from the costs.

        Args:
            resource: ``multipliers`` or ``bandwidth``.
            parameters: the parameters of the machine, in base units.

        Raises:
            ConfigurationError: the expression is invalid, or has an unknown name.
        """
        text = str(self.bandwidth if resource == "bandwidth" else self.multipliers)
        return float(evaluate(_compile_expression(text), parameters, _build_scaling_error)) if text else None


@lru_cache(maxsize=64)
def _compile_expression(text: str) -> tuple[str, ...]:
    return tuple(compile_expression(text, _build_scaling_error))


def _build_scaling_error(message: str) -> ConfigurationError:
    return ConfigurationError(f"{FILE}: {message}")


def read_scaling(folder: Path) -> Scaling:
    """Read the file of a machine's folder; without a file, return an empty scaling.

    Raises:
        ConfigurationError: the file cannot be read, or has unknown keys; one line with the position.
    """
    path = folder / FILE
    return validate_document(Scaling, read_document(path)) if path.is_file() else Scaling()
