"""A channel as RTL: the twin of ``sim.channel.Channel`` with reader and writer on one clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyrtl

from hw.rtl.kit.adapter import Adapter
from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.interface import Interface, Stream, Token
from hw.rtl.kit.parameters import Parameters, check_range, check_value_bits
from hw.rtl.kit.twin import Signal, Streams, index_bits, named
from sim import ANY, Input, Output
from sim.channel import Channel

PENDING = "pending"  # status of a module that may act while nothing at its ports changes


@dataclass(frozen=True)
class ChannelParameters(Parameters):
    """What a channel is made for; widths in bits, 0 for a field that is left out.

    Args:
        capacity: tokens it holds, those under way included, 1 to 1024.
        latency: cycles from a push to the token being seen, 1 to 64.
        control_bits: 0 to 32.
        coordinate_bits: 0 to 63.
        reference_bits: 0 to 64.
        value_bits: 0, 32 or 64.

    Raises:
        ValueError: for a number out of its range, or a token without fields.
    """

    capacity: int = 2
    latency: int = 1
    control_bits: int = 1
    coordinate_bits: int = 32
    reference_bits: int = 64
    value_bits: int = 64

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        check_range("channel", "capacity", self.capacity, 1, 1024)
        check_range("channel", "latency", self.latency, 1, 64)
        check_range("channel", "control_bits", self.control_bits, 0, 32)
        check_range("channel", "coordinate_bits", self.coordinate_bits, 0, 63)
        check_range("channel", "reference_bits", self.reference_bits, 0, 64)
        check_value_bits("channel", self.value_bits, optional=True)
        if not self.widths:
            raise ValueError("channel: a token needs a field, so not all widths can be 0")

    @property
    def widths(self) -> dict[str, int]:
        """Bits by field, of those that a token has."""
        bits = {
            "control": self.control_bits,
            "coordinate": self.coordinate_bits,
            "reference": self.reference_bits,
            "value": self.value_bits,
        }
        return {field: width for field, width in bits.items() if width}


def interface(parameters: ChannelParameters) -> Interface:
    """Ports: ``in`` and ``out``; ``pending`` is high while a token is inside or enters."""
    return Interface(
        "channel",
        (
            Stream("in", "in", "input", parameters.widths),
            Stream("out", "out", "output", parameters.widths),
        ),
        (PENDING,),
    )


def design(parameters: ChannelParameters, between: Streams) -> None:
    """A circular buffer; tokens count as held at once, as shown when their latency is over.

    A slot freed in a cycle takes a token from the next on, so that ``ready`` depends on registers alone, as
    ``valid`` does.
    """
    source, sink = between.inputs["in"], between.outputs["out"]
    held: Signal = pyrtl.Register(parameters.capacity.bit_length(), "held")
    room = named("room", held != parameters.capacity)
    pushed = named("pushed", source.valid & room)
    popped: Signal = pyrtl.WireVector(1, "popped")
    shown = held
    if parameters.latency > 1:
        shown = pyrtl.Register(len(held), "shown")
        shown.next <<= _counted(shown, _delayed(pushed, parameters.latency - 1), popped)
    visible = named("visible", shown != 0)
    popped <<= visible & sink.ready
    held.next <<= _counted(held, pushed, popped)

    word = pyrtl.concat_list(list(source.fields.values()))
    head = _stored(parameters.capacity, word, pushed, popped)
    source.accept(room)
    sink.send(visible, _fields(parameters, head))
    between.show(PENDING, (held != 0) | pushed)


def _counted(count: Signal, more: Signal, fewer: Signal) -> Signal:
    """A counter's next state."""
    return (count + more - fewer)[: len(count)]


def _delayed(wire: Signal, cycles: int) -> Signal:
    for cycle in range(cycles):
        behind: Signal = pyrtl.Register(1, f"under_way_{cycle:02}")
        behind.next <<= wire
        wire = behind
    return wire


def _stored(capacity: int, word: Signal, pushed: Signal, popped: Signal) -> Signal:
    """The oldest of the words that were pushed and not popped."""
    if capacity == 1:
        slot: Signal = pyrtl.Register(len(word), "slot")
        slot.next <<= pyrtl.select(pushed, word, slot)
        return slot
    slots = pyrtl.MemBlock(len(word), index_bits(capacity), "slots", asynchronous=True)
    tail, head = _pointer("tail", capacity, pushed), _pointer("head", capacity, popped)
    slots[tail] <<= pyrtl.MemBlock.EnabledWrite(word, enable=pushed)
    return slots[head]


def _pointer(name: str, capacity: int, advance: Signal) -> Signal:
    """A register that goes around the slots."""
    pointer: Signal = pyrtl.Register(index_bits(capacity), name)
    last = pointer == capacity - 1
    following = pyrtl.select(last, pyrtl.Const(0, len(pointer)), (pointer + 1)[: len(pointer)])
    pointer.next <<= pyrtl.select(advance, following, pointer)
    return pointer


def _fields(parameters: ChannelParameters, word: Signal) -> dict[str, Signal]:
    """The fields of a word; the first is its lowest bits."""
    fields: dict[str, Signal] = {}
    low = 0
    for field, width in parameters.widths.items():
        fields[field] = word[low : low + width]
        low += width
    return fields


class PendingStandIn(Adapter):
    """Stands in for what acts by itself while its status ``pending`` is high; counts as busy meanwhile.

    After a cycle in which it is low and no token moves, nothing happens until something at a port changes.
    """

    def account(self, now: int, moved: Mapping[str, Token], blocked: Channel | None) -> int:
        """Busy while a token moves or is inside, else idle."""
        return self.busy(now + 1) if moved or self.status[PENDING] else self.idle()


class ChannelStandIn(PendingStandIn):
    """A channel as a component: what it takes at ``in`` it gives at ``out``."""

    PORTS = (Input("in", ANY), Output("out", ANY))


BLOCK = RtlBlock(
    "channel",
    "passes tokens on after a latency and holds up to capacity of them, as a channel between components does",
    ChannelParameters,
    ChannelParameters,
    interface,
    design,
    ChannelStandIn,
)
