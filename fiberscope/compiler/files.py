"""Writes the ``.pxd`` of compiled modules beside them, where the compiler looks for it."""

from __future__ import annotations

from collections.abc import Iterable

from fiberscope.compiler.declarations import declarations
from fiberscope.compiler.modules import WRITTEN, Module, Modules

__all__ = ["compiled_modules", "write"]


def compiled_modules(modules: Modules, names: Iterable[str]) -> list[Module]:
    """The modules among these that are compiled.

    Args:
        modules: finds them by name.
        names: what they are imported by.
    """
    compiled = [modules.named(name.removesuffix(".__init__")) for name in sorted(names)]
    return [module for module in compiled if module is not None and (module.compiled or module.by_hand)]


def write(modules: Modules, compiled: Iterable[Module]) -> None:
    """Write the C types of modules, but where they stand written by hand, or are there already."""
    for module in compiled:
        if not module.by_hand:
            text = f"{WRITTEN}{module.path.name}\n{declarations(modules, module)}"
            if not module.pxd.is_file() or module.pxd.read_text() != text:
                module.pxd.write_text(text)
