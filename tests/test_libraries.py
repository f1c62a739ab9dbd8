"""The libraries that the project's owner names are declared as dependencies and are in use."""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from syntax import nodes

ROOT = Path(__file__).parent.parent
SOURCES, TESTS = ROOT / "fiberscope", ROOT / "tests"
LIBRARIES = {  # what is installed: what is imported, and the folder of those that import it
    "pyrtl": ("pyrtl", SOURCES),
    "numpy": ("numpy", SOURCES),
    "scipy": ("scipy", SOURCES),
    "sortedcontainers": ("sortedcontainers", SOURCES),
    "pyvcd": ("vcd", SOURCES),
    "pytest": ("pytest", TESTS),
    "cocotb": ("cocotb", SOURCES),
}


def declared() -> set[str]:
    """The names of all requirements in pyproject.toml, those of extras among them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [one for extra in project["optional-dependencies"].values() for one in extra]
    return {re.split(r"[^\w-]", one, maxsplit=1)[0] for one in [*project["dependencies"], *extras]}


def imported(parts: Iterable[ast.AST]) -> Iterator[str]:
    """The packages that a file of Python imports, wherever in it."""
    for node in parts:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_of_the_owner_is_declared_and_imported(library: str) -> None:
    module, folder = LIBRARIES[library]
    assert library in declared()
    assert any(module in imported(nodes(path)) for path in folder.rglob("*.py"))


def test_planted_a_library_that_only_a_comment_or_a_string_names_is_not_imported() -> None:
    text = "# import numpy\nx = 'import scipy'\nfrom . import vcd\nimport os.path"
    assert set(imported(ast.walk(ast.parse(text)))) == {"os"}


def test_the_sorted_list_keeps_the_agenda_of_the_clock() -> None:
    packages = set(imported(nodes(SOURCES / "sim" / "clock.py")))
    assert "sortedcontainers" in packages
    assert "heapq" not in packages
