"""Wrapper of a block with AXI4-Stream ports (ARM IHI 0051A): ``tdata``, ``tvalid``, ``tready``, ``tlast``.

The outputs are registered (``fiberscope.hw.rtl.kit.registered``), so that ``tvalid`` never waits for
``tready``. The fields of a token are adjacent in ``tdata``, the first field lowest, padded to whole bytes.
The lanes of a bundle follow each other, lane 0 lowest. If there is a mask, ``tkeep`` has it for each byte; a
lane is empty unless all its bytes are kept. If a stream has a control field, ``tlast`` is its lowest bit in
the last lane, so that a fiber with its stop is a packet. The module ignores ``tlast`` of its inputs, because
``tdata`` has the control field too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.interface import MASK, Interface, Stream
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.hw.rtl.kit.twin import bit_range

CORE = "registered"  # suffix of the inner module's name
_CONTRACT = (
    "// Contract of the ports. All are sampled at the rising edge of aclk; aresetn is synchronous and active",
    "// low. A transfer moves in a cycle in which tvalid and tready are both high. tvalid of an output stays",
    "// high, and its other signals stay the same, until then. The transfers of a stream keep their order;",
    "// those of different streams have no order. tlast is bit 0 of the control field, of the last lane.",
    "// A lane of which not all bytes are in tkeep is empty. Bits of tdata by field:",
)


def axis(block: RtlBlock, parameters: Parameters) -> str:
    """Return the Verilog of a block, under its own name, with AXI4-Stream ports, and of its parts."""
    inner = registered(block)
    interface = inner.interface(parameters)
    core = f"{interface.module}_{CORE}"
    lines = [_head(interface), *_nets(interface), _core(interface, core), "endmodule", ""]
    return "\n".join([_comment(interface), *lines, inner.modules(parameters, core, status=False)])


def axis_names(interface: Interface) -> dict[str, str]:
    """Return the AXI4-Stream port of each wire of a module's streams; all fields share ``tdata``."""
    names = {part: f"t{part}" for part in ("valid", "ready")} | {MASK: "tkeep"}
    return {
        stream.wire(part): stream.wire(names.get(part, "tdata"))
        for stream in interface.streams
        for part in ("valid", "ready", *stream.widths)
    }


def axis_bits(interface: Interface, bits: Mapping[str, int]) -> dict[str, int]:
    """Convert the bits of a module's streams to the bits of AXI4-Stream ports; missing bits are 0.

    The result also has ports that the module may lack: ``tkeep`` without a mask, ``tlast`` without control.
    """
    ports: dict[str, int] = {}
    for stream in interface.streams:
        size, lanes = _lane_bytes(stream), range(len(stream.ports))
        data = keep = 0
        for lane in lanes:
            for field, low, width in _places(stream, lane):
                data |= (bits.get(stream.wire(field), 0) >> lane * width & (1 << width) - 1) << low
            # A mask bit becomes a bit for each byte of the lane.
            keep |= (bits.get(stream.wire(MASK), 0) >> lane & 1) * ((1 << size) - 1) << lane * size
        last = stream.widths.get("control", 0) * (len(lanes) - 1)
        ports |= {
            f"{stream.prefix}_tdata": data,
            f"{stream.prefix}_tkeep": keep,
            f"{stream.prefix}_tlast": bits.get(stream.wire("control"), 0) >> last & 1,
            **{f"{stream.prefix}_t{part}": bits.get(stream.wire(part), 0) for part in ("valid", "ready")},
        }
    return ports


