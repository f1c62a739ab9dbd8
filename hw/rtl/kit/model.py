"""The component behind the pins of an empty module, so that a bench written for the RTL runs on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hw.rtl.kit.interface import Interface, Stream, Token
from hw.rtl.kit.registered import CAPACITY
from hw.rtl.kit.twin import module_head
from sim import ANY, Component, Input, Kernel, Output

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


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


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
    """A component between channels, cycle by cycle: the ``outputs`` of one, then ``clock`` with its inputs.

    Args:
        streams: of the block with a channel at every port.
        component: makes the component.
    """

    def __init__(self, streams: Sequence[Stream], component: Callable[[str], Component]) -> None:
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
            connect(block, stream.label, self._pins, f"out[{i}]", capacity=CAPACITY)
            for i, stream in enumerate(self._out)
        ]
        self._kernel.build()

    def outputs(self) -> dict[str, int]:
        """The bits of every stream in the cycle to come; the fields of no token are 0."""
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
        """Run the cycle in which all wires were so."""
        self._pins.given = {
            i: stream.decode(wires) for i, stream in enumerate(self._into) if stream.moves(wires)
        }
        self._pins.taken = {i for i, stream in enumerate(self._out) if stream.moves(wires)}
        self._kernel.step()
