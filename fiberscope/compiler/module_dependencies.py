"""Which compiled modules others need, from their sources alone: none is run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from fiberscope.compiler.modules import Module, Modules

__all__ = ["needed"]


def needed(modules: Modules, roots: Iterable[str]) -> list[Module]:
    """The compiled modules among these and all that they import when they are imported.

    Args:
        modules: finds them by name.
        roots: their names; one that there is not is left out.
    """
    modules_by_name: dict[str, Module] = {}
    names = list(roots)
    while names:
        name = names.pop()
        module = modules.named(name) if name else None
        if module is None or name in modules_by_name:
            continue
        modules_by_name[name] = module
        names += [name.rpartition(".")[0], *_imports(modules, module)]
    return [module for module in modules_by_name.values() if module.compiled or module.by_hand]


def _imports(modules: Modules, module: Module) -> Iterator[str]:
    """Yield the modules that a module imports; for a compiled module also those of its C types."""
    at_once = {alias for node in _at_once(module.tree.body) for alias in _named(module, node)}
    for place, name in {*at_once, *(module.imported.values() if module.compiled else ())}:
        yield from (place, f"{place}.{name}")
        package = modules.named(place)
        if package is not None and name in package.imported:  # perhaps at first use
            yield package.imported[name][0]


def _at_once(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported, but not in its classes."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from _at_once([*node.body, *node.orelse])


def _named(module: Module, node: ast.stmt) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.ImportFrom):
        yield from ((module.absolute(node), alias.name) for alias in node.names)
    if isinstance(node, ast.Import):
        yield from ((alias.name, "*") for alias in node.names)
