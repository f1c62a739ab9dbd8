"""What a type of nodes means stands with the type: elsewhere nothing asks for one by its name."""

import ast
from collections.abc import Iterator
from pathlib import Path

from fiberscope.models.graphs.primitives import PRIMITIVES

ROOT = Path(__file__).parents[4] / "fiberscope"
PLACES = ("models/graphs", "commands")
MOST = 20  # questions by string that are left, of which none may be added


def _constants(tree: ast.AST | None) -> Iterator[str]:
    """The types that a literal is or lists."""
    listed = tree.elts if isinstance(tree, ast.Tuple | ast.List | ast.Set) else [tree]
    yield from (
        str(part.value) for part in listed if isinstance(part, ast.Constant) and part.value in PRIMITIVES
    )


def _asked(node: ast.AST) -> Iterator[str]:
    """The types that one piece of a program compares with, matches, or has for keys of a dictionary."""
    if isinstance(node, ast.Compare):
        for side in (node.left, *node.comparators):
            yield from _constants(side)
    elif isinstance(node, ast.MatchValue):
        yield from _constants(node.value)
    elif isinstance(node, ast.Dict):
        for key in node.keys:
            yield from _constants(key)
    elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Tuple | ast.Set):
        yield from _constants(node.value)  # a tuple to be compared with elsewhere


def questions(source: str) -> list[str]:
    """All of a text, each with its line."""
    return [
        f"{getattr(node, 'lineno', 0)}: {name}"
        for node in ast.walk(ast.parse(source))
        for name in _asked(node)
    ]


def test_no_question_by_name_but_these() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{question}"
        for place in PLACES
        for path in sorted((ROOT / place).rglob("*.py"))
        for question in questions(path.read_text(encoding="utf-8"))
    ]
    assert len(found) <= MOST, "\n".join([f"{len(found)} questions", *found])


def test_questions_are_found() -> None:
    text = 'a.type == "union"\nb in ("mul", "x")\nc = {"repeat": 1}\nD = ("locate", "union")\nf("union")\n'
    found = sorted(question.split()[-1] for question in questions(text))
    assert found == ["locate", "mul", "repeat", "union", "union"]
