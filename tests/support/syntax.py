"""Syntax trees of our files, which all laws of a process share: each file is parsed once."""

import ast
from functools import cache
from pathlib import Path

from fiberscope.base.collector import pause_collector


@cache
def tree(path: Path) -> ast.Module:
    """Return the tree of a file, which nobody changes."""
    with pause_collector():
        return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file's tree, in the order of ``ast.walk``."""
    return tuple(ast.walk(tree(path)))
