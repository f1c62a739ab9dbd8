"""The crossbar with iSLIP matching as RTL: the twin of ``IslipCrossbar``, which routes by coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyrtl

from fiberscope.hw.networks.crossbar_rtl import CrossbarAdapter, Turn, show_losers, status
from fiberscope.hw.networks.islip import MAX_PORTS, IslipCrossbar
from fiberscope.hw.networks.routes import CoordinateRoute
from fiberscope.hw.rtl.kit.channel import pointer
from fiberscope.hw.rtl.kit.parameters import Parameters, number, one_of, payload_widths
from fiberscope.hw.rtl.kit.sram import REGISTERED, Sram, memory_parameter
from fiberscope.hw.rtl.kit.trees import any_of, chosen
from fiberscope.hw.rtl.kit.twin import (
    DataRegister,
    InputStream,
    Signal,
    Streams,
    alias,
    index_bits,
    packed,
    unpacked,
)
from fiberscope.hw.rtl.kit.unit import Each, PortContents, unit

DEPTHS = (1, 64)


@dataclass(frozen=True)
class IslipParameters(Parameters):
    """Parameters of a crossbar; widths in bits, 0 for an omitted field.

    Args:
        inputs: number of inputs, 1 to 32.
        outputs: number of outputs, a power of two up to 32; the low bits of a coordinate select the output.
        depth: tokens in the FIFO of each pair of input and output, 1 to 64.
        coordinate_bits: bits of a coordinate, 5 to 62.
        reference_bits: bits of a reference, 0 to 64.
        value_bits: bits of a value: 0, 32 or 64.
        memory: read of the FIFOs: ``combinational`` or ``registered``, with the same timing of the module.
    """

    inputs: int = number(8, 1, MAX_PORTS)
    outputs: int = one_of(8, 1, 2, 4, 8, 16, MAX_PORTS)
    depth: int = number(8, *DEPTHS)
    coordinate_bits: int = number(32, 5, 62)
    reference_bits: int = number(0, 0, 64)
    value_bits: int = one_of(32, 0, 32, 64)
    memory: str = memory_parameter()


def port_contents(parameters: IslipParameters) -> PortContents:
    """Return the ports: arrays of independent streams, whose tokens also have a control bit."""
    token = {"control": 1, "coordinate": parameters.coordinate_bits}
    token |= payload_widths(parameters.reference_bits, parameters.value_bits)
    return {"inputs": Each(token, parameters.inputs), "outputs": Each(token, parameters.outputs)}


@dataclass(frozen=True)
class _Queues:
    """The FIFOs of an input.

    Args:
        waits: for each output, whether its FIFO has a token.
        takes: for each output, a wire to drive: whether the first token leaves; at most one may be high.
        word: the first token of the FIFO from which a token leaves.
    """

    waits: list[Signal]
    takes: list[Signal]
    word: Signal


def design(parameters: IslipParameters, streams: Streams) -> None:
    """Create the FIFOs, a round-robin arbiter for each output, and one for each input.

    Each output with space grants the FIFO of one input, and each input accepts one grant. The priorities of
    both arbiters change only if the grant is accepted.
    """
    inputs, outputs = list(streams.inputs.values()), list(streams.outputs.values())
    queues = [_queues(parameters, f"{i:02}", source) for i, source in enumerate(inputs)]
    # Requests, grants and accepts are the three phases of one iteration of iSLIP, all in one cycle.
    wanting = [[row.waits[place] for row in queues] for place in range(parameters.outputs)]
    turns = [
        Turn(f"output_{i:02}", [flag & sink.ready for flag in flags])
        for i, (flags, sink) in enumerate(zip(wanting, outputs, strict=True))
    ]
    for i, row in enumerate(queues):
        # An input may get grants of several outputs, and accepts one.
        own = Turn(f"input_{i:02}", [turn.first[i] for turn in turns])
        own.pass_on(row.takes)
        for wire, flag in zip(row.takes, own.first, strict=True):
            wire <<= flag  # noqa: PLW2901  (PyRTL connects wires by this operator)
    takes = [[row.takes[place] for row in queues] for place in range(parameters.outputs)]
    for place, (sink, turn, column) in enumerate(zip(outputs, turns, takes, strict=True)):
        # ``column``, not ``turn.first``: a grant that the input declines keeps its priority.
        turn.pass_on(column)
        word = chosen(column, [row.word for row in queues])
        sink.send(any_of(f"sends_{place:02}", column), unpacked(word, inputs[0].fields))
    show_losers(streams, wanting, takes)


def _queues(parameters: IslipParameters, name: str, source: InputStream) -> _Queues:
    """Create the FIFOs of an input, in one memory: at most one token enters and one leaves in a cycle."""
    count, depth = parameters.outputs, parameters.depth
    goal = source.fields["coordinate"][: index_bits(count)] if count > 1 else pyrtl.Const(0, 1)
    goals = [goal == place for place in range(count)]
    # ``design`` drives these wires later: its arbiters need the state of all FIFOs first.
    takes: list[Signal] = [pyrtl.WireVector(1, f"takes_{name}_{place:02}") for place in range(count)]
    held: list[Signal] = [pyrtl.Register(depth.bit_length(), f"held_{name}_{i:02}") for i in range(count)]
    # A full FIFO takes no token, even if one leaves in this cycle, as in the component
    room = alias(f"room_{name}", chosen(goals, [filled < depth for filled in held]))
    source.accept(room)
    puts = [alias(f"puts_{name}_{i:02}", source.valid & room & here) for i, here in enumerate(goals)]
    for filled, put, take in zip(held, puts, takes, strict=True):
        filled.next <<= (filled + put - take)[: len(filled)]
    tails = [pointer(f"tail_{name}_{i:02}", depth, put) for i, put in enumerate(puts)]
    heads = [pointer(f"head_{name}_{i:02}", depth, take) for i, take in enumerate(takes)]
    if parameters.memory == REGISTERED:
        queues = _RegisteredFifos(name, takes, held, puts, source)
        tail = pyrtl.concat(goal, chosen(goals, tails))
        return _Queues([filled != 0 for filled in held], takes, queues.word(tail, heads, source.valid & room))
    memory = pyrtl.MemBlock(
        sum(map(len, source.fields.values())),
        index_bits(count) + index_bits(depth),
        f"queues_{name}",
        asynchronous=True,
    )
    word = packed(source.fields)
    tail = pyrtl.concat(goal, chosen(goals, tails))
    memory[tail] <<= pyrtl.MemBlock.EnabledWrite(word, enable=source.valid & room)
    numbers = [pyrtl.Const(place, index_bits(count)) for place in range(count)]
    head = pyrtl.concat(chosen(takes, numbers), chosen(takes, heads))
    return _Queues([filled != 0 for filled in held], takes, memory[head])


class _RegisteredFifos:
    """The FIFOs of an input in one memory with a registered output, and the first token of each.

    A token that enters an empty FIFO goes to a register, and is the first token from the next cycle on. When
    a first token leaves, the memory reads the next one.

    Args:
        name: suffix of the names of wires: the number of the input.
        takes, held, puts: for each output, whether a token leaves, the number of tokens, and whether one
            enters.
        source: the stream of the tokens that enter.
    """

    def __init__(
        self,
        name: str,
        takes: Sequence[Signal],
        held: Sequence[Signal],
        puts: Sequence[Signal],
        source: InputStream,
    ) -> None:
        self.name, self.takes, self.held, self.puts = name, takes, held, puts
        self.coming = packed(source.fields)

    def word(self, tail: Signal, heads: Sequence[Signal], writes: Signal) -> Signal:
        """Create the memory; return the first token of the FIFO from which a token leaves.

        Args:
            tail: address at which the token that enters is written.
            heads: for each output, the register with the position of its first token.
            writes: whether a token enters.
        """
        numbers = [pyrtl.Const(place, len(tail) - len(heads[0])) for place in range(len(heads))]
        memory = Sram(f"queues_{self.name}", 1 << len(tail), len(self.coming))
        memory.write(tail, [self.coming], [writes])
        # ``reg_in`` is the head after this cycle: the memory reads the token after the one that leaves.
        following = pyrtl.concat(chosen(self.takes, numbers), chosen(self.takes, [h.reg_in for h in heads]))
        (read,) = memory.read(following, pyrtl.Const(1, 1))
        return chosen(self.takes, [self._first(place, read) for place in range(len(heads))])

    def _first(self, place: int, read: Signal) -> Signal:
        """Return the first token of a FIFO: from a register, or from memory after the one before has left."""
        take, name = self.takes[place], f"{self.name}_{place:02}"
        kept: Signal = DataRegister(len(read), f"first_{name}")
        is_read: Signal = pyrtl.Register(1, f"is_read_{name}")
        first = pyrtl.select(is_read, read, kept)
        # ``held`` equals ``take`` if the FIFO is empty, or if its only token leaves now
        into_empty = self.puts[place] & (self.held[place] == take)
        is_read.next <<= take & ~into_empty
        # ``read`` is valid for one cycle, so ``kept`` takes over a first token that stays.
        kept.next <<= pyrtl.select(into_empty, self.coming, first)
        return first


BLOCK = unit(
    "islip",
    IslipCrossbar,
    IslipParameters,
    port_contents,
    design,
    status=lambda parameters: status(parameters.inputs, parameters.outputs),
    base=CrossbarAdapter,
    matching=IslipParameters,
    component=lambda name, parameters: IslipCrossbar(name, CoordinateRoute(), parameters.depth),
)
