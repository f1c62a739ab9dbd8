"""Comparison of the ports of a user's module with the ports that its place in a machine requires."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fiberscope.hw.rtl.kit.interface import Interface, Wire
from fiberscope.sim.errors import SimulationError


def check_ports(interface: Interface, ports: Sequence[Wire]) -> Interface:
    """Check that a module has the required ports.

    Status outputs may be missing, and further outputs are ignored.

    Args:
        interface: the required ports.
        ports: the ports that the module has.

    Returns:
        The interface with the status outputs that the module has.

    Raises:
        SimulationError: naming every port that is missing, differs or is unexpected, with the actual ports.
    """
    names = {wire.name for wire in ports}
    status = {name: width for name, width in interface.status_widths.items() if name in names}
    interface = replace(interface, status=status)
    expected = interface.wires()
    by_name = {wire.name: wire for wire in ports}
    expected_names = {wire.name for wire in expected}
    faults = [f"  missing  {wire}" for wire in expected if wire.name not in by_name]
    faults += [
        f"  differs  {wire}, found {by_name[wire.name]}"
        for wire in expected
        if wire.name in by_name and by_name[wire.name] != wire
    ]
    unknown = [wire for wire in ports if wire.name not in expected_names]
    if faults or any(wire.direction != "output" for wire in unknown):
        faults += [f"  unknown  {wire}" for wire in unknown]
        raise SimulationError(
            "\n".join(
                [
                    f"the ports of module {interface.module} do not match those of its component",
                    *faults,
                    "expected: " + ", ".join(map(str, expected)),
                    "found:    " + (", ".join(map(str, ports)) or "none"),
                ]
            )
        )
    return interface
