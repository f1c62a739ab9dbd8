"""Twins: RTL modules in PyRTL that move the same tokens in the same cycles as a component.

A *design* is a function that gets the streams of a module (``Streams``) and creates the logic between them in
PyRTL's working block. ``build`` makes a twin of a design, ``verilog`` writes its Verilog.
"""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyrtl

from fiberscope.hw.rtl.kit.interface import CLOCKING, Interface, Stream, Wire
from fiberscope.hw.rtl.kit.naming import Origins, name_what_is_held, renamed

Signal: TypeAlias = Any  # a pyrtl.WireVector; PyRTL has no types
Ports: TypeAlias = Mapping[str, Signal]  # all ports of a module except clock and reset, by name

_CLOCKED = re.compile(
    r"    always @\(posedge clk\) begin\n        if \(rst\) begin\n(?P<resets>(?:            .*\n)+)"
    r"        end else begin\n(?P<updates>(?:            .*\n)+)        end\n    end\n"
)
_PYRTL_HEAD = re.compile(r"module [^;]*;\n(?:    (?:in|out)put.*\n)+")


class InputStream:
    """The wires of a stream that the module receives. A design calls ``accept`` once, which drives ``ready``.

    Attributes:
        valid: whether a token is offered.
        fields: the wires of the token's fields, by name; of all lanes for a bundle.
    """

    def __init__(self, stream: Stream, ports: Ports) -> None:
        self.valid: Signal = ports[stream.wire("valid")]
        self.fields: dict[str, Signal] = {field: ports[stream.wire(field)] for field in stream.widths}
        self._ready: Signal = ports[stream.wire("ready")]
        self._stream = stream

    @property
    def lanes(self) -> list[dict[str, Signal]]:
        """Return the fields of each lane of a bundle; a single lane for any other stream."""
        return [
            {name: self.fields[name][low : low + width] for name, (low, width) in lane.items()}
            for lane in _places(self._stream)
        ]

    def accept(self, ready: Signal) -> None:
        """Drive ``ready``: whether a valid token is taken."""
        self._ready <<= ready


class OutputStream:
    """The wires of a stream that the module sends. A design calls ``send`` or ``send_lanes`` once.

    Attributes:
        ready: whether the receiver has space.
        widths: bits of each field; of one lane for a bundle.
    """

    def __init__(self, stream: Stream, ports: Ports) -> None:
        self.widths = stream.widths
        self.ready: Signal = ports[stream.wire("ready")]
        self._valid: Signal = ports[stream.wire("valid")]
        self._fields: dict[str, Signal] = {field: ports[stream.wire(field)] for field in stream.widths}

    def send(self, valid: Signal, fields: Mapping[str, Signal]) -> None:
        """Offer a token while ``valid`` is high.

        Raises:
            ValueError: the fields, or their widths, are not those of the stream.
        """
        if fields.keys() != self._fields.keys():
            raise ValueError(f"fields {sorted(fields)} given, {sorted(self._fields)} needed")
        self._valid <<= valid
        for field, port in self._fields.items():
            if len(fields[field]) != len(port):
                raise ValueError(f"{port.name} has {len(port)} bits, not {len(fields[field])}")
            port <<= fields[field]  # noqa: PLW2901  (PyRTL connects wires by this operator)

    def send_lanes(self, valid: Signal, lanes: Sequence[Mapping[str, Signal]]) -> None:
        """Offer a row of a bundle while ``valid`` is high: the fields of each lane."""
        self.send(valid, {name: pyrtl.concat_list([lane[name] for lane in lanes]) for name in self._fields})


def _places(stream: Stream) -> list[dict[str, tuple[int, int]]]:
    """Return lowest bit and width of each field in its wire, by lane."""
    lanes = range(len(stream.ports))
    return [{name: (lane * width, width) for name, width in stream.widths.items()} for lane in lanes]


