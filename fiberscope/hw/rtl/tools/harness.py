"""Modules side by side under one top, each with a clock of its own, so that a simulator runs them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fiberscope.hw.rtl.kit.interface import Interface


def prefix(instance: str) -> str:
    """Return the prefix of the top's ports that lead to an instance."""
    return f"{instance}_"


def harness(top: str, instances: Mapping[str, Interface]) -> str:
    """A module without logic: every wire of every instance is a port.

    Args:
        top: its name.
        instances: the modules within and their ports, by the name of the instance.
    """
    ports = ",\n".join(
        f"    {replace(wire, name=prefix(instance) + wire.name)}"
        for instance, interface in instances.items()
        for wire in interface.wires()
    )
    placed = "\n".join(_instance(name, interface) for name, interface in instances.items())
    return f"module {top}(\n{ports}\n);\n{placed}endmodule\n"


def _instance(name: str, interface: Interface) -> str:
    pins = ",\n".join(f"        .{wire.name}({prefix(name)}{wire.name})" for wire in interface.wires())
    return f"    {interface.module} {name}(\n{pins}\n    );\n"
