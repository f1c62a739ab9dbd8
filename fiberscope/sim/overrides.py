"""Refusal of Python subclasses with methods that compiled code would never call.

Compiled code calls a ``cdef`` method through a table of C functions, which a Python method cannot enter.
Uncompiled code looks the method up by name.
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
        name: name of the object in messages.
        owner: an object whose class may derive from a compiled class.

    Raises:
        SimulationError: naming the method and the remedy.
    """
    cls: type = type(owner)
    fault = _find_fault(cls, frozenset(getattr(owner, "__dict__", ())))
    if fault:
        raise SimulationError(f"{name}: {cls.__name__} {fault}")


@cache
def _find_fault(cls: type, instance_attributes: frozenset[str]) -> str:
    """Return the first override that compiled code does not call, with the remedy; empty if there is none."""
    defined = set(instance_attributes)
    for base in cls.__mro__:  # from the class to its bases: ``defined`` has the names that override ``base``
        methods = _list_compiled_methods(base)
        if methods is None:
            defined |= vars(base).keys()
            continue
        for method in sorted(defined & methods.keys()):
            return f"overrides {method} of {base.__name__}, which compiled code calls without lookup; " + (
                "give your method another name" if methods[method] else _format_advice(cls)
            )
    return ""


def _format_advice(cls: type) -> str:
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return f"compile your class too: fiberscope build {Path(file).name if file else 'FILE'}"


@cache
def _list_compiled_methods(cls: type) -> dict[str, bool] | None:
    """Return whether each C method of a compiled class is final, by name; None for other classes.

    A compiled class without a ``.pxd`` file beside its module has no C methods: it counts as a Python class.
    """
    loader = getattr(sys.modules.get(cls.__module__), "__loader__", None)
    if not isinstance(loader, ExtensionFileLoader):
        return None
    module = Path(loader.path)
    declarations = module.with_name(f"{module.name.partition('.')[0]}.pxd")
    if not declarations.is_file():
        return None
    methods: dict[str, dict[str, bool]] = {}
    name = previous_line = ""
    for line in declarations.read_text(encoding="utf-8").splitlines():
        if match := _CLASS.match(line):
            name = match[1]
            methods[name] = {}
        elif match := _METHOD.match(line):
            methods[name][match[2]] = bool(match[1]) or previous_line == _FINAL  # inline is final
        previous_line = line
    return methods.get(cls.__qualname__)
