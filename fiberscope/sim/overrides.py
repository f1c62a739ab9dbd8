"""Refuses Python subclasses whose methods compiled code would never call.

Compiled code calls a ``cdef`` method through a table of C functions, into which Python cannot put a method.
Uncompiled, the same call looks the method up by name.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib.machinery import ExtensionFileLoader
from pathlib import Path

from fiberscope.sim.errors import SimulationError

_CLASS = re.compile(r"cdef class (\w+)")
_METHOD = re.compile(r"    cdef (inline )?.*?(\w+)\(self\b")
_FINAL = "    @cython.final"


def refuse_overrides(name: str, owner: object) -> None:
    """Check that compiled code calls every method that a class or an instance overrides.

    Args:
        name: what the message calls the object.
        owner: an object of a class that may be derived from a compiled class.

    Raises:
        SimulationError: naming the method and what to do.
    """
    cls: type = type(owner)
    fault = _fault(cls, frozenset(getattr(owner, "__dict__", ())))
    if fault:
        raise SimulationError(f"{name}: {cls.__name__} {fault}")


@cache
def _fault(cls: type, own: frozenset[str]) -> str:
    """Return the first override that compiled code does not call, with the remedy; empty if there is none."""
    defined = set(own)
    for base in cls.__mro__:
        methods = _compiled_methods(base)
        if methods is None:
            defined |= vars(base).keys()
            continue
        for method in sorted(defined & methods.keys()):
            return f"overrides {method} of {base.__name__}, which compiled code calls without lookup; " + (
                "give your method another name" if methods[method] else _advice(cls)
            )
    return ""


def _advice(cls: type) -> str:
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return f"compile your class too: fiberscope build {Path(file).name if file else 'FILE'}"


@cache
def _compiled_methods(cls: type) -> dict[str, bool] | None:
    """Return the C methods of a compiled class and whether each is final; None for a class of Python."""
    loader = getattr(sys.modules.get(cls.__module__), "__loader__", None)
    if not isinstance(loader, ExtensionFileLoader):
        return None
    module = Path(loader.path)
    declared = module.with_name(f"{module.name.partition('.')[0]}.pxd")
    if not declared.is_file():
        return None
    methods: dict[str, dict[str, bool]] = {}
    name = before = ""
    for line in declared.read_text(encoding="utf-8").splitlines():
        if match := _CLASS.match(line):
            name = match[1]
            methods[name] = {}
        elif match := _METHOD.match(line):
            methods[name][match[2]] = bool(match[1]) or before == _FINAL
        before = line
    return methods.get(cls.__qualname__)