@dataclass(frozen=True)
class Streams:
    """The streams and status outputs of a module, seen from the logic inside.

    Args:
        inputs, outputs: streams by label, that is, by port of the component, such as ``ways[3]``.
        status: status outputs by name.
        ports: all wires by name, except clock and reset.
        unseen: receives the names of status outputs that a design shows and the module lacks.
    """

    inputs: Mapping[str, InputStream]
    outputs: Mapping[str, OutputStream]
    status: Mapping[str, Signal]
    ports: Ports
    unseen: list[str] = dataclasses.field(default_factory=list)

    @classmethod
    def from_interface(cls, interface: Interface, make: Callable[[Wire], Signal]) -> Streams:
        """Create the streams of an interface; ``make`` creates the wire of each port."""
        ports = {wire.name: make(wire) for wire in interface.wires() if wire.name not in CLOCKING}
        inputs = {s.label: InputStream(s, ports) for s in interface.streams if s.direction == "input"}
        outputs = {s.label: OutputStream(s, ports) for s in interface.streams if s.direction == "output"}
        return cls(inputs, outputs, {name: ports[name] for name in interface.status}, ports)

    def show(self, name: str, condition: Signal) -> None:
        """Drive a status output, if the module has it; a design calls this once for each of its outputs."""
        if name in self.status:
            port = self.status[name]
            port <<= condition
        else:
            self.unseen.append(name)


@dataclass(frozen=True)
class Twin:
    """The RTL of a module.

    Args:
        interface: its ports.
        block: its logic in PyRTL.
        origins: for each unnamed wire, the name of its Verilog (``fiberscope.hw.rtl.kit.naming``).
    """

    interface: Interface
    block: pyrtl.Block
    origins: Mapping[str, str]


def build(interface: Interface, design: Callable[[Streams], None]) -> Twin:
    """Return the twin of a design. The result is deterministic, including the names of wires.

    Args:
        interface: the ports.
        design: creates the logic between the streams.

    Raises:
        PyrtlError: an error of the design, such as a wire that nothing drives.
    """
    block = pyrtl.Block()
    block.sanity_check_net = lambda _net: None  # PyRTL's operators create only valid nets
    block.outside = []  # functions that write instances of memories outside of the module (``kit.sram``)
    with pyrtl.set_working_block(block, no_sanity_check=True):
        pyrtl.wire._reset_wire_indexers()  # PyRTL numbers unnamed wires across all blocks,
        pyrtl.wire._wvIndexer = origins = Origins()
        pyrtl.memory._reset_memory_indexer()  # and memories
        streams = Streams.from_interface(interface, _port)
        design(streams)
        name_what_is_held(block, origins.names)
        if streams.unseen:
            pyrtl.passes._remove_unlistened_nets(block)  # logic that only feeds omitted status outputs
            pyrtl.passes._remove_unused_wires(block)
    block.sanity_check()
    del block.sanity_check_net
    return Twin(interface, block, origins.names)


@contextmanager
def taken_as_checked(block: pyrtl.Block) -> Iterator[None]:
    """Skip the check of a block that ``build`` has checked: a third of a simulation's setup time."""
    block.sanity_check = lambda: None
    try:
        yield
    finally:
        del block.sanity_check


def _port(wire: Wire) -> Signal:
    """Create a port in PyRTL's working block."""
    kind = pyrtl.Input if wire.direction == "input" else pyrtl.Output
    return kind(wire.width, wire.name)


def alias(name: str, wire: Signal) -> Signal:
    """Return a new wire with a name that the Verilog keeps, driven by ``wire``."""
    same: Signal = pyrtl.WireVector(len(wire), name)
    same <<= wire
    return same


class DataRegister(pyrtl.Register):  # type: ignore[misc]  # PyRTL has no types
    """A register without reset, whose value is meaningful only while a control bit marks it."""


