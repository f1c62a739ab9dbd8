"""All rooms write their docstrings alike: code in double backticks, sections under their headings."""

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]
ROOMS = ("fiberscope",)  # which holds the others
SINGLE = re.compile(r"(?<!`)`[^`]+`(?!`)")
IN_RUNNING_TEXT = re.compile(r"(?:Raises|raises|Returns) [A-Z]\w*(?:Error|:)")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def faults(text):
    found = [*SINGLE.findall(text), *IN_RUNNING_TEXT.findall(text)]
    return [f"{fault} in {text.splitlines()[0]!r}" for fault in found]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_writes_as_the_others_do(room):
    wrong = [
        file
        for file in (HERE / room).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, DOCUMENTED) and faults(ast.get_docstring(node) or "")
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    ["The rows of `matrix`.", "Raises WorkloadError: no such file.", "Refuses it: raises ValueError."],
)
def test_another_way_is_seen(text):
    assert faults(text)
