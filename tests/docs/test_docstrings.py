"""All rooms write their docstrings alike: code in double backticks, sections under their headings."""

import ast
import re
from pathlib import Path

import pytest
from syntax import tree

HERE = Path(__file__).parents[2]
SINGLE = re.compile(r"(?<!`)`[^`]+`(?!`)")
IN_RUNNING_TEXT = re.compile(r"(?:Raises|raises|Returns) [A-Z]\w*(?:Error|:)")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def faults(text):
    found = [*SINGLE.findall(text), *IN_RUNNING_TEXT.findall(text)]
    return [f"{fault} in {text.splitlines()[0]!r}" for fault in found]


# First words that leave the reader to guess what the thing is or does.
REFUSED = {"What", "Of", "How", "Where", "That", "Whether"}
PACKAGE = HERE / "fiberscope"


FOLDERS = sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__")


@pytest.fixture(scope="module")
def trees():
    """All modules of the package by name, parsed."""
    return {
        ".".join(path.relative_to(HERE).with_suffix("").parts).removesuffix(".__init__"): tree(path)
        for path in PACKAGE.rglob("*.py")
    }


def refused_first_words(node, place=""):
    """Yield the docstrings of a module, its classes and its functions, private or not, with such a word."""
    docstring = ast.get_docstring(node) or "" if isinstance(node, DOCUMENTED) else ""
    if docstring and docstring.split()[0].strip(",.:;") in REFUSED:
        yield f"{place or 'module'}: {docstring.splitlines()[0]}"
    for part in (part for part in ast.iter_child_nodes(node) if isinstance(part, ast.stmt)):
        name = part.name if isinstance(part, ast.ClassDef | ast.FunctionDef) else ""
        yield from refused_first_words(part, f"{place}.{name}".strip("."))


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_begin_with_a_verb_or_a_noun(folder, trees):
    inside = {name: tree for name, tree in trees.items() if f"{name}.".startswith(f"fiberscope.{folder}.")}
    refused = {name: list(refused_first_words(tree)) for name, tree in inside.items()}
    assert inside
    assert {name: words for name, words in refused.items() if words} == {}


PLANTED = '''
"""What is read."""

class A:
    """A."""

    def f(self):
        """Of all."""

    def _g(self):
        """Whether it is all."""
'''


def test_a_refused_first_word_is_seen():
    assert list(refused_first_words(ast.parse(PLANTED))) == [
        "module: What is read.",
        "A.f: Of all.",
        "A._g: Whether it is all.",
    ]


def test_a_room_writes_as_the_others_do(trees):
    wrong = [
        name
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, DOCUMENTED) and faults(ast.get_docstring(node) or "")
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text", ["The rows of `matrix`.", "Raises WorkloadError: no such file.", "Refuses it: raises ValueError."]
)
def test_another_way_is_seen(text):
    assert faults(text)


ARGUMENTS = re.compile(r"^Args:\n((?: {4}.*\n?|\n)*)", re.MULTILINE)


def parameters(function):
    arguments = function.args
    named = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ]
    return {argument.arg for argument in named if argument} - {"self", "cls"}


def resolve(name, module, trees):
    """Return the class that a name means in a module, and the module that defines the class."""
    tree = trees.get(module, ast.Module([]))
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef) and statement.name == name:
            return statement, module
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    return resolve(alias.name, statement.module, trees)
    return None, module


def fields(kind, module, trees):
    """Return the parameters of ``__init__`` and the annotated fields of a class and its bases."""
    names = set()
    for part in kind.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            names.add(part.target.id)
        if isinstance(part, ast.FunctionDef) and part.name in {"__init__", "__new__"}:
            names |= parameters(part)
    for written in kind.bases:
        base = written.value if isinstance(written, ast.Subscript) else written
        if isinstance(base, ast.Name):
            parent, origin = resolve(base.id, module, trees)
            names |= fields(parent, origin, trees) if parent else set()
    return names


def documented_arguments(docstring):
    """Yield the names under ``Args:``; a line that names no argument is yielded whole."""
    section = ARGUMENTS.search(docstring)
    for line in section[1].splitlines() if section else ():
        if re.match(r" {4}\S", line):
            entry = re.match(r" {4}([*\w, ]+):(?: |$)", line)
            yield from re.split(", ", entry[1].replace("*", "")) if entry else [line.strip()]


def unknown_arguments(module, trees):
    """Yield each documented argument of a function or class of a module that its signature lacks."""
    for node in ast.walk(trees[module]):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            documented = list(documented_arguments(ast.get_docstring(node) or ""))
            if documented:
                known = fields(node, module, trees) if isinstance(node, ast.ClassDef) else parameters(node)
                yield from (f"{module}.{node.name}: {name}" for name in documented if name not in known)


def test_documented_arguments_are_parameters(trees):
    assert [fault for module in sorted(trees) for fault in unknown_arguments(module, trees)] == []


RENAMED = '''
class Base:
    """A base.

    Args:
        width: inherited by others.
    """

    def __init__(self, width): ...

class Derived(Base):
    """A derived class.

    Args:
        width, depth: lengths.
        made: an old name.
    """

    depth: int

def function(new, *rest, key=None):
    """Do it.

    Args:
        old: an old name,
            which goes on here: with a colon.
        rest, key: others.
        as of ``Base``.
    """
'''


def test_an_argument_by_an_old_name_is_seen():
    trees = {"package": ast.parse(RENAMED)}
    assert list(unknown_arguments("package", trees)) == [
        "package.Derived: made",
        "package.function: old",
        "package.function: as of ``Base``.",
    ]
