"""Write the ``.pxd`` files beside compiled modules, and remove what a deleted module leaves."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from fiberscope.compiler.modules import WRITTEN, Module, Modules
from fiberscope.compiler.pxd_text import generate_pxd


def list_compiled_modules(modules: Modules, names: Iterable[str]) -> list[Module]:
    """Return the modules that are compiled.

    Args:
        modules: finds modules by name.
        names: import names.
    """
    compiled = [modules.find(name.removesuffix(".__init__")) for name in sorted(names)]
    return [
        module
        for module in compiled
        if module is not None and (module.is_compiled or module.has_handwritten_pxd)
    ]


def write(modules: Modules, compiled: Iterable[Module]) -> None:
    """Write the C types of modules, except for hand-written and unchanged files."""
    for module in compiled:
        if not module.has_handwritten_pxd:
            text = f"{WRITTEN}{module.path.name}\n{generate_pxd(modules, module)}"
            if not module.pxd.is_file() or module.pxd.read_text() != text:
                module.pxd.write_text(text)


def remove_orphans(package: Path, keep: str) -> None:
    """Remove compiled modules whose Python file was deleted, with their C and ``.pxd`` files.

    Python would import such a module as if its source still existed.

    Args:
        package: folder with compiled modules at any depth.
        keep: name, without packages, of the one module that never has a Python file.
    """
    suffix = EXTENSION_SUFFIXES[0]
    for compiled in package.rglob(f"*{suffix}"):
        module = compiled.with_name(compiled.name.removesuffix(suffix))
        if module.name != keep and not module.with_suffix(".py").exists():
            for leftover in (compiled, module.with_suffix(".c"), module.with_suffix(".pxd")):
                leftover.unlink(missing_ok=True)
