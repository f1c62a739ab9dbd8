"""A block with a channel at each of its ports, as RTL and as a component, so that one bench runs on both.

In such a front every valid and ready comes out of a register: neither waits for the other, whatever the block
does in a cycle, so that the benches and interconnects of others (AXI4-Stream) find what they expect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from hw.rtl import channel
from hw.rtl.channel import ChannelParameters
from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.interface import FIELDS, Interface, Stream, Token
from hw.rtl.kit.parameters import Parameters
from hw.rtl.kit.twin import module_head
from sim import ANY, Component, Input, Kernel, Output

CAPACITY = 2  # of the channels: one token in and one out in every cycle


def front(interface: Interface) -> Interface:
    """The ports of a block behind channels: one stream a port, and no status."""
    return Interface(interface.module, tuple(stream for stream in interface.streams if not stream.lane))


DRIVEN = "driven_"  # what the names of a shell's registers begin with, one for each output


def shell(interface: Interface) -> str:
    """An empty module with these ports, whose outputs are registers that nothing in it writes.

    The event model does so from a bench. (A port that nothing writes would be a constant to Verilator.)
    """
    outputs = [wire for wire in interface.wires() if wire.direction == "output"]
    registers = [f"    reg {_range(wire.width)}{DRIVEN}{wire.name} = 0;" for wire in outputs]
    assignments = [f"    assign {wire.name} = {DRIVEN}{wire.name};" for wire in outputs]
    head = module_head(interface.module, interface)
    return head + "\n".join([*registers, *assignments, "endmodule", ""])


def fronted(block: RtlBlock, parameters: Parameters) -> str:
    """Verilog of a block with a channel at each port, under the block's own name.

    Raises:
        ValueError: if the block sends several tokens a cycle at a port, which no channel of Verilog takes.
    """
    inner = block.interface(parameters)
    lanes = [stream.port[0] for stream in inner.streams if stream.lane]
    if lanes:
        raise ValueError(f"{block.name} sends several tokens a cycle at {lanes[0]}, which no channel takes")
    module = inner.module
    widths = list(dict.fromkeys(tuple(stream.widths.items()) for stream in inner.streams))
    queues = {fields: f"{module}_port_{number}" for number, fields in enumerate(widths)}
    nets = [
        f"    wire {_range(wire.width)}{wire.name};"
        for stream in inner.streams
        for wire in _inside(stream).wires()
    ]
    placed = [_queue(stream, queues[tuple(stream.widths.items())]) for stream in inner.streams]
    pins = [f".{name}({name})" for name in ("clk", "rst")]
    for stream in inner.streams:
        for pin, net in zip(stream.wires(), _inside(stream).wires(), strict=True):
            pins.append(f".{pin.name}({net.name})")
    core = f"    {module}_core core ({', '.join(pins)});"
    texts = [channel.BLOCK.modules(_parameters(dict(fields)), name) for fields, name in queues.items()]
    top = [module_head(module, front(inner)), *nets, *placed, core, "endmodule", ""]
    return "\n".join([*top, block.modules(parameters, f"{module}_core"), *texts])


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


def _inside(stream: Stream) -> Stream:
    """The stream between a port's channel and the block."""
    return replace(stream, prefix=f"inner_{stream.prefix}")


def _parameters(widths: Mapping[str, int]) -> ChannelParameters:
    return ChannelParameters(CAPACITY, 1, **{f"{name}_bits": widths.get(name, 0) for name in FIELDS})


def _queue(stream: Stream, module: str) -> str:
    """The channel at a port."""
    into, out = (stream, _inside(stream)) if stream.direction == "input" else (_inside(stream), stream)
    pins = [".clk(clk)", ".rst(rst)"]
    for own, there in zip(channel.interface(_parameters(stream.widths)).streams, (into, out), strict=True):
        for part in ("valid", *own.widths, "ready"):
            pins.append(f".{own.wire(part)}({there.wire(part)})")
    return f"    {module} queue_{stream.prefix} ({', '.join(pins)});"


class Pins(Component):
    """What stands at all ports of a component in a model: pushes what was given, pops what was taken."""

    PORTS = (Output("into", ANY, array=True), Input("out", ANY, array=True))

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.given: dict[int, Token] = {}
        self.taken: set[int] = set()

    def tick(self, now: int) -> int:
        """Move what moved at the pins in this cycle."""
        for i, token in self.given.items():
            self.channels("into")[i].push(*token)
        for i in self.taken:
            self.channels("out")[i].pop()
        return self.busy(now + 1)


class Model:
    """A component behind the pins of its front: ``outputs`` of a cycle, then ``clock`` with its inputs.

    Args:
        interface: of the block, not of its front.
        component: makes the component.
    """

    def __init__(self, interface: Interface, component: Callable[[str], Component]) -> None:
        streams = front(interface).streams
        self._into = [stream for stream in streams if stream.direction == "input"]
        self._out = [stream for stream in streams if stream.direction == "output"]
        self._kernel = Kernel()
        self._kernel.clock("core", 10**9)
        self._pins = self._kernel.add(Pins("pins"))
        block = self._kernel.add(component("block"))
        connect = self._kernel.connect
        self._sources = [
            connect(self._pins, f"into[{i}]", block, stream.label, capacity=CAPACITY)
            for i, stream in enumerate(self._into)
        ]
        self._sinks = [
            connect(block, stream.label, self._pins, f"out[{i}]", capacity=_capacity(interface, stream))
            for i, stream in enumerate(self._out)
        ]
        self._kernel.build()

    def outputs(self) -> dict[str, int]:
        """The bits at every output of the front in the cycle to come; the fields of no token are 0."""
        bits = {
            stream.wire("ready"): int(source.occupancy < source.capacity)
            for stream, source in zip(self._into, self._sources, strict=True)
        }
        for stream, sink in zip(self._out, self._sinks, strict=True):
            bits[stream.wire("valid")] = int(sink.occupancy > 0)
            bits.update(dict.fromkeys(map(stream.wire, stream.widths), 0))
            if sink.occupancy:
                token = Token(sink.control(), sink.coordinate(), sink.reference(), sink.value())
                bits.update(stream.encode(token))
        return bits

    def clock(self, wires: Mapping[str, int]) -> None:
        """Run the cycle in which all wires of the front were so."""
        self._pins.given = {
            i: stream.decode(wires) for i, stream in enumerate(self._into) if moves(stream, wires)
        }
        self._pins.taken = {i for i, stream in enumerate(self._out) if moves(stream, wires)}
        self._kernel.step()


def moves(stream: Stream, wires: Mapping[str, int]) -> bool:
    """Whether valid and ready are both high."""
    return bool(wires[stream.wire("valid")] and wires[stream.wire("ready")])


def _capacity(interface: Interface, stream: Stream) -> int:
    """Of the channel at a port: at least for all tokens of a cycle."""
    return max(CAPACITY, sum(other.port == stream.port for other in interface.streams))
