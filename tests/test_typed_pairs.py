"""C types: written by the build from annotations, and by hand for the few files that say why.

The compiler takes an attribute that is not declared, which then fails at its first assignment, and makes a
Python call of a method that is not. So what a compiled class has is declared, be it by hand or not. What
stands in a ``.pxd`` with its body, for the compiler to put in place of calls, is the same there as in the
Python file.
"""

import ast
import glob
import itertools
import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sources import tracked

from fiberscope.compiler.files import list_compiled_modules
from fiberscope.compiler.modules import Module, Modules
from fiberscope.compiler.pxd_text import generate_pxd
from fiberscope.sim import constants

ROOT = Path(__file__).parents[1]
INLINE = ("hw.streams.fused_channel", "sim.inline", "sim.raw_words")  # C inlines them from their .pxd
MOST_BY_HAND = 12
# Methods of the kernel that are Python's on purpose: called when a machine is built, reported on or fails.
PYTHONIC = {
    "Kernel._require_unbuilt",
    "Kernel._require_clock",
    "Kernel._choose_base_tick",
    "Kernel._index_components",
    "Kernel._run_in_slices",
    "Kernel._finished",
    "Kernel._require_drained",
}

_CLASS = re.compile(r"^cdef class (\w+)(?:\((\w+)\))?:")
_MEMBER = re.compile(r"^    (?:cdef|cpdef) (?:inline )?(?:readonly |public )?(.*)$")


@dataclass
class ClassDeclaration:
    """What a ``.pxd`` says of a class."""

    base: str | None
    names: set[str] = field(default_factory=set)


def declared(text: str) -> dict[str, ClassDeclaration]:
    """The classes of a ``.pxd`` with their attributes and methods."""
    classes: dict[str, ClassDeclaration] = {}
    for line in text.splitlines():
        if match := _CLASS.match(line):
            current = classes[match[1]] = ClassDeclaration(match[2])
        elif match := _MEMBER.match(line):
            method = re.search(r"(\w+)\(", match[1])
            names = [method[1]] if method else re.findall(r"(\w+)\s*(?:,|$)", match[1])
            current.names.update(names)
    return classes


def undeclared(tree: ast.Module, classes: dict[str, ClassDeclaration]) -> list[str]:
    """What a Python file's compiled classes assign or define and no declaration of theirs has."""
    missing = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name in classes:
            used = (assigned(node) | private_methods(node)) - inherited(node.name, classes)
            missing += [f"{node.name}.{name}" for name in sorted(used)]
    return [name for name in missing if name not in PYTHONIC]


def inherited(name: str | None, classes: dict[str, ClassDeclaration]) -> set[str]:
    """The names of a class and of those that it is derived from."""
    if name not in classes:
        return set()
    return classes[name].names | inherited(classes[name].base, classes)


def assigned(node: ast.ClassDef) -> set[str]:
    """The attributes that a class gives itself."""
    return {
        target.attr
        for target in ast.walk(node)
        if isinstance(target, ast.Attribute)
        and isinstance(target.ctx, ast.Store)
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    }


def private_methods(node: ast.ClassDef) -> set[str]:
    """Its methods with one underscore before the name; the others Python may call."""
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef) and not item.decorator_list]
    return {
        method.name for method in methods if re.match("_[^_]", method.name) and not is_left_to_python(method)
    }


def is_left_to_python(method: ast.FunctionDef) -> bool:
    """Whether a comment tells the generator so."""
    return getattr(method, "left_to_python", False)


