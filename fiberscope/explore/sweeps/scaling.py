"""The file ``scaling.yaml`` of a machine: its multipliers, and by which parameters the machine is scaled."""

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

__all__ = ["AREA", "RESOURCES", "Rule", "Scaling", "read_scaling"]

AREA = "area"
RESOURCES = ("multipliers", "bandwidth", AREA)  # that machines can have in the same amount
WHOLE = 1e-9  # deviation from a whole number that is taken for rounding
FILE = "scaling.yaml"


_Resource: TypeAlias = Literal["multipliers", "bandwidth", "area"]


class Rule(BaseModel):
    """Rule by which a machine is scaled to have more or less of a resource.

    Args:
        source: why these parameters.
        parameters: each is multiplied by the factor of the scaling to this power.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str = Field(min_length=20)
    parameters: dict[str, float] = Field(min_length=1)

    def scaled(self, values: Mapping[str, Any], factor: float) -> dict[str, int] | None:
        """Return the scaled parameters; None if one of them is not a whole number of at least 1.

        Args:
            values: the parameters of the machine, in base units.
            factor: of the resource.
        """
        numbers = {key: values[key] * factor**power for key, power in self.parameters.items()}
        scaled = {key: round(number) for key, number in numbers.items()}
        fits = all(abs(numbers[key] - whole) <= WHOLE * whole for key, whole in scaled.items())
        return scaled if fits else None


class Scaling(BaseModel):
    """The file of a machine.

    Args:
        multipliers: expression over the parameters: the values that are multiplied in a cycle.
        bandwidth: the same of the peak bandwidth of the memory, in bytes a second.
        same: the rule of each resource.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    multipliers: str | int = ""
    bandwidth: str | int = ""
    same: dict[_Resource, Rule] = {}

    def rule(self, resource: str) -> Rule | None:
        """Return the rule of a resource; None if the file has none."""
        return self.same.get(cast(_Resource, resource))

    def amount(self, resource: str, parameters: Mapping[str, object]) -> float | None:
        """Return the multipliers or the bandwidth of a machine; None without an expression."""
        text = str(self.bandwidth if resource == "bandwidth" else self.multipliers)
        return float(evaluate(_words(text), parameters, _complaint)) if text else None


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[str, ...]:
    return tuple(compile_expression(text, _complaint))


def _complaint(message: str) -> ConfigurationError:
    return ConfigurationError(f"{FILE}: {message}")


def read_scaling(folder: Path) -> Scaling:
    """Return the file of a machine's folder; an empty one if there is none.

    Raises:
        ConfigurationError: the file cannot be read, or has other keys; one line with its place.
    """
    path = folder / FILE
    return validate_document(Scaling, read_document(path)) if path.is_file() else Scaling()
