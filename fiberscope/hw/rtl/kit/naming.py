"""Names for unnamed wires of a design: the function that created them, and the assigned name.

PyRTL numbers such wires, ``tmp12``. In the Verilog, the terms of ``stops = pays | (answers & ends)`` in a
function ``repeat`` are ``repeat_stops_term0`` and so on. A change of a Python name in a design therefore
changes the Verilog.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import count
from pathlib import Path
from types import FrameType

import pyrtl
from pyrtl.core import _NameIndexer

READ = "_read"  # suffix of the name of a memory read, before its number
TERM = "_term"  # before the number, only in generated names
_NUMBERED = re.compile(r"\btmp\d+\b")
_PYRTL = str(Path(pyrtl.__file__).parent) + os.sep
_DESIGN = "design"  # the function of a unit, whose name has no information


class Origins(_NameIndexer):  # type: ignore[misc]  # PyRTL has no types
    """A counter for unnamed wires that records the origin of each."""

    def __init__(self) -> None:
        super().__init__("tmp")
        self.names: dict[str, str] = {}

    def make_valid_string(self) -> str:
        """Return the name of the next unnamed wire, ``tmp`` and a number, and record its origin.

        PyRTL calls this when it creates the wire, so that the caller's frames show the statement.
        """
        name: str = super().make_valid_string()
        self.names[name] = _origin(sys._getframe(1))
        return name


def name_what_is_held(block: pyrtl.Block, origins: Mapping[str, str]) -> None:
    """Name unnamed registers and memory reads, so that netlists have stable names.

    A read of an SRAM is not named: the register that samples it has a name.
    """
    registers = block.wirevector_subset(pyrtl.Register)
    bases = {register.name: origins.get(_own(register.name), "") for register in registers}
    for read in block.logic_subset("m"):
        memory = read.op_param[1]
        if not hasattr(memory, "macro"):
            bases[read.dests[0].name] = f"{_own(memory.name)}{READ}"
    numbers: defaultdict[str, Iterator[int]] = defaultdict(count)
    unnamed = [name for name in bases if _NUMBERED.fullmatch(_own(name))]
    # In the order of creation, so that the numbers of equal names do not depend on the order of a set.
    for name in sorted(unnamed, key=lambda name: int(_own(name).removeprefix("tmp"))):
        base = name.removesuffix(_own(name)) + bases[name]
        block.wirevector_by_name[name].name = f"{base}_{next(numbers[base])}"


def _own(name: str) -> str:
    """Return the name without its scope."""
    return name.rpartition("/")[2]


def renamed(text: str, origins: Mapping[str, str]) -> str:
    """Return a Verilog module with names for its numbered wires, each of which must be in ``origins``."""
    numbers: defaultdict[str, Iterator[int]] = defaultdict(count)
    temporaries = sorted(set(_NUMBERED.findall(text)), key=lambda name: int(name.removeprefix("tmp")))
    names = {name: f"{(base := origins[name])}{TERM}{next(numbers[base])}" for name in temporaries}
    return _NUMBERED.sub(lambda match: names[match[0]], text)


def _origin(frame: FrameType | None) -> str:
    """Return the running function outside of PyRTL, and the name that its statement assigns.

    Frames of comprehensions and lambdas, whose names begin with ``<``, are skipped.
    """
    while frame is not None and (
        frame.f_code.co_filename.startswith(_PYRTL) or frame.f_code.co_name.startswith("<")
    ):
        frame = frame.f_back
    assert frame is not None
    return _at(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)


@cache
def _at(file: str, line: int, function: str) -> str:
    """Return a name for the result of the statement at a line of a function."""
    return "_".join(filter(None, (_function(function), _targets(file).get(line, "")))) or _DESIGN


def _function(qualified: str) -> str:
    """Return a function's name without its scope; for a constructor, the name of its class."""
    *scope, name = qualified.split(".")
    if name == "__init__":
        name = scope[-1].lower()
    return "" if name == _DESIGN else name.strip("_")


@cache
def _targets(file: str) -> Mapping[int, str]:
    """Map each line of a file to the target of its innermost assignment; empty without source."""
    targets: dict[int, str] = {}
    source = "".join(linecache.getlines(file)) if file.endswith(".py") else ""  # not a notebook cell
    for node in ast.walk(ast.parse(source)):  # breadth first: an inner assignment replaces an outer one
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            targets |= dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), _name(target))
    return targets


def _name(target: ast.expr) -> str:
    """Return the name of a target: ``next_held`` for ``held.next``; empty for several targets."""
    match target:
        case ast.Name(name):
            return name.strip("_")
        case ast.Attribute(value, "next"):
            return f"next_{_name(value)}"
        case ast.Attribute(_, name):
            return name.strip("_")
        case ast.Subscript(value):
            return _name(value)
    return ""
