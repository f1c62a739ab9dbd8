"""A harness: a top module without logic around several modules, for one run of an HDL simulator.

Each module has a clock pin of its own, so that each is advanced on its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fiberscope.hw.rtl.kit.interface import Interface


def prefix(instance: str) -> str:
    """Return the prefix of the top's ports for an instance."""
    return f"{instance}_"


def harness(top: str, instances: Mapping[str, Interface]) -> str:
    """Return the Verilog of a module in which every wire of every instance is a port.

    Args:
        top: name of the module.
        instances: name and ports of the inner module, by instance name.
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
