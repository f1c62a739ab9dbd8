"""What the entries of a mapping and of its constraints have in common: the names that they use."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fiberscope.models.analytic.architecture import Architecture
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.schema import DirectiveSchema
from fiberscope.models.analytic.source import Place
from fiberscope.workloads.errors import nearest

__all__ = ["Names"]


class Names:
    """Finds levels, dimensions and tensors by name; what there is not is refused where it stands."""

    def __init__(self, architecture: Architecture, problem: Problem) -> None:
        self.problem = problem
        self.levels = [level.name for level in architecture.levels]
        self.tensors = [tensor.name for tensor in problem.tensors]

    def level(self, given: DirectiveSchema, place: Place) -> int:
        """The level that an entry is about."""
        name = given.target.partition("[")[0]
        if name not in self.levels:
            message = f"there is no level {given.target}; {nearest(given.target, self.levels)}"
            raise (place / "target").error(message)
        return self.levels.index(name)

    def dimension(self, name: str, place: Place) -> int:
        """A dimension of the problem."""
        if name not in self.problem.dimensions:
            raise place.error(f"there is no dimension {name}; {nearest(name, self.problem.dimensions)}")
        return self.problem.dimensions.index(name)

    def dimensions(self, names: Sequence[str], place: Place) -> list[int]:
        """Several, none of them twice."""
        found = [self.dimension(name, place) for name in names]
        if len(set(found)) < len(found):
            raise place.error(f"{' '.join(names)} has a dimension twice")
        return found

    def tensor(self, name: str, place: Place) -> int:
        """A data space of the problem."""
        if name not in self.tensors:
            raise place.error(f"there is no data space {name}; {nearest(name, self.tensors)}")
        return self.tensors.index(name)

    @staticmethod
    def factors(given: DirectiveSchema) -> list[str]:
        """The factors as they are written, of a list or of a text."""
        entries = given.factors or []
        texts = re.split(r"[\s,]+", entries.strip()) if isinstance(entries, str) else entries
        return [text for entry in texts if (text := entry.strip())]