def _lane_bytes(stream: Stream) -> int:
    """Return the bytes of a lane."""
    return -(-sum(width for _name, width in _content(stream)) // 8)


def _bytes(stream: Stream) -> int:
    return _lane_bytes(stream) * len(stream.ports)


def _content(stream: Stream) -> list[tuple[str, int]]:
    """Return name and width of each field of a lane in ``tdata``."""
    return [(name, width) for name, width in stream.widths.items() if name != MASK]


def _comment(interface: Interface) -> str:
    """Return the contract of the ports, with the position of each field."""
    lines = [f"// {interface.module} with ports of AXI4-Stream", *_CONTRACT]
    for stream in interface.streams:
        fields = (f"{field} {low + width - 1}:{low}" for field, low, width in _places(stream))
        lanes = len(stream.ports)
        more = f", in each of {lanes} lanes of {_lane_bytes(stream)} bytes" if lanes > 1 else ""
        lines.append(f"//   {stream.prefix} ({stream.direction}): {', '.join(fields)}{more}")
    return "\n".join([*lines, ""])


def _places(stream: Stream, lane: int = 0) -> Iterator[tuple[str, int, int]]:
    """Yield name, lowest bit in ``tdata`` and width of each field of a lane."""
    low = 8 * _lane_bytes(stream) * lane
    for field, width in _content(stream):
        yield field, low, width
        low += width


def _head(interface: Interface) -> str:
    """Return the head of the module with AXI4-Stream ports."""
    ports = ["input aclk", "input aresetn"]
    for stream in interface.streams:
        there, back = ("input", "output") if stream.direction == "input" else ("output", "input")
        ports.append(f"{there} [{8 * _bytes(stream) - 1}:0] {stream.prefix}_tdata")
        if MASK in stream.widths:
            ports.append(f"{there} {bit_range(_bytes(stream))}{stream.prefix}_tkeep")
        ports += [f"{there} {stream.prefix}_tvalid", f"{back} {stream.prefix}_tready"]
        if "control" in stream.widths:
            ports.append(f"{there} {stream.prefix}_tlast")
    return f"module {interface.module}(\n" + ",\n".join(f"    {port}" for port in ports) + "\n);"


def _nets(interface: Interface) -> Iterator[str]:
    """Yield the wires of the fields of outputs, and the assignments of ``tdata``, ``tkeep`` and ``tlast``."""
    for stream in interface.streams:
        if stream.direction == "input":
            continue
        lanes = len(stream.ports)
        for field, width in stream.widths.items():
            yield f"    wire {bit_range(width * lanes)}{stream.wire(field)};"
        parts = [part for lane in reversed(range(lanes)) for part in _lane(stream, lane)]
        yield f"    assign {stream.prefix}_tdata = {{{', '.join(parts)}}};"
        if MASK in stream.widths:
            kept = [f"{{{_lane_bytes(stream)}{{{_part(stream, MASK, i)}}}}}" for i in reversed(range(lanes))]
            yield f"    assign {stream.prefix}_tkeep = {{{', '.join(kept)}}};"
        if "control" in stream.widths:
            last = stream.widths["control"] * (lanes - 1)
            # Verilog does not allow an index on a wire of one bit without a range.
            index = f"[{last}]" if stream.widths["control"] * lanes > 1 else ""
            yield f"    assign {stream.prefix}_tlast = {stream.wire('control')}{index};"


def _lane(stream: Stream, lane: int) -> Iterator[str]:
    """Yield the fields of a lane, the last field first, as in a Verilog concatenation."""
    padding = 8 * _lane_bytes(stream) - sum(width for _name, width in _content(stream))
    if padding:
        yield f"{padding}'d0"
    for field, _width in reversed(_content(stream)):
        yield _part(stream, field, lane)


def _part(stream: Stream, field: str, lane: int) -> str:
    """Return the wire of a field, or the bits of a lane in it."""
    width = stream.widths[field]
    if len(stream.ports) == 1:
        return stream.wire(field)
    last, first = width * (lane + 1) - 1, width * lane
    return f"{stream.wire(field)}[{first if width == 1 else f'{last}:{first}'}]"


def _core(interface: Interface, module: str) -> str:
    """Return the instance of the module with registered outputs, connected to the ports."""
    pins = [".clk(aclk)", ".rst(~aresetn)"]  # aresetn is active low
    for stream in interface.streams:
        pins += [f".{stream.wire(part)}({stream.prefix}_t{part})" for part in ("valid", "ready")]
        constants = _field_bits(stream) if stream.direction == "input" else {}
        pins += [
            f".{stream.wire(field)}({constants.get(field, stream.wire(field))})" for field in stream.widths
        ]
    return f"    {module} core (\n        " + ",\n        ".join(pins) + "\n    );"


def _field_bits(stream: Stream) -> dict[str, str]:
    """Return the range of bits of each field of an input, with all lanes, the last field first."""
    parts: dict[str, list[str]] = {}
    size = _lane_bytes(stream)
    for lane in reversed(range(len(stream.ports))):
        for field, low, width in _places(stream, lane):
            parts.setdefault(field, []).append(f"{stream.prefix}_tdata[{low + width - 1}:{low}]")
        if MASK in stream.widths:
            # The reduction ``&``: a lane counts only if all its bytes are kept.
            kept = f"&{stream.prefix}_tkeep[{size * (lane + 1) - 1}:{size * lane}]"
            parts.setdefault(MASK, []).append(kept)
    return {field: all_[0] if len(all_) == 1 else f"{{{', '.join(all_)}}}" for field, all_ in parts.items()}
