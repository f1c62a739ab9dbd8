"""Writer of the ``.pxd`` files beside compiled modules."""

from __future__ import annotations

from collections.abc import Iterable

from fiberscope.compiler.declarations import declarations
from fiberscope.compiler.modules import WRITTEN, Module, Modules


def compiled_modules(modules: Modules, names: Iterable[str]) -> list[Module]:
    """Return the modules that are compiled.

    Args:
        modules: finds modules by name.
        names: import names.
    """
    compiled = [modules.named(name.removesuffix(".__init__")) for name in sorted(names)]
    return [module for module in compiled if module is not None and (module.compiled or module.by_hand)]


def write(modules: Modules, compiled: Iterable[Module]) -> None:
    """Write the C types of modules, except for hand-written and unchanged files."""
    for module in compiled:
        if not module.by_hand:
            text = f"{WRITTEN}{module.path.name}\n{declarations(modules, module)}"
            if not module.pxd.is_file() or module.pxd.read_text() != text:
                module.pxd.write_text(text)
