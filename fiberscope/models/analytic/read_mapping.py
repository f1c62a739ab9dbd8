"""The section ``mapping``: which loops run where, and what is kept there; the names that its entries use."""

from __future__ import annotations

import re
from collections.abc import Mapping as Map
from collections.abc import Sequence

import numpy as np

from fiberscope.models.analytic.architecture import Architecture
from fiberscope.models.analytic.mapping import Mapping
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.schema import DirectiveSchema
from fiberscope.models.analytic.source import Place
from fiberscope.workloads.errors import nearest

__all__ = ["Names", "read_mapping"]

_FACTOR = re.compile(r"(\w+)\s*(<=|>=|=|==)?\s*(-?\d+)")


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


def read_mapping(
    given: Sequence[DirectiveSchema],
    place: Place,
    architecture: Architecture,
    problem: Problem,
    notes: list[str],
) -> Mapping:
    """A mapping of a problem on a machine; what is not said is one iteration, and kept.

    Raises:
        ConfigurationError: it names what there is not, or its loops do not make the problem's bounds.
    """
    reader = _Reader(architecture, problem, notes)
    for number, one in enumerate(given):
        reader.read(one, place / number)
    reader.fill_in(place)
    return Mapping(
        reader.temporal,
        reader.spatial,
        reader.order,
        reader.across,
        reader.on_y,
        reader.keep,
        reader.reads_first if reader.reads_first.any() else None,
    )


class _Reader(Names):
    def __init__(self, architecture: Architecture, problem: Problem, notes: list[str]) -> None:
        super().__init__(architecture, problem)
        self.notes = notes
        shape = len(self.levels), len(problem.dimensions)
        self.temporal, self.spatial = np.ones(shape, np.int64), np.ones(shape, np.int64)
        plain = np.tile(np.arange(shape[1]), (shape[0], 1))
        self.order, self.across = plain.copy(), plain.copy()
        self.on_y = np.zeros(shape, np.bool_)
        self.keep = np.ones((shape[0], len(problem.tensors)), np.bool_)
        self.reads_first = np.zeros_like(self.keep)
        self.whole: list[tuple[np.ndarray, int, int]] = []  # bounds that take what is left

    def read(self, given: DirectiveSchema, place: Place) -> None:
        level = self.level(given, place)
        if given.remainders is not None:
            raise (place / "remainders").error(
                "loops with a remainder are not modelled; leave remainders out"
            )
        if given.type in ("temporal", "spatial"):
            self.loops(level, given, place)
        elif given.type != "max_overbooked_proportion":
            self.kept(level, given, place)

    def loops(self, level: int, given: DirectiveSchema, place: Place) -> None:
        spatial = given.type == "spatial"
        bounds, orders = (self.spatial, self.across) if spatial else (self.temporal, self.order)
        for dimension, factor in self.bounds(given, place / "factors").items():
            if factor == 0:
                self.whole.append((bounds, level, dimension))
            bounds[level, dimension] = max(factor, 1)
        if given.permutation is not None:
            orders[level] = self.permutation(given.permutation, place / "permutation")
        if spatial and given.split is not None:
            self.on_y[level, orders[level][given.split :]] = True

    def bounds(self, given: DirectiveSchema, place: Place) -> Map[int, int]:
        found: dict[int, int] = {}
        for text in self.factors(given):
            match = _FACTOR.fullmatch(text)
            if match is None or match[2] not in ("=", "==", None):
                raise place.error(f"a factor of a mapping is a dimension and its bound, as K=8, not {text}")
            name = match[1] if match[2] else match[1].rstrip("0123456789")
            number = int(match[3]) if match[2] else int((match[1] + match[3])[len(name) :])
            dimension = self.dimension(name, place)
            if number < 0 or number >= 1 << 53:
                raise place.error(f"{text}: a bound is a whole number, and 0 for the whole dimension")
            if dimension in found:
                raise place.error(f"{name} has two factors; leave one out")
            found[dimension] = number
        return found

    def permutation(self, given: str | list[str], place: Place) -> list[int]:
        """Dimensions inner to outer; those that are not named go outside."""
        found = self.dimensions(self.letters(given, place) if isinstance(given, str) else given, place)
        return [*found, *(one for one in range(len(self.problem.dimensions)) if one not in found)]

    def letters(self, given: str, place: Place) -> list[str]:
        if re.search(r"[\s,]", given.strip()):
            return [name for name in re.split(r"[\s,]+", given.strip()) if name]
        if all(len(name) == 1 for name in self.problem.dimensions):
            self.note(f"permutations such as {given} are read as single letters, inner to outer")
            return list(given)
        if given in self.problem.dimensions:
            return [given]
        raise place.error(
            f"{given} could be several dimensions; write a list, as [{', '.join(self.problem.dimensions)}]"
        )

    def note(self, text: str) -> None:
        if not any("read as single letters" in one for one in self.notes):
            self.notes.append(text)

    def kept(self, level: int, given: DirectiveSchema, place: Place) -> None:
        for key, kept in (("keep", True), ("bypass", False)):
            for at, name in enumerate(getattr(given, key)):
                self.keep[level, self.tensor(name, place / key / at)] = kept
        for at, name in enumerate(given.rmw_first_update):
            self.reads_first[level, self.tensor(name, place / "rmw_first_update" / at)] = True
        for key in ("no_coalesce", "no_reuse", "no_link_transfer"):
            if getattr(given, key):
                self.notes.append(f"{key} is not modelled: every tile is reused as its loops allow")
        if not self.keep[0].all():
            raise (place / "bypass").error(
                f"{self.levels[0]} is the outermost level and has to keep everything"
            )

    def fill_in(self, place: Place) -> None:
        """Give the bounds of 0 what is left, and see that all make the problem's."""
        for bounds, level, dimension in self.whole:
            made = int((self.temporal[:, dimension] * self.spatial[:, dimension]).prod())
            bounds[level, dimension] = max(self.problem.bounds[dimension] // max(made, 1), 1)
        for dimension, name in enumerate(self.problem.dimensions):
            factors = [int(one) for one in (self.temporal * self.spatial)[:, dimension]]
            made, bound = int(np.prod(factors, dtype=object)), self.problem.bounds[dimension]
            if made != bound:
                message = f"the loops over {name} make {made:,} iterations, and the problem has {bound:,}"
                raise place.error(message)
