"""Lookup of machines by name: accelerators and specifications."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fiberscope import accelerators
from fiberscope.accelerators import user_machines
from fiberscope.models.from_spec import PREFIX

if TYPE_CHECKING:
    from fiberscope.accelerators.machine import Accelerator

FILES = (".yaml", ".yml")  # endings of specification files


def find(name: str) -> Accelerator[Any]:
    """Return the descriptor of a machine.

    Args:
        name: the name of an accelerator, the path of its folder or Python file, or ``spec:`` and the name or
            path of a specification.

    Raises:
        ConfigurationError: there is no such machine.
    """
    if _is_specification(name):
        from fiberscope.models.from_spec.descriptor import machine_of  # noqa: PLC0415  (needed for specifications only)

        return machine_of(name)
    return accelerators.find(name)


def is_shipped(name: str) -> bool:
    """Return whether a machine ships with Fiberscope; its descriptor then loads no other code."""
    return name.removeprefix(PREFIX) in accelerators.names()


def find_specification(name: str) -> str:
    """Return the specification of a machine for ``fiberscope.model``; empty for other machines."""
    return name.removeprefix(PREFIX) if _is_specification(name) else ""


def is_machine(name: str) -> bool:
    """Return whether a name refers to a machine rather than a matrix; the machine need not exist."""
    if _is_specification(name) or name.endswith(".py") or name in accelerators.names():
        return True
    if user_machines.is_path(name):
        from fiberscope.workloads.array_file import parse_named_array  # noqa: PLC0415  (help needs no numpy)

        return not os.path.isfile(name) and parse_named_array(name) is None
    return name in accelerators.installed()


def _is_specification(name: str) -> bool:
    return name.startswith(PREFIX) or name.endswith(FILES)
