"""Names of the blocks of the catalogue, for checks of arguments where PyRTL is not installed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from fiberscope import hw

CONSTRUCTORS = ("unit", "composed", "RtlBlock")  # functions whose first argument is the name of a block


def read_block_names() -> list[str]:
    """Return the names of the catalogue's blocks from the source text of their modules, without an import."""
    folder = Path(hw.__path__[0])
    files = [folder / "rtl" / "kit" / "channel.py", *folder.rglob("*_rtl.py")]
    return [name for file in files for name in _names(ast.parse(file.read_text(encoding="utf-8")))]


def _names(module: ast.Module) -> Iterator[str]:
    """Yield the names of the blocks that a module defines and the catalogue lists."""
    for node in ast.walk(module):
        match node:
            case ast.Call(ast.Name(function), [ast.Constant(str(name)), *_], keywords) if (
                function in CONSTRUCTORS and all(keyword.arg != "listed" for keyword in keywords)
            ):
                yield name
