"""Wrapper modules for the memories of exported Verilog, which a user can replace by SRAM macros."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fiberscope.hw.rtl.kit.sram import Macro, extract_memories
from fiberscope.hw.rtl.kit.twin import bit_range

_CONTRACT = """\
// SRAM of {entries} entries of {bits} bits{lanes}. This is a behavioural model: put a macro in its place.
// Sampled at the rising edge of clk. A read is enabled by read_enable: its word is at read_data from the next
// cycle on, and stays there until another read is enabled. write_enable has a bit for each lane; lane 0 has
// the lowest bits. A read of an entry that is written in the same cycle gives the old word. No reset."""


def wrap_memories(write: Callable[[], str]) -> tuple[str, dict[str, str]]:
    """Write Verilog in which each synchronous memory is an instance of a separate module.

    Args:
        write: writes the Verilog.

    Returns:
        The Verilog, and the text of each module by file name.

    Raises:
        ValueError: there is no such memory, or a register in another module reads one.
    """
    with extract_memories() as macros:
        text = write()
    if not macros:
        raise ValueError("no memory is registered, as an SRAM is; some blocks have memory=registered")
    return text, {f"{name}.v": _module(name, macro) for name, macro in macros.items()}


def _module(name: str, macro: Macro) -> str:
    """Return the behavioural model of a memory, as a module with the ports of the macro."""
    lanes = f", in {macro.lanes} lanes of {macro.bits}" if macro.lanes > 1 else ""
    contract = _CONTRACT.format(entries=macro.entries, bits=macro.entry_bits, lanes=lanes)
    ports = ",\n".join(f"    {port}" for port in macro.ports).replace("output ", "output reg ")
    return f"""{contract}
module {name}(
    input clk,
{ports}
);
    reg {bit_range(macro.entry_bits)}words [0:{macro.entries - 1}];

    always @(posedge clk) begin
        if (read_enable) read_data <= words[read_address];
{"".join(_writes(macro))}    end
endmodule
"""


def _writes(macro: Macro) -> Iterator[str]:
    """Yield the statement that writes each lane."""
    if macro.lanes == 1:
        yield "        if (write_enable) words[write_address] <= write_data;\n"
        return
    for lane in range(macro.lanes):
        bits = f"[{(lane + 1) * macro.bits - 1}:{lane * macro.bits}]"
        yield f"        if (write_enable[{lane}]) words[write_address]{bits} <= write_data{bits};\n"
