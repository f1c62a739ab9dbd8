"""Wrapper with simulation checks for the outputs of a block with registered outputs.

A ``valid`` output must stay valid, with the same fields, until it is taken. Synthesis skips the checks
(``SYNTHESIS`` is defined). The text is plain Verilog except for ``$fatal``, which Icarus and Verilator
support.
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

CORE = "unchecked"  # suffix of the inner module's name


def checked(block: RtlBlock, parameters: Parameters, *, status: bool = True) -> str:
    """Return the Verilog of a block with registered and checked outputs, and of its parts.

    Args:
        block: the block; its outputs get registers here.
        status: whether the module has status outputs.
    """
    inner = registered(block)
    interface = inner.interface(parameters)
    core = f"{interface.module}_{CORE}"
    kept = interface if status else replace(interface, status=())
    rules = contract(kept, registered=True)
    return f"{rules}\n{wrapper(kept, core)}\n" + inner.modules(parameters, core, status=status)


def wrapper(interface: Interface, core: str) -> str:
    """Return the Verilog of a module that checks the outputs of an inner module.

    Args:
        interface: name and ports of the checking module.
        core: name of the inner module, which has the same ports.
    """
    pins = ",\n".join(f"        .{wire.name}({wire.name})" for wire in interface.wires())
    outputs = [stream for stream in interface.streams if stream.direction == "output"]
    checks = [line for stream in outputs for line in _check(interface.module, stream)]
    return module_head(interface.module, interface) + "\n".join(
        [f"    {core} core (\n{pins}\n    );", "`ifndef SYNTHESIS", *checks, "`endif", "endmodule", ""]
    )


def _check(module: str, stream: Stream) -> Iterator[str]:
    """Yield Verilog that compares an output with the refused token of the cycle before.

    ``held`` is high if a token was refused; ``was`` has the fields of the cycle before.
    """
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