def delayed(wire: Signal, cycles: int) -> Signal:
    """Return a wire delayed by ``cycles`` cycles, undefined at first."""
    for _cycle in range(cycles):
        behind: Signal = DataRegister(len(wire))
        behind.next <<= wire
        wire = behind
    return wire


def unless(condition: Signal, wire: Signal) -> Signal:
    """Return the wire, or zeros while the condition holds."""
    return pyrtl.select(condition, pyrtl.Const(0, len(wire)), wire)


def blank_if_stop(fields: Mapping[str, Signal]) -> dict[str, Signal]:
    """Return the fields of a token, zero in a stop. Without control, no token is a stop."""
    stop = fields.get("control", pyrtl.Const(0, 1))
    return {name: wire if name == "control" else unless(stop, wire) for name, wire in fields.items()}


def packed(fields: Mapping[str, Signal]) -> Signal:
    """Return the fields of a token as one word, the first field lowest."""
    return pyrtl.concat_list(list(fields.values()))


def split_word(word: Signal, widths: Mapping[str, int]) -> dict[str, Signal]:
    """Split a word into fields of these widths in bits, the first field lowest."""
    fields: dict[str, Signal] = {}
    low = 0
    for name, bits in widths.items():
        fields[name] = word[low : low + bits]
        low += bits
    return fields


def unpacked(word: Signal, like: Mapping[str, Signal]) -> dict[str, Signal]:
    """Split a word into fields with the widths of the wires in ``like``."""
    return split_word(word, {name: len(wire) for name, wire in like.items()})


def resized(wire: Signal, bits: int) -> Signal:
    """Return a wire with ``bits`` bits: truncated, or padded with zeros."""
    return wire[:bits] if len(wire) >= bits else wire.zero_extended(bits)


def index_bits(count: int) -> int:
    """Return the bits that number ``count`` things from 0, at least one."""
    return max(1, (count - 1).bit_length())


def verilog(twin: Twin, module: str) -> str:
    """Return a twin as one Verilog module, with the ports in the order of the interface.

    PyRTL's text is changed in three ways: the ports are not sorted by name, data registers have no reset, and
    unnamed wires get names.

    Args:
        module: name of the module.
    """
    text = io.StringIO()
    with taken_as_checked(twin.block):
        pyrtl.output_to_verilog(text, add_reset=True, block=twin.block, module_name=module)
    instances = "".join(write(module) for write in twin.block.outside)
    written = _PYRTL_HEAD.sub(module_head(module, twin.interface) + instances, text.getvalue(), count=1)
    return renamed(_without_resets(written[written.index("module ") :], twin.block), twin.origins)


def _without_resets(text: str, block: pyrtl.Block) -> str:
    """Return the module with a separate ``always`` block without reset for data registers."""
    data = {register.name for register in block.wirevector_subset(DataRegister)}
    written = _CLOCKED.search(text)
    if not data or written is None:
        return text
    of_data: list[str] = []
    of_control: list[str] = []
    for line in written["updates"].splitlines():
        (of_data if line.split()[0] in data else of_control).append(line)
    resets = [line for line in written["resets"].splitlines() if line.split()[0] not in data]
    lines = ["    always @(posedge clk) begin", *(line[4:] for line in of_data), "    end"]
    if of_control:
        lines += ["    always @(posedge clk) begin", "        if (rst) begin", *resets]
        lines += ["        end else begin", *of_control, "        end", "    end"]
    return text[: written.start()] + "\n".join(lines) + "\n" + text[written.end() :]


def module_head(module: str, interface: Interface) -> str:
    """Return the head of a Verilog module: its ports, stream by stream."""
    ports = ",\n".join(f"    {wire}" for wire in interface.wires())
    return f"module {module}(\n{ports}\n);\n"


def bit_range(width: int) -> str:
    """Return the range of a Verilog vector, followed by a blank; empty for one bit."""
    return f"[{width - 1}:0] " if width > 1 else ""