def parsed(module: Module) -> ast.Module:
    """A module's syntax, methods that a comment leaves to Python marked."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef):
            node.left_to_python = "def" in module.comment_at(node).keywords  # type: ignore[attr-defined]
    return module.tree


@pytest.fixture(scope="module")
def compiled() -> dict[str, tuple[Module, str]]:
    """The compiled modules and their C types, by name."""
    modules = Modules([ROOT])
    sources = map(Path, glob.glob("fiberscope/**/*.py", root_dir=ROOT, recursive=True))
    names = [".".join(source.with_suffix("").parts) for source in sources]
    by_name = {one.name.removeprefix("fiberscope."): one for one in list_compiled_modules(modules, names)}
    return {
        name: (
            module,
            module.pxd.read_text() if module.has_handwritten_pxd else generate_pxd(modules, module),
        )
        for name, module in by_name.items()
        if name not in INLINE
    }


def by_hand() -> list[str]:
    """The committed files of C types."""
    return [name for name in tracked() if name.endswith(".pxd")]


def test_few_files_of_c_types_are_written_by_hand_each_with_its_reason() -> None:
    assert 0 < len(by_hand()) <= MOST_BY_HAND
    silent = [name for name in by_hand() if not (ROOT / name).read_text().startswith("# Written by hand: ")]
    assert silent == []


def test_what_a_compiled_class_has_is_declared(compiled):
    everywhere = {name: item for _module, text in compiled.values() for name, item in declared(text).items()}
    missing = {
        name: undeclared(parsed(module), everywhere | declared(text))
        for name, (module, text) in compiled.items()
    }
    assert len(missing) > 100
    assert {name: found for name, found in missing.items() if found} == {}


_NUMBERS = re.compile(r"^    cdef (?:readonly |public )?(?:long|int|short|double|bint) ([\w, ]+)$")
BEGINNINGS = ("__init__", "elaborate", "engage")  # methods that run before the first cycle
# Numbers that another step sets, and which nothing reads before.
SET_LATER = {"MergeLookahead.next_tick", "SumLookahead.promised"}


def without_initial_value(tree: ast.Module, text: str) -> list[str]:
    """The C numbers of classes that no method sets before the first cycle, nor any that it calls.

    C sets them to 0; the same class without C has no such attribute.
    """
    numbers: dict[str, list[str]] = {}
    for line in text.splitlines():
        if match := _CLASS.match(line):
            current = numbers[match[1]] = []
        elif match := _NUMBERS.match(line):
            current += match[1].split(", ")
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in numbers]
    return [
        f"{node.name}.{name}"
        for node in classes
        for name in numbers[node.name]
        if name not in set_first(node)
    ]


def set_first(node: ast.ClassDef) -> set[str]:
    """The attributes that a class sets in ``BEGINNINGS`` and in the methods that these call."""
    methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
    reached = [name for name in BEGINNINGS if name in methods]
    for name in reached:  # grows meanwhile
        called = {part.attr for part in ast.walk(methods[name]) if isinstance(part, ast.Attribute)}
        reached += sorted((called & methods.keys()).difference(reached))
    stores = (part for name in reached for part in ast.walk(methods[name]) if isinstance(part, ast.Attribute))
    return {part.attr for part in stores if isinstance(part.ctx, ast.Store)}


def test_each_c_number_has_an_initial_value(compiled):
    found = {
        name for module, text in compiled.values() for name in without_initial_value(parsed(module), text)
    }
    assert found == SET_LATER


def test_planted_a_number_without_an_initial_value_is_named():
    pxd = "cdef class Own:\n    cdef readonly long a, b\n    cdef bint c\n    cdef Channel d\n"
    source = "class Own:\n    def __init__(self): self._zero()\n    def _zero(self): self.a = 0\n"
    source += "    def tick(self): self.b += 1; self.c = True\n"
    assert without_initial_value(ast.parse(source), pxd) == ["Own.b", "Own.c"]


def from_the_end(tree: ast.Module) -> list[int]:
    """Lines with an index that counts from the end, which compiled code hands on as it is."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.UnaryOp)
        and isinstance(node.slice.op, ast.USub)
    ]


def test_no_index_of_a_compiled_module_counts_from_the_end(compiled):
    found = {name: from_the_end(parsed(module)) for name, (module, _text) in compiled.items()}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_planted_an_index_that_counts_from_the_end_is_found():
    assert from_the_end(ast.parse("a = b[1]\nc = b[-1]\nd = b[:-1]\ne = b[-n]")) == [2, 4]


def test_planted_an_attribute_and_a_method_that_the_pxd_lacks_are_named():
    pxd = "cdef class Base:\n    cdef long a, b\n\ncdef class Own(Base):\n    cdef int _known(self)\n"
    source = "class Own(Base):\n    def _known(self): self.a = self.c = 1\n    def _hidden(self): pass\n"
    assert undeclared(ast.parse(source), declared(pxd)) == ["Own._hidden", "Own.c"]


# Functions and methods with a body in the .pxd. (Without one, inline is but advice to the compiler.)

