"""Formats of levels; a module with a format defines ``FORMAT``, and the package finds these modules itself.

Source: the storage of SAM (ASPLOS 2023), Section 3.1 and Figure 1; names and letters are those of the graph
files that its compiler writes (github.com/weiya711/sam).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from fiberscope.models.graphs.levels.level import LevelFormat

__all__ = ["BY_LETTER", "BY_NAME"]

BY_NAME: Mapping[str, LevelFormat] = {
    level.name: level
    for module in iter_modules(__path__, f"{__name__}.")
    if (level := getattr(import_module(module.name), "FORMAT", None)) is not None
}
BY_LETTER: Mapping[str, LevelFormat] = {
    letter: level for level in BY_NAME.values() for letter in level.letters
}
