"""A module around a block with registered outputs that checks in simulation what these promise.

What is ``valid`` stays so, and its fields stay the same, until it is taken. Synthesis sees none of it
(``SYNTHESIS`` is defined there); plain Verilog but for ``$fatal``, so Icarus and Verilator both read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.contract import contract
from fiberscope.hw.rtl.kit.interface import Interface, Stream
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.hw.rtl.kit.twin import module_head

__all__ = ["checked", "wrapper"]

CORE = "unchecked"  # what the name of the module within ends with


def checked(block: RtlBlock, parameters: Parameters, *, status: bool = True) -> str:
    """Verilog of a block with registered outputs under its own name, checked, and what it consists of."""
    inner = registered(block)
    interface = inner.interface(parameters)
    core = f"{interface.module}_{CORE}"
    kept = interface if status else replace(interface, status=())
    rules = contract(kept, registered=True)
    return f"{rules}\n{wrapper(kept, core)}\n" + inner.modules(parameters, core, status=status)


def wrapper(interface: Interface, core: str) -> str:
    """The module with these ports around one of the same ports, called ``core``."""
    pins = ",\n".join(f"        .{wire.name}({wire.name})" for wire in interface.wires())
    outputs = [stream for stream in interface.streams if stream.direction == "output"]
    checks = [line for stream in outputs for line in _check(interface.module, stream)]
    return module_head(interface.module, interface) + "\n".join(
        [f"    {core} core (\n{pins}\n    );", "`ifndef SYNTHESIS", *checks, "`endif", "endmodule", ""]
    )


def _check(module: str, stream: Stream) -> Iterator[str]:
    """A register for what was refused in the cycle before, and the comparison with what is there now."""
    valid, ready, held, was = (stream.wire(part) for part in ("valid", "ready", "held", "was"))
    fields = f"{{{', '.join(map(stream.wire, stream.widths))}}}"
    yield f"    reg {held};"
    yield f"    reg [{sum(stream.widths.values()) * len(stream.ports) - 1}:0] {was};"
    yield "    always @(posedge clk) begin"
    yield f"        if (!rst && {held} && !{valid})"
    yield f'            $fatal(1, "{module}: {valid} fell before the token was taken");'
    yield f"        if (!rst && {held} && {fields} !== {was})"
    yield f'            $fatal(1, "{module}: {stream.prefix} changed before the token was taken");'
    yield f"        {held} <= !rst && {valid} && !{ready};"
    yield f"        {was} <= {fields};"
    yield "    end"