_BODY = re.compile(r"^ *cdef inline .*:$", re.MULTILINE)
_INLINE = re.compile(r"^( *)cdef inline (?:[\w\[\]:]+ )?(\w+)\((.*)\)(?: noexcept| except.*)?:$")
_TYPED = re.compile(r"^( *)cdef (?:long|bint|double|\w+) (\w+)( = .*)?$")
_CAST = re.compile(r"<\w+>")


def inlined(text: str) -> dict[tuple[str, str], str]:
    """The bodies in a ``.pxd``, as Python without types, by class ("" for none) and name."""
    bodies: dict[tuple[str, str], str] = {}
    owner, lines = "", text.splitlines()
    for number, line in enumerate(lines):
        if match := _CLASS.match(line):
            owner = match[1]
        if match := _INLINE.match(line):
            body = itertools.takewhile(str.strip, lines[number + 1 :])  # an empty line ends it
            name = (owner if match[1] else "", match[2])
            bodies[name] = "\n".join(untyped(below) for below in body)
    return bodies


def untyped(line: str) -> str:
    """A line of a body without C types; nothing where it only declares."""
    match = _TYPED.match(line)
    line = f"{match[1]}{match[2]}{match[3]}" if match and match[3] else "" if match else line
    return _CAST.sub("", line)


class Bare(ast.NodeTransformer):
    """Puts numbers in the place of constants, and takes out what the compiler has no use for."""

    def __init__(self, constants: dict[str, int]) -> None:
        self.constants = constants

    def visit_Name(self, node: ast.Name) -> ast.AST:
        known = isinstance(node.ctx, ast.Load) and node.id in self.constants
        return ast.Constant(self.constants[node.id]) if known else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        numbers = (node.left, node.right)
        if all(isinstance(number, ast.Constant) for number in numbers):
            return ast.Constant(eval(compile(ast.Expression(ast.fix_missing_locations(node)), "", "eval")))
        return node


def bare(body: list[ast.stmt], constants: dict[str, int]) -> str:
    """A body without its docstring, with numbers for constants."""
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return "\n".join(ast.unparse(Bare(constants).visit(part)) for part in body[1 if documented else 0 :])


def numbers_in(tree: ast.Module) -> dict[str, int]:
    """Whole numbers that a Python file gives names to, or takes from the engine's constants."""
    own = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, int)
    }
    return {name: value for name, value in vars(constants).items() if isinstance(value, int)} | own


def defined(tree: ast.Module) -> dict[tuple[str, str], list[ast.stmt]]:
    """The bodies of a Python file's functions and methods, those inherited within it too."""
    bodies: dict[tuple[str, str], list[ast.stmt]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            bodies["", node.name] = node.body
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                above = ast.unparse(base)
                bodies |= {
                    (node.name, name): body for (owner, name), body in bodies.items() if owner == above
                }
            bodies |= {
                (node.name, part.name): part.body for part in node.body if isinstance(part, ast.FunctionDef)
            }
    return bodies


def departures(source: str, pxd: str) -> list[str]:
    """What stands in a ``.pxd`` otherwise than in its Python file."""
    tree = ast.parse(source)
    bodies, numbers = defined(tree), numbers_in(tree)
    return [
        f"{owner}.{name}"
        for (owner, name), body in inlined(pxd).items()
        if bare(ast.parse(textwrap.dedent(body)).body, numbers) != bare(bodies[owner, name], numbers)
    ]


def test_what_is_put_in_place_of_its_calls_is_the_same_in_both(compiled):
    ours = [(module.pxd, text) for module, text in compiled.values() if module.has_handwritten_pxd]
    put = {file: text for file, text in ours if _BODY.search(text)}
    assert put
    for file, text in put.items():
        assert len(inlined(text)) == len(_BODY.findall(text)), file
        assert departures(file.with_suffix(".py").read_text(), text) == [], file


def test_planted_a_body_that_departs_is_named():
    source = (
        "SIZE = 8\nclass Own:\n    def get(self):\n"
        "        'Doc.'\n        slot = self.n & (SIZE - 1)\n        return slot\n"
    )
    pxd = (
        "cdef class Own:\n    cdef inline long get(self) noexcept:\n"
        "        cdef long slot = self.n & 7\n        return slot\n"
    )
    assert departures(source, pxd) == []
    assert departures(source, pxd.replace("7", "15")) == ["Own.get"]
