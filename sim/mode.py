"""Compiled or uncompiled: which form of the engine's own files the interpreter imports.

Python prefers a compiled extension to the source file beside it. With ``FIBERSCOPE_UNCOMPILED=1`` a finder
placed first answers with their sources, so that the very same files run as plain Python.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from types import ModuleType

VARIABLE = "FIBERSCOPE_UNCOMPILED"


class _SourceFinder(MetaPathFinder):
    """Finds the source of a module of ``fiberscope``, never its extension."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is None or not fullname.startswith("fiberscope."):
            return None
        for folder in path:
            spec = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(fullname)
            if spec is not None:
                return spec
        return None


def uncompiled_requested() -> bool:
    """Whether the environment asks for the uncompiled engine."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def install() -> None:
    """Honour ``FIBERSCOPE_UNCOMPILED``; called once, before any module of the engine is imported."""
    if uncompiled_requested() and not any(isinstance(finder, _SourceFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _SourceFinder())


def compiled() -> bool:
    """Whether the running kernel is the compiled one."""
    kernel = sys.modules.get("fiberscope.sim.kernel")
    return kernel is not None and not str(kernel.__file__).endswith(".py")
