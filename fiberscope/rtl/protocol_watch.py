"""A protocol check of an exported block in a user's cocotb bench, with any runner of cocotb."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.kit.parameters import parse
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.hw.rtl.tools.port_monitor import PortMonitor
from fiberscope.rtl.select_block import find_block, input_errors

__all__ = ["watch_protocol"]

PORTS = ("plain", "registered")


async def watch_protocol(dut: Any, block: str, *settings: str, ports: str = "plain") -> None:  # noqa: ANN401
    """Fail the test in the first cycle in which a module breaks the protocol of its ports.

        cocotb.start_soon(watch_protocol(dut, "merger", "radix=4"))

    Args:
        dut: the module, as cocotb gives it, with the ports of the block.
        block: the name of the block in ``fiberscope rtl list``.
        settings: parameters of the block, ``name=number``.
        ports: the ports with which it was exported, ``plain`` or ``registered``.

    Raises:
        InputError: there is no such block, parameter or kind of ports.
        AssertionError: with the module, the cycle, the port and what happened.
    """
    if ports not in PORTS:
        raise InputError(f"ports={ports}: expected {' or '.join(PORTS)}")
    unit = find_block(block)
    with input_errors():
        parameters = parse(unit.name, unit.parameters, list(settings))
    module = unit if ports == "plain" else registered(unit)
    interface = replace(module.interface(parameters), status=())
    monitor = PortMonitor(dut, interface, module.adapter.protocol_checker)
    async for _cycle, _wires in monitor.cycles():
        assert monitor.violation is None, monitor.violation
