"""The file ``scaling.yaml`` of a machine: its multipliers, and by which parameters the machine is scaled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.references import compile_expression, evaluate
from fiberscope.accelerators.yaml_document import read_document
from fiberscope.accelerators.yaml_schema import validate_document

__all__ = ["Rule", "Scaling", "read_scaling"]

FILE = "scaling.yaml"


class Rule(BaseModel):
    """Rule by which a machine is scaled to have more or less of a resource.

    Args:
        source: why these parameters.
        parameters: each is multiplied by the factor of the scaling to this power.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str = Field(min_length=20)
    parameters: dict[str, float] = Field(min_length=1)


class Scaling(BaseModel):
    """The file of a machine.

    Args:
        multipliers: expression over the parameters: the values that are multiplied in a cycle.
        same: the rule of each resource.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    multipliers: str | int = ""
    same: dict[str, Rule] = {}

    def multipliers_of(self, parameters: Mapping[str, object]) -> float | None:
        """Return the multipliers of a machine with these parameters; None without an expression."""
        text = str(self.multipliers)
        return float(evaluate(_words(text), parameters, _complaint)) if text else None


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[str, ...]:
    return tuple(compile_expression(text, _complaint))


def _complaint(message: str) -> ConfigurationError:
    return ConfigurationError(f"{FILE}: multipliers: {message}")


def read_scaling(folder: Path) -> Scaling:
    """Return the file of a machine's folder; an empty one if there is none.

    Raises:
        ConfigurationError: the file cannot be read, or has other keys; one line with its place.
    """
    path = folder / FILE
    return validate_document(Scaling, read_document(path)) if path.is_file() else Scaling()
