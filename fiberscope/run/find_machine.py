"""The machines that can be named: those of ``accelerators``, and those of specifications."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fiberscope import accelerators
from fiberscope.accelerators import user_machines
from fiberscope.models.from_spec import PREFIX

if TYPE_CHECKING:
    from fiberscope.accelerators.machine import Accelerator

__all__ = ["find", "is_machine", "is_shipped", "specification_of"]

FILES = (".yaml", ".yml")


def find(name: str) -> Accelerator[Any]:
    """The descriptor of a machine.

    Args:
        name: of an accelerator, or the path of a folder or of a Python file with one; ``spec:`` and the name
            of a machine that has a specification, or the path of one, for what is built from that.

    Raises:
        ConfigurationError: there is none.
    """
    if _is_specification(name):
        from fiberscope.models.from_spec.descriptor import machine_of  # noqa: PLC0415  (most runs need none)

        return machine_of(name)
    return accelerators.find(name)


def is_shipped(name: str) -> bool:
    """Return whether a machine ships with Fiberscope: its descriptor loads no other code."""
    return name.removeprefix(PREFIX) in accelerators.names()


def specification_of(name: str) -> str:
    """The specification that a machine is built from, as ``fiberscope.model`` takes it; else empty."""
    return name.removeprefix(PREFIX) if _is_specification(name) else ""


def is_machine(name: str) -> bool:
    """Return whether a name is one of a machine, there or not, and not that of a matrix."""
    if _is_specification(name) or name.endswith(".py") or name in accelerators.names():
        return True
    if user_machines.is_path(name):
        from fiberscope.workloads.array_file import named_array  # noqa: PLC0415  (help needs no numpy)

        return not os.path.isfile(name) and named_array(name) is None
    return name in accelerators.installed()


def _is_specification(name: str) -> bool:
    return name.startswith(PREFIX) or name.endswith(FILES)
