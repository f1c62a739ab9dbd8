"""A block with the ports of AXI4-Stream (ARM IHI 0051A): ``tdata``, ``tvalid``, ``tready``, ``tlast``.

The outputs are registered (``hw.rtl.kit.registered``), so that ``tvalid`` waits for no ``tready``. The fields
of a token lie side by side in ``tdata``, the first lowest, filled up to whole bytes. Where a stream has a
control field, ``tlast`` is its lowest bit, so that a fiber with its stop is a packet.
"""

from __future__ import annotations

from collections.abc import Iterator

from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.interface import Interface, Stream
from hw.rtl.kit.parameters import Parameters
from hw.rtl.kit.registered import registered

__all__ = ["axis"]

CORE = "registered"  # what the name of the module within ends with


def axis(block: RtlBlock, parameters: Parameters) -> str:
    """Verilog of a block under its own name with ports of AXI4-Stream, and what it consists of."""
    inner = registered(block)
    interface = inner.interface(parameters)
    core = f"{interface.module}_{CORE}"
    lines = [_head(interface), *_nets(interface), _core(interface, core), "endmodule", ""]
    return "\n".join([_comment(interface), *lines, inner.modules(parameters, core, status=False)])


def _bytes(stream: Stream) -> int:
    return -(-sum(stream.widths.values()) // 8)


def _comment(interface: Interface) -> str:
    """Where each field is."""
    lines = [f"// {interface.module} with ports of AXI4-Stream; the fields of tdata:"]
    for stream in interface.streams:
        fields = (f"{field} {low + width - 1}:{low}" for field, low, width in _fields(stream))
        lines.append(f"//   {stream.prefix}: {', '.join(fields)}")
    return "\n".join(lines)


def _fields(stream: Stream) -> Iterator[tuple[str, int, int]]:
    """Name, lowest bit in ``tdata`` and width of each field."""
    low = 0
    for field, width in stream.widths.items():
        yield field, low, width
        low += width


def _head(interface: Interface) -> str:
    ports = ["input aclk", "input aresetn"]
    for stream in interface.streams:
        there, back = ("input", "output") if stream.direction == "input" else ("output", "input")
        ports.append(f"{there} [{8 * _bytes(stream) - 1}:0] {stream.prefix}_tdata")
        ports += [f"{there} {stream.prefix}_tvalid", f"{back} {stream.prefix}_tready"]
        if "control" in stream.widths:
            ports.append(f"{there} {stream.prefix}_tlast")
    return f"module {interface.module}(\n" + ",\n".join(f"    {port}" for port in ports) + "\n);"


def _nets(interface: Interface) -> Iterator[str]:
    """The fields of outputs as ``tdata``."""
    for stream in interface.streams:
        if stream.direction == "input":
            continue
        fields = list(_fields(stream))
        yield from (f"    wire {_range(width)}{stream.wire(field)};" for field, _low, width in fields)
        padding = 8 * _bytes(stream) - sum(stream.widths.values())
        parts = [f"{padding}'d0"] if padding else []
        parts += [stream.wire(field) for field, _low, _width in reversed(fields)]
        yield f"    assign {stream.prefix}_tdata = {{{', '.join(parts)}}};"
        if "control" in stream.widths:
            yield f"    assign {stream.prefix}_tlast = {stream.wire('control')}{_bit(stream)};"


def _bit(stream: Stream) -> str:
    """The lowest bit of a vector; a wire of one bit has no index."""
    return "[0]" if stream.widths["control"] > 1 else ""


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


def _core(interface: Interface, module: str) -> str:
    pins = [".clk(aclk)", ".rst(~aresetn)"]
    for stream in interface.streams:
        pins += [f".{stream.wire(part)}({stream.prefix}_t{part})" for part in ("valid", "ready")]
        for field, low, width in _fields(stream):
            given = f"{stream.prefix}_tdata[{low + width - 1}:{low}]"
            pins.append(
                f".{stream.wire(field)}({given if stream.direction == 'input' else stream.wire(field)})"
            )
    return f"    {module} core (\n        " + ",\n        ".join(pins) + "\n    );"
