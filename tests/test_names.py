"""Names of variables and functions: nouns and verbs, no pronouns and bare participles."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "fiberscope"
REFUSED = {"one", "found", "given", "told", "made", "known"}
REFUSED_OF_MODULES = REFUSED | {"meanwhile", "beside", "spelt", "settled", "said", "of", "within", "behind"}
# Files in which wires of exported Verilog are named after such variables. The list may only become shorter.
NOT_YET = (
    "hw/fibers/pages_rtl.py",
    "hw/lanes/bitmap_rtl.py",
    "hw/rtl/kit/trees.py",
    "accelerators/gamma/scheduler_logic_rtl.py",
)
FILES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not any(path.is_relative_to(PACKAGE / folder) for folder in NOT_YET)
]


def refused_variables(tree: ast.Module) -> Iterator[str]:
    """Yield variables and arguments with a refused name, without the fields of classes."""
    fields = {
        id(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        for target in [statement.target]
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            name = node.id
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.alias | ast.ExceptHandler):
            name = (node.asname if isinstance(node, ast.alias) else node.name) or ""
        else:
            continue
        if name in REFUSED:
            yield f"line {getattr(node, 'lineno', 0)}: {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_variables_are_named_by_nouns(path):
    assert list(refused_variables(ast.parse(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_and_functions_are_named_by_what_they_are_or_do(path):
    assert path.stem not in REFUSED_OF_MODULES
    functions = [
        node.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    assert REFUSED_OF_MODULES.isdisjoint(functions)


def test_a_refused_name_is_reported_with_its_line():
    tree = ast.parse(
        "class A:\n    found: int\n    def f(self, given):\n        return [one for one in given]\n"
    )
    assert sorted(refused_variables(tree)) == ["line 3: given", "line 4: one"]


def test_every_file_that_keeps_its_names_exists():
    assert [folder for folder in NOT_YET if not (PACKAGE / folder).exists()] == []
