"""What a type of nodes or a format of levels means stands with it; nothing else asks for one by its name."""

import ast
from collections.abc import Iterator
from pathlib import Path

from fiberscope.models.graphs.levels import BY_NAME
from fiberscope.models.graphs.primitives import PRIMITIVES

NAMES = {*PRIMITIVES, *BY_NAME}
ROOT = Path(__file__).parents[4] / "fiberscope"
PLACES = ("models/graphs", "commands")
MOST = 20  # questions by string that are left, of which none may be added


def _constants(tree: ast.AST | None) -> Iterator[str]:
    """The names that a literal is or lists."""
    listed = tree.elts if isinstance(tree, ast.Tuple | ast.List | ast.Set) else [tree]
    yield from (str(part.value) for part in listed if isinstance(part, ast.Constant) and part.value in NAMES)


def _asked(node: ast.AST) -> Iterator[str]:
    """The names that one piece of a program compares with, matches, or has for keys of a dictionary."""
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
    text += 'g["format"] == "dense"\n'
    found = sorted(question.split()[-1] for question in questions(text))
    assert found == ["dense", "locate", "mul", "repeat", "union", "union"]
