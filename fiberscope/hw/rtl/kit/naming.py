"""Names for the wires that a design gives none: the function that made them, and what it assigns there.

PyRTL numbers such wires, ``tmp12``. In the Verilog ``stops = pays | (answers & ends)`` of a function
``repeat`` and what is within it are ``repeat_stops_term0`` and so on.
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

__all__ = ["TERM", "Origins", "name_what_is_held", "renamed"]

READ = "_read"  # ends the name of a word of a memory, before its number
TERM = "_term"  # before the number, in every such name and in no other
_NUMBERED = re.compile(r"\btmp\d+\b")
_PYRTL = str(Path(pyrtl.__file__).parent) + os.sep
_DESIGN = "design"  # the function of a unit, which says no more than that it is one


class Origins(_NameIndexer):  # type: ignore[misc]  # PyRTL has no types
    """Numbers the wires without a name, and notes of each what made it."""

    def __init__(self) -> None:
        super().__init__("tmp")
        self.names: dict[str, str] = {}

    def make_valid_string(self) -> str:
        """The next wire's number; PyRTL calls this."""
        name: str = super().make_valid_string()
        self.names[name] = _origin(sys._getframe(1))
        return name


def name_what_is_held(block: pyrtl.Block, origins: Mapping[str, str]) -> None:
    """Name registers that nobody has named, and what is read of memories: netlists know nets by these.

    What is read of an SRAM is known by its register.
    """
    registers = block.wirevector_subset(pyrtl.Register)
    bases = {register.name: origins.get(_own(register.name), "") for register in registers}
    for read in block.logic_subset("m"):
        memory = read.op_param[1]
        if not hasattr(memory, "macro"):
            bases[read.dests[0].name] = f"{_own(memory.name)}{READ}"
    numbers: defaultdict[str, Iterator[int]] = defaultdict(count)
    unnamed = [name for name in bases if _NUMBERED.fullmatch(_own(name))]
    for name in sorted(unnamed, key=lambda name: int(_own(name).removeprefix("tmp"))):
        base = name.removesuffix(_own(name)) + bases[name]
        block.wirevector_by_name[name].name = f"{base}_{next(numbers[base])}"


def _own(name: str) -> str:
    """The name without the scope that it is in."""
    return name.rpartition("/")[2]


def renamed(text: str, origins: Mapping[str, str]) -> str:
    """A module of Verilog with names for its numbered wires."""
    numbers: defaultdict[str, Iterator[int]] = defaultdict(count)
    temporaries = sorted(set(_NUMBERED.findall(text)), key=lambda name: int(name.removeprefix("tmp")))
    names = {name: f"{(base := origins[name])}{TERM}{next(numbers[base])}" for name in temporaries}
    return _NUMBERED.sub(lambda match: names[match[0]], text)


def _origin(frame: FrameType | None) -> str:
    """The function that is being run outside of PyRTL, and what its statement assigns."""
    while frame is not None and (
        frame.f_code.co_filename.startswith(_PYRTL) or frame.f_code.co_name.startswith("<")
    ):
        frame = frame.f_back
    assert frame is not None
    return _at(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)


@cache
def _at(file: str, line: int, function: str) -> str:
    """A name for what the statement at a line of a function makes."""
    return "_".join(filter(None, (_function(function), _targets(file).get(line, "")))) or _DESIGN


def _function(qualified: str) -> str:
    """A function's name without its scope, or its class's where that is being made."""
    *scope, name = qualified.split(".")
    if name == "__init__":
        name = scope[-1].lower()
    return "" if name == _DESIGN else name.strip("_")


@cache
def _targets(file: str) -> Mapping[int, str]:
    """Map each line of a file to the target of its innermost assignment; empty without source."""
    targets: dict[int, str] = {}
    source = "".join(linecache.getlines(file)) if file.endswith(".py") else ""  # and not a page of a site
    for node in ast.walk(ast.parse(source)):
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
