"""Files under 400 lines and functions of at most 50, in everything we write."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from syntax import nodes

ROOT = Path(__file__).parent.parent
FOLDERS = ("fiberscope", "published", "benchmarks", "examples", "tests")
MOST_LINES_A_FILE = 400
MOST_LINES_A_FUNCTION = 50


def too_long(name: str, lines: int, parts: Iterable[ast.AST]) -> Iterator[str]:
    """What in a file is longer than it may be."""
    if lines > MOST_LINES_A_FILE:
        yield f"{name} has {lines} lines"
    for node in parts:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MOST_LINES_A_FUNCTION:
                yield f"{name}:{node.lineno} {node.name} has {length} lines"


@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_is_too_long(folder: str) -> None:
    found = [
        fault
        for file in sorted((ROOT / folder).rglob("*.py"))
        for fault in too_long(str(file.relative_to(ROOT)), file.read_bytes().count(b"\n"), nodes(file))
    ]
    assert found == []


def test_a_planted_long_file_and_function_are_found() -> None:
    source = "def f():\n" + "    pass\n" * MOST_LINES_A_FILE
    assert list(too_long("x.py", source.count("\n"), ast.walk(ast.parse(source)))) == [
        "x.py has 401 lines",
        "x.py:1 f has 401 lines",
    ]
