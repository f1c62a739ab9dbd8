"""The primitives of the Sparse Abstract Machine, as node types of a graph.

Each module of this package lists its node types in ``TYPES``; the package finds all modules by itself.

Source: O. Hsu et al., "The Sparse Abstract Machine", ASPLOS 2023, Section 3; types, attributes, labels and
colours are those of the graph files that its compiler writes (github.com/weiya711/sam).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

from fiberscope.models.graphs.primitives.primitive import Primitive

__all__ = ["PRIMITIVES"]


def _primitives() -> Iterator[Primitive]:
    for module in iter_modules(__path__, f"{__name__}."):
        yield from getattr(import_module(module.name), "TYPES", ())


PRIMITIVES: Mapping[str, Primitive] = {primitive.type: primitive for primitive in _primitives()}
