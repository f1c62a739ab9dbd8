"""Pin-level access to an event model, so that a bench written for the RTL also runs on the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from fiberscope.hw.rtl.kit.interface import Interface, Stream, Token
from fiberscope.hw.rtl.kit.registered import CAPACITY
from fiberscope.hw.rtl.kit.twin import bit_range, module_head
from fiberscope.sim import ANY, Component, Input, Kernel, Output
from fiberscope.sim.channel import Channel

DRIVEN = "driven_"  # prefix of the registers that drive the outputs of a port module


def port_module(interface: Interface) -> str:
    """Return the Verilog text of a module without logic: its ports, and a register that drives each output.

    A bench writes values of the event model to these registers. Verilator would treat an undriven port as a
    constant.
    """
    outputs = [wire for wire in interface.wires() if wire.direction == "output"]
    registers = [f"    reg {bit_range(wire.width)}{DRIVEN}{wire.name} = 0;" for wire in outputs]
    assignments = [f"    assign {wire.name} = {DRIVEN}{wire.name};" for wire in outputs]
    head = module_head(interface.module, interface)
    return head + "\n".join([*registers, *assignments, "endmodule", ""])


class Pins(Component):
    """A component that pushes tokens into the inputs of a block and pops tokens from its outputs."""

    PORTS = (Output("into", ANY, array=True), Input("out", ANY, array=True))

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.pushed: dict[int, Token] = {}  # token of this cycle, by input number
        self.popped: set[int] = set()  # numbers of the outputs to pop in this cycle

    def tick(self, now: int) -> int:
        """Apply the transfers at the pins in this cycle."""
        for i, token in self.pushed.items():
            self.channels("into")[i].push(*token)
        for i in self.popped:
            self.channels("out")[i].pop()
        return self.busy(now + 1)


class Model:
    """A component with a channel at each port, simulated cycle by cycle.

    In each cycle, call ``outputs`` for the values that the component drives, then ``clock`` with the values
    of all wires.

    Args:
        streams: the streams of the block with a channel at every port.
        component: factory of the component; its argument is the name of the instance.
    """

    def __init__(self, streams: Sequence[Stream], component: Callable[[str], Component]) -> None:
        self._kernel = Kernel()
        self._kernel.clock("core", 10**9)
        self._pins = self._kernel.add(Pins("pins"))
        self._block = self._kernel.add(component("block"))
        numbers = {"input": count(), "output": count()}
        self._port_streams = [
            _PortStream(
                stream,
                [self._connect(stream, label, next(numbers[stream.direction])) for label in stream.labels],
            )
            for stream in streams
        ]
        self._kernel.build()

    def _connect(self, stream: Stream, label: str, number: int) -> tuple[int, Channel]:
        """Return a channel between a port of the block and the pins, and its number at the pins."""
        connect, pins, block = self._kernel.connect, self._pins, self._block
        if stream.direction == "input":
            return number, connect(pins, f"into[{number}]", block, label, capacity=CAPACITY)
        return number, connect(block, label, pins, f"out[{number}]", capacity=CAPACITY)

    def outputs(self) -> dict[str, int]:
        """Return the bits of the wires that the block drives in the next cycle; fields without a token are 0.

        These are ``ready`` of the inputs, and ``valid`` and the fields of the outputs.
        """
        return {wire: bits for port_stream in self._port_streams for wire, bits in port_stream.outputs()}

    def clock(self, wires: Mapping[str, int]) -> None:
        """Run the cycle with these values of all wires; a token moves where valid and ready are both high."""
        self._pins.pushed, self._pins.popped = {}, set()
        for port_stream in self._port_streams:
            if not port_stream.stream.moves(wires):
                continue
            if port_stream.stream.direction == "input":
                self._pins.pushed.update(port_stream.tokens(wires))
            else:
                self._pins.popped.update(number for number, _channel in port_stream.lanes)
        self._kernel.step()


@dataclass(frozen=True)
class _PortStream:
    """A stream of the block, with the number and the channel of each of its lanes."""

    stream: Stream
    lanes: Sequence[tuple[int, Channel]]

    def outputs(self) -> Iterator[tuple[str, int]]:
        """Yield the bits that the block drives in the next cycle."""
        stream, channels = self.stream, [channel for _number, channel in self.lanes]
        if stream.direction == "input":
            yield stream.wire("ready"), int(all(channel.occupancy < channel.capacity for channel in channels))
            return
        # The channels have a latency of one cycle: every token that they hold is visible in the next one.
        valid = all(channel.occupancy for channel in channels)
        yield stream.wire("valid"), int(valid)
        if valid:
            yield from stream.encode(*(Token(*channel.token(0)) for channel in channels))
        else:
            yield from dict.fromkeys(map(stream.wire, stream.widths), 0).items()

    def tokens(self, wires: Mapping[str, int]) -> Iterator[tuple[int, Token]]:
        """Yield the tokens on the wires, by the number of their channel."""
        return ((number, self.stream.decode(wires, i)) for i, (number, _channel) in enumerate(self.lanes))
