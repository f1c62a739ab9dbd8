"""Dependencies of compiled modules, from their sources alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from fiberscope.compiler.modules import Module, Modules


def find_compiled_imports(modules: Modules, roots: Iterable[str]) -> list[Module]:
    """Return the compiled modules among ``roots`` and among all their imports at import time.

    Args:
        modules: finds modules by name.
        roots: import names; unknown names are ignored.
    """
    modules_by_name: dict[str, Module] = {}
    names = list(roots)
    while names:
        name = names.pop()
        module = modules.find(name) if name else None
        if module is None or name in modules_by_name:
            continue
        modules_by_name[name] = module
        names += [name.rpartition(".")[0], *_iterate_imports(modules, module)]
    return [module for module in modules_by_name.values() if module.is_compiled or module.has_handwritten_pxd]


def _iterate_imports(modules: Modules, module: Module) -> Iterator[str]:
    """Yield the modules that a module imports; for a compiled module also those of its C types."""
    import_time_names = {
        alias
        for node in _import_time_statements(module.tree.body)
        for alias in _list_imported_names(module, node)
    }
    for module_name, name in {*import_time_names, *(module.imports.values() if module.is_compiled else ())}:
        yield from (module_name, f"{module_name}.{name}")
        package = modules.find(module_name)
        if package is not None and name in package.imports:  # possibly a lazy import
            yield package.imports[name][0]


def _import_time_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run at import, without class bodies."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from _import_time_statements([*node.body, *node.orelse])


def _list_imported_names(module: Module, node: ast.stmt) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.ImportFrom):
        yield from ((module.absolute_name(node), alias.name) for alias in node.names)
    if isinstance(node, ast.Import):
        yield from ((alias.name, "*") for alias in node.names)
