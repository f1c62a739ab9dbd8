"""The classes of accelerators that the paper compares, as restrictions of the search (``systems.yaml``).

A class allows some choices of formats, and has a kind of converter. The prediction of a class is that of its
best allowed choice. Source: the paper's Tables I and II.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from itertools import product
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from fiberscope.converters.sage.configuration import SageParameters
from fiberscope.converters.sage.kernels import Problem
from fiberscope.converters.sage.search import Choice, Prediction, rank
from fiberscope.workloads.errors import WorkloadError, suggest

OURS = "Flex_Flex_HW"

_Names = tuple[list[str], list[str]]  # of A, of B


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Allowed(_Data):
    mcf: _Names
    acf: _Names | None = None


class Published(_Data):
    """Published energy-delay product, relative to the paper's own design: geometric mean and maximum."""

    mean: float
    greatest: float


class System(_Data):
    """A class of accelerators.

    Attributes:
        name: name of the class, such as ``Flex_Flex_HW``.
        example: an accelerator of the class.
        converter: converter between MCF and ACF, as for ``search.rank``.
        allowed: products of allowed formats; empty if every choice is allowed.
        published: published results of the class, if any.
    """

    name: str
    example: str
    converter: Literal["none", "mint", "host"]
    allowed: list[_Allowed]
    published: Published | None = None

    def choices(self) -> Iterator[Choice] | None:
        """Return the allowed choices, each once per product that has it; None if every choice is allowed."""
        if not self.allowed:
            return None
        return (choice for each in self.allowed for choice in _expand_choices(each))


def _expand_choices(allowed: _Allowed) -> Iterator[Choice]:
    for mcf_a, mcf_b in product(*allowed.mcf):
        # Without ACFs, the array computes with the formats in memory, and nothing is converted
        for acf_a, acf_b in product(*(allowed.acf or ([mcf_a], [mcf_b]))):
            yield Choice(mcf_a, mcf_b, acf_a, acf_b)


@cache
def load_systems() -> dict[str, System]:
    """Return all classes by name, read once; the dictionary is shared, so do not change it."""
    text = resources.files("fiberscope.converters.sage").joinpath("systems.yaml").read_text(encoding="utf-8")
    return {name: System(name=name, **row) for name, row in yaml.safe_load(text).items()}


def find_system(name: str) -> System:
    """Return the class with a name.

    Raises:
        WorkloadError: if there is none; the error suggests the most similar names.
    """
    if name not in load_systems():
        raise WorkloadError(f"no class of accelerators is called {name!r}", fix=suggest(name, load_systems()))
    return load_systems()[name]


def find_best(system: System, problem: Problem, parameters: SageParameters) -> Prediction:
    """Return the best prediction of a class for a problem.

    Raises:
        WorkloadError: if the class allows no choice that the problem and the converter support.
    """
    return rank(problem, parameters, system.choices(), system.converter)[0]
