"""Constraints of a user on mappings: bounds and order of loops, and the tensors that a level keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fiberscope.models.analytic.architecture import Architecture
from fiberscope.models.analytic.arrays import Booleans, Integers
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.read_architecture import Directive
from fiberscope.models.analytic.read_mapping import DATA, Names
from fiberscope.models.analytic.schema import DirectiveSchema
from fiberscope.models.analytic.source import Location

_FREE, _KEPT, _BYPASSED = -1, 1, 0


@dataclass(frozen=True)
class Constraints:
    """Bounds of the mapspace.

    Args:
        least, greatest: smallest and largest number of iterations of each loop: 2 (temporal, spatial) x
            levels x dimensions.
        inner: for each level the dimensions of its innermost temporal loops, innermost first.
        keep: 1 for kept, 0 for bypassed, -1 for free: levels x tensors.
        on_y: for each level whether spatial loops use the mesh's Y axis, by dimension; None if free.
        reads_first: as of ``Mappings``.
    """

    least: Integers
    greatest: Integers
    inner: tuple[tuple[int, ...], ...]
    keep: Integers
    on_y: tuple[tuple[bool, ...] | None, ...]
    reads_first: Booleans

    @classmethod
    def none(cls, architecture: Architecture, problem: Problem) -> Constraints:
        """Return the constraints of the machine alone.

        The outermost level keeps all tensors. A level without storage keeps none and has no temporal loops.
        """
        levels, dimensions = len(architecture.levels), len(problem.dimensions)
        keep = np.full((levels, len(problem.tensors)), _FREE)
        keep[0] = _KEPT
        bounds = np.array(problem.bounds, np.int64)
        greatest = np.broadcast_to(bounds, (2, levels, dimensions)).copy()
        for number, level in enumerate(architecture.levels):
            if not level.stores:
                greatest[0, number], keep[number] = 1, _BYPASSED
        reads_first = np.zeros(keep.shape, np.bool_)
        return cls(np.ones_like(greatest), greatest, ((),) * levels, keep, (None,) * levels, reads_first)


def read_constraints(
    directives: Sequence[Directive], architecture: Architecture, problem: Problem
) -> Constraints:
    """Read constraints, which have the syntax of a mapping, with ``<=`` and ``>=`` for bounds.

    A later entry overrides an earlier entry about the same bound, order or tensor. Entries of other types
    than loops and data, such as ``utilization``, are ignored.

    Args:
        directives: entries of the file, each with its location for messages.
        architecture: names the levels.
        problem: names the dimensions and tensors.

    Raises:
        ConfigurationError: a name does not exist, a factor is malformed, or the outermost level should bypass
            a tensor. Bounds that contradict each other leave an empty mapspace (``Space.impossible``).
    """
    reader = _Reader(architecture, problem)
    for entry, location in directives:
        reader.read(entry, location)
    constraints = reader.constraints
    return replace(constraints, inner=tuple(reader.inner), on_y=tuple(reader.on_y))


class _Reader(Names):
    """Reader of the constraints of a mapper: bounds and orders of loops, kept and bypassed tensors."""

    example = "a constraint is a dimension and its bound, as K=8, K<=8 or K>=2"

    def __init__(self, architecture: Architecture, problem: Problem) -> None:
        super().__init__(architecture, problem)
        self.constraints = Constraints.none(architecture, problem)
        self.inner: list[tuple[int, ...]] = list(self.constraints.inner)
        self.on_y = list(self.constraints.on_y)

    def read(self, directive: DirectiveSchema, location: Location) -> None:
        level = self.level(directive, location)
        if directive.type in ("temporal", "spatial"):
            self._restrict_loops(level, directive, location)
        elif directive.type in DATA:
            self._restrict_data(level, directive, location)

    def _restrict_loops(self, level: int, directive: DirectiveSchema, location: Location) -> None:
        """Restrict the bounds, the order and the axes of the temporal or spatial loops of a level."""
        kind = int(directive.type == "spatial")
        for _text, dimension, relation, bound in self.factors(directive, location):
            dimension_bound = self.problem.bounds[dimension]
            # 0 is the whole dimension, and so is a larger number
            number = min(bound or dimension_bound, dimension_bound)
            # "=" sets both bounds
            if relation != ">=":
                self.constraints.greatest[kind, level, dimension] = number
            if relation != "<=":
                self.constraints.least[kind, level, dimension] = number
        order = self.permutation(directive.permutation or [], location / "permutation")
        if not kind:
            self.inner[level] = tuple(order) or self.inner[level]
        elif directive.split is not None:
            # dimensions that the permutation does not list go along Y, like those after the split
            along_x = order[: directive.split]
            self.on_y[level] = tuple(index not in along_x for index in range(len(self.problem.dimensions)))

    def _restrict_data(self, level: int, directive: DirectiveSchema, location: Location) -> None:
        for key, value in (("keep", _KEPT), ("bypass", _BYPASSED)):
            for index, name in enumerate(getattr(directive, key)):
                tensor = self.tensor(name, location / key / index)
                if level == 0 and value == _BYPASSED:
                    raise (location / key / index).error(
                        f"{self.levels[0]} is the outermost level and keeps everything"
                    )
                self.constraints.keep[level, tensor] = value
        self.constraints.reads_first[level, self.outputs_read_first(directive, location)] = True
