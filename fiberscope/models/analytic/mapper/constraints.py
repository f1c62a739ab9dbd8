"""What a user demands of mappings: bounds of loops, their order, and what a level keeps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.architecture import Architecture
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.read_mapping import Names
from fiberscope.models.analytic.schema import DirectiveSchema
from fiberscope.models.analytic.source import Place

__all__ = ["Constraints", "read_constraints"]

Whole = NDArray[np.int64]

_FACTOR = re.compile(r"(\w+?)\s*(<=|>=|==|=)\s*(\d+)")
_FREE, _KEPT, _BYPASSED = -1, 1, 0


@dataclass(frozen=True)
class Constraints:
    """Bounds of what mappings may be.

    Args:
        least, most: of the loops' bounds: 2 (temporal, spatial) x levels x dimensions.
        inner: of each level the dimensions that are innermost among its temporal loops, inner to outer.
        keep: 1 for kept, 0 for bypassed, -1 for free: levels x tensors.
    """

    least: Whole
    most: Whole
    inner: tuple[tuple[int, ...], ...]
    keep: Whole

    @classmethod
    def none(cls, architecture: Architecture, problem: Problem) -> Constraints:
        """Those of the machine alone: the outermost level keeps everything."""
        levels, dimensions = len(architecture.levels), len(problem.dimensions)
        keep = np.full((levels, len(problem.tensors)), _FREE)
        keep[0] = _KEPT
        bounds = np.array(problem.bounds, np.int64)
        most = np.broadcast_to(bounds, (2, levels, dimensions)).copy()
        return cls(np.ones_like(most), most, ((),) * levels, keep)


def read_constraints(
    given: Sequence[tuple[DirectiveSchema, Place]], architecture: Architecture, problem: Problem
) -> Constraints:
    """The constraints that are written in the same form as a mapping, with ``<=`` and ``>=`` for bounds.

    Raises:
        ConfigurationError: it names what there is not, or what cannot be had together.
    """
    reader = _Reader(architecture, problem)
    for one, place in given:
        reader.read(one, place)
    found = reader.found
    return Constraints(found.least, found.most, tuple(reader.inner), found.keep)


class _Reader(Names):
    def __init__(self, architecture: Architecture, problem: Problem) -> None:
        super().__init__(architecture, problem)
        self.found = Constraints.none(architecture, problem)
        self.inner: list[tuple[int, ...]] = list(self.found.inner)

    def read(self, given: DirectiveSchema, place: Place) -> None:
        level = self.level(given, place)
        if given.type in ("temporal", "spatial"):
            self._loops(level, given, place)
        elif given.type != "max_overbooked_proportion":
            self._kept(level, given, place)

    def _loops(self, level: int, given: DirectiveSchema, place: Place) -> None:
        kind = int(given.type == "spatial")
        for text in self.factors(given):
            self._factor(kind, level, text, place / "factors")
        if given.permutation is not None and not kind:
            self.inner[level] = tuple(self.dimensions(list(given.permutation), place / "permutation"))

    def _factor(self, kind: int, level: int, text: str, place: Place) -> None:
        match = _FACTOR.fullmatch(text)
        if match is None:
            raise place.error(f"a constraint is a dimension and its bound, as K=8, K<=8 or K>=2, not {text}")
        dimension, number = self.dimension(match[1], place), int(match[3])
        number = number or self.problem.bounds[dimension]  # 0 is the whole dimension
        if match[2] != ">=":
            self.found.most[kind, level, dimension] = number
        if match[2] != "<=":
            self.found.least[kind, level, dimension] = number

    def _kept(self, level: int, given: DirectiveSchema, place: Place) -> None:
        for key, value in (("keep", _KEPT), ("bypass", _BYPASSED)):
            for at, name in enumerate(getattr(given, key)):
                tensor = self.tensor(name, place / key / at)
                if level == 0 and value == _BYPASSED:
                    raise (place / key / at).error(
                        f"{self.levels[0]} is the outermost level and keeps everything"
                    )
                self.found.keep[level, tensor] = value
