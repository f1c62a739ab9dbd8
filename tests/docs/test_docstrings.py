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


# First words that leave the reader to guess what the thing is or does.
REFUSED = {"What", "Of", "How", "Where", "That"}
PACKAGE = HERE / "fiberscope"


FOLDERS = sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__")


def refused_first_words(node, place=""):
    """Yield the docstrings of a module and its public classes, functions and methods with such a word."""
    docstring = ast.get_docstring(node) or ""
    if docstring and docstring.split()[0].strip(",.:;") in REFUSED:
        yield f"{place or 'module'}: {docstring.splitlines()[0]}"
    for part in [] if isinstance(node, ast.FunctionDef) else node.body:
        if isinstance(part, ast.ClassDef | ast.FunctionDef) and not re.match(r"_(?!_)", part.name):
            yield from refused_first_words(part, f"{place}.{part.name}".lstrip("."))


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_begin_with_a_verb_or_a_noun(folder):
    refused = {
        path: list(refused_first_words(ast.parse(path.read_text(encoding="utf-8"))))
        for path in (PACKAGE / folder).rglob("*.py")
    }
    assert {path: words for path, words in refused.items() if words} == {}


PLANTED = '''
"""What is read."""

class A:
    """A."""

    def f(self):
        """Of all."""

    def _g(self):
        """Of all."""
'''


def test_a_refused_first_word_is_seen():
    assert list(refused_first_words(ast.parse(PLANTED))) == ["module: What is read.", "A.f: Of all."]


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
