"""Every compiled Python file and the ``.pxd`` of C types beside it: what one has, the other declares.

The compiler takes an attribute that the ``.pxd`` lacks, which then fails at its first assignment, and makes a
Python call of a method that it lacks.
"""

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("sim", "hw", "accelerators")
INLINE = ("sim/inline.pxd", "sim/schedule.pxd")  # not compiled themselves, see setup.py
# Methods that are Python's on purpose: called when a machine is built, reported on, drawn or fails.
PYTHONIC = {
    "Kernel._require_unbuilt",
    "Kernel._require_clock",
    "Kernel._choose_base_tick",
    "Kernel._index_components",
    "Kernel._run_in_chunks",
    "Kernel._finished",
    "Kernel._require_drained",
    "DramChannel._reset_counts",
    "Controller._reset_counts",
    "Device._set_delays",
    "Device._set_state",
}

_CLASS = re.compile(r"^cdef class (\w+)(?:\((\w+)\))?:")
_MEMBER = re.compile(r"^    (?:cdef|cpdef) (?:inline )?(?:readonly |public )?(.*)$")


@dataclass
class Declared:
    """What a ``.pxd`` says of a class."""

    base: str | None
    names: set[str] = field(default_factory=set)


def declared(text: str) -> dict[str, Declared]:
    """The classes of a ``.pxd`` with their attributes and methods."""
    classes: dict[str, Declared] = {}
    for line in text.splitlines():
        if match := _CLASS.match(line):
            current = classes[match[1]] = Declared(match[2])
        elif match := _MEMBER.match(line):
            method = re.search(r"(\w+)\(", match[1])
            names = [method[1]] if method else re.findall(r"(\w+)\s*(?:,|$)", match[1])
            current.names.update(names)
    return classes


def undeclared(source: str, classes: dict[str, Declared]) -> list[str]:
    """What a Python file's compiled classes assign or define and no declaration of theirs has."""
    missing = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name in classes:
            used = (assigned(node) | private_methods(node)) - inherited(node.name, classes)
            missing += [f"{node.name}.{name}" for name in sorted(used)]
    return [name for name in missing if name not in PYTHONIC]


def inherited(name: str | None, classes: dict[str, Declared]) -> set[str]:
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
    return {method.name for method in methods if re.match("_[^_]", method.name)}


PAIRS = {
    str(path.relative_to(ROOT)): path
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.pxd"))
    if str(path.relative_to(ROOT)) not in INLINE
}
ALL = {name: item for path in PAIRS.values() for name, item in declared(path.read_text()).items()}


@pytest.mark.parametrize("pair", PAIRS)
def test_the_pxd_declares_what_its_python_file_has(pair):
    path = PAIRS[pair]
    own = ALL | declared(path.read_text())
    assert undeclared(path.with_suffix(".py").read_text(), own) == []


def test_planted_an_attribute_and_a_method_that_the_pxd_lacks_are_named():
    pxd = "cdef class Base:\n    cdef long a, b\n\ncdef class Own(Base):\n    cdef int _known(self)\n"
    source = "class Own(Base):\n    def _known(self): self.a = self.c = 1\n    def _hidden(self): pass\n"
    assert undeclared(source, declared(pxd)) == ["Own._hidden", "Own.c"]
