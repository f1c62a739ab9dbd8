"""Memory ports as AXI4: each request becomes a burst of one beat, whose identifier is the request's tag.

An ``axi_port`` between a memory port of a machine and the AXI4 bus converts requests to transfers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pyrtl

from fiberscope.hw.memory.protocol import READ
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.composition import Composition, Link, Part
from fiberscope.hw.rtl.kit.interface import Content, Interface, Payload, Stream
from fiberscope.hw.rtl.kit.machine_module import REPLIES, REQUESTS
from fiberscope.hw.rtl.kit.memory_port import MemoryPort
from fiberscope.hw.rtl.kit.parameters import Parameters, number, one_of
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias

LINES = (16, 32, 64, 128)  # bytes of a beat; AXI4 allows every power of two up to 128
WRITES_BITS = 6  # bits of the counter of writes without a response; at most 63 are open
INCREMENTING = 1  # AXI4 code of the burst type
CHANNELS = ("ar", "r", "aw", "w", "b")


@dataclass(frozen=True)
class AxiParameters(Parameters):
    """Parameters of a port.

    Args:
        line_bytes: bytes of a request, and of a beat: 16, 32, 64 or 128.
        tag_bits: bits of a tag, and of an identifier, 33 to 63.
        address_bits: bits of an address, 17 to 64.

    Raises:
        ValueError: a number is out of its range.
    """

    line_bytes: int = one_of(64, *LINES)
    tag_bits: int = number(48, 33, 63)
    address_bits: int = number(48, 17, 64)

    @property
    def memory(self) -> MemoryPort:
        """Return the fields of the requests and replies of the machine."""
        return MemoryPort(self.tag_bits, self.address_bits, 8 * self.line_bytes)


def interface(parameters: AxiParameters) -> Interface:
    """Return the ports: requests and replies, and the five channels of AXI4."""
    memory, data = parameters.memory, Payload(8 * parameters.line_bytes)
    transfer, response = {"id": Payload(parameters.tag_bits)}, {"resp": Payload(2)}
    address: Content = {
        **transfer,
        "addr": Payload(parameters.address_bits),
        "len": Payload(8),
        "size": Payload(3),
        "burst": Payload(2),
    }
    beat: Content = {"data": data, "strb": Payload(parameters.line_bytes), "last": Payload(1)}
    return Interface(
        "axi_port",
        (
            memory.stream("requests", "input"),
            memory.stream("replies", "output"),
            Stream("ar", "ar", "output", address),
            Stream("r", "r", "input", {**transfer, "data": data, **response, "last": Payload(1)}),
            Stream("aw", "aw", "output", address),
            Stream("w", "w", "output", beat),
            Stream("b", "b", "input", {**transfer, **response}),
        ),
    )


def design(parameters: AxiParameters, streams: Streams) -> None:
    """Create the conversion.

    A read waits until all earlier writes have a response, as AXI4 keeps no order between reads and writes. At
    most 63 writes are without a response. A write sends its address and its data in the same cycle. Error
    codes in ``resp`` are ignored, and so is ``last``, since each burst has one beat. ``aw`` and ``w`` become
    ``valid`` only if both are ``ready``, which AXI4 forbids: only ``REGISTERED`` may be connected to a bus.
    """
    requests, responses = streams.inputs["requests"], streams.inputs["b"]
    reads, writes, beats = (streams.outputs[name] for name in ("ar", "aw", "w"))
    unanswered: Signal = pyrtl.Register(WRITES_BITS, "unanswered")
    is_read = alias("is_read", requests.fields["control"] == READ)
    may_read = alias("may_read", is_read & (unanswered == 0))
    has_room = writes.ready & beats.ready & (unanswered != (1 << WRITES_BITS) - 1)
    may_write = alias("may_write", ~is_read & has_room)
    reads.send(requests.valid & may_read, _address(parameters, requests.fields))
    writes.send(requests.valid & may_write, _address(parameters, requests.fields))
    # A request writes a whole line: all bytes of the beat are enabled
    whole = pyrtl.Const((1 << parameters.line_bytes) - 1, parameters.line_bytes)
    beat = {"data": requests.fields["line"], "strb": whole, "last": pyrtl.Const(1, 1)}
    beats.send(requests.valid & may_write, beat)
    requests.accept((may_read & reads.ready) | may_write)
    responses.accept(pyrtl.Const(1, 1))
    # No requester waits for a write, so that a response only lowers the count
    begun = alias("write_begun", requests.valid & may_write)
    unanswered.next <<= (unanswered + begun - responses.valid)[:WRITES_BITS]
    _reply(parameters, streams)


def _address(parameters: AxiParameters, fields: dict[str, Signal]) -> dict[str, Signal]:
    """Return the fields of an address channel for a request: a burst of one beat."""
    return {
        "id": fields["coordinate"],
        "addr": fields["reference"],
        # AXI4 codes: ``len`` is the beats minus one, ``size`` the logarithm of the bytes of a beat
        "len": pyrtl.Const(0, 8),
        "size": pyrtl.Const(parameters.line_bytes.bit_length() - 1, 3),
        "burst": pyrtl.Const(INCREMENTING, 2),
    }


def _reply(parameters: AxiParameters, streams: Streams) -> None:
    """Send read data as a reply; its address is 0, as no requester uses it."""
    data, replies, memory = streams.inputs["r"], streams.outputs["replies"], parameters.memory
    none = pyrtl.Const(0, parameters.address_bits)
    fields = data.fields
    replies.send(data.valid, memory.token(memory.operation(READ), fields["id"], none, fields["data"]))
    data.accept(replies.ready)


BLOCK = RtlBlock(
    "axi_port",
    "asks memory by AXI4 for what comes as requests",
    AxiParameters,
    AxiParameters,
    interface,
    design,
    Adapter,
    listed=False,
)
REGISTERED = replace(registered(BLOCK), listed=False)


def with_axi(composition: Composition, parameters: AxiParameters) -> Composition:
    """Return a machine as one module with AXI4 ports in place of its memory ports.

    Args:
        composition: the machine, with the memory ports ``REQUESTS`` and ``REPLIES``.
        parameters: parameters of the ports.
    """
    parts, links = dict(composition.parts), list(composition.links)
    exports: dict[str, str] = {}
    for label, end in composition.exports.items():
        port, _, place = label.rstrip("]").partition("[")
        name = f"axi_{place}"
        # Port n of the machine, ``requests[n]`` and ``replies[n]``, gets the instance ``axi_n``
        if port == REQUESTS:
            parts[name] = Part(REGISTERED, parameters)
            links.append(Link(end, f"{name}.requests"))
            exports |= {f"{channel}[{place}]": f"{name}.{channel}" for channel in CHANNELS}
        elif port == REPLIES:
            links.append(Link(f"{name}.replies", end))
        else:
            exports[label] = end
    return replace(composition, parts=parts, links=tuple(links), exports=exports)


def axi_module(composition: Composition) -> str:
    """Return the Verilog of a wrapper whose ports have the usual names of AXI4, such as ``m0_axi_araddr``."""
    interface = composition.interface()
    names = axi_names(composition)
    wires = {wire.name: replace(wire, name=names[wire.name]) for wire in interface.wires()}
    ports = ",\n".join(f"    {wire}" for wire in wires.values())
    pins = ",\n".join(f"        .{name}({wire.name})" for name, wire in wires.items())
    head = f"module {interface.module}_axi(\n{ports}\n);\n"
    return f"{head}    {interface.module} machine(\n{pins}\n    );\nendmodule\n"


def axi_names(composition: Composition) -> dict[str, str]:
    """Return the name in the wrapper for each wire of a machine of ``with_axi``."""
    # ``ar_0_addr`` becomes ``m0_axi_araddr``; wires of other ports keep their names
    pattern = re.compile(rf"({'|'.join(CHANNELS)})_(\d+)_(\w+)")
    names = [wire.name for wire in composition.interface().wires()]
    return {name: pattern.sub(r"m\2_axi_\1\3", name) if pattern.fullmatch(name) else name for name in names}
