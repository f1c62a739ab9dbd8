"""The RTL of ``fiberscope.sim.channel.Channel``, whose reader and writer are on the same clock.

The module moves the same tokens in the same cycles as the channel of a simulation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, or_
from typing import ClassVar, Protocol

import pyrtl

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.interface import Interface, Stream, Token, streams
from fiberscope.hw.rtl.kit.parameters import Parameters, check_range, number, one_of
from fiberscope.hw.rtl.kit.twin import (
    DataRegister,
    OutputStream,
    Signal,
    Streams,
    alias,
    index_bits,
    packed,
    unpacked,
)
from fiberscope.sim import ANY, Input, Output
from fiberscope.sim.channel import Channel

CAPACITY = (1, 1024)  # minimum and maximum
LATENCY = (1, 64)
PENDING = "pending"  # status of a module that may act while nothing at its ports changes
DRAINED = "drained"  # input without fields that is ready while the channel is empty


@dataclass(frozen=True)
class ChannelParameters(Parameters):
    """Parameters of a channel; widths are in bits, 0 for an omitted field.

    Args:
        capacity: tokens, including those in flight, 1 to 1024.
        latency: cycles from a push until the token is visible, 1 to 64.
        control_bits: 0 to 32.
        coordinate_bits: 0 to 63.
        reference_bits: 0 to 64.
        value_bits: 0, 32 or 64.
        lanes: maximum number of tokens in one cycle, 1 or 2, at most the capacity.

    Raises:
        ValueError: a number out of range, or a token without fields.
    """

    capacity: int = number(2, *CAPACITY)
    latency: int = number(1, *LATENCY)
    control_bits: int = number(1, 0, 32)
    coordinate_bits: int = number(32, 0, 63)
    reference_bits: int = number(64, 0, 64)
    value_bits: int = one_of(64, 0, 32, 64)
    lanes: int = 1

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        _check_size(self)
        if not self.widths:
            raise ValueError("channel: a token needs a field, so not all widths can be 0")

    @property
    def widths(self) -> dict[str, int]:
        """Bits by field, without omitted fields."""
        bits = {
            "control": self.control_bits,
            "coordinate": self.coordinate_bits,
            "reference": self.reference_bits,
            "value": self.value_bits,
        }
        return {field: width for field, width in bits.items() if width}

    @property
    def tokens(self) -> Stream:
        """The output stream."""
        return Stream("out", "out", "output", self.widths)


@dataclass(frozen=True)
class ChannelOf(Parameters):
    """A channel for the content of a stream, including rows of a bundle.

    Args:
        tokens: the output stream ``out``; see ``carrying``.
        capacity: tokens, or rows.
        latency, lanes: see ``ChannelParameters``.
        drained: whether an input of this name, without fields, is ready while the channel is empty.
    """

    tokens: Stream
    capacity: int = 2
    latency: int = 1
    lanes: int = 1
    drained: bool = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        _check_size(self)


def carrying(
    stream: Stream, capacity: int, latency: int = 1, lanes: int = 1, *, drained: bool = False
) -> ChannelOf:
    """Return the parameters of a channel for the content of a stream.

    Parameters for equal contents are equal, so that such channels share a module.

    Args:
        stream: a stream with the fields to carry; its label, prefix and direction do not matter.
        capacity, latency, lanes, drained: see ``ChannelOf``.
    """
    tokens = replace(stream, label="out", prefix="out", direction="output")
    return ChannelOf(tokens, capacity, latency, lanes, drained)


def _check_size(parameters: ChannelParameters | ChannelOf) -> None:
    check_range("channel", "capacity", parameters.capacity, *CAPACITY)
    check_range("channel", "latency", parameters.latency, *LATENCY)
    check_range("channel", "lanes", parameters.lanes, 1, min(2, parameters.capacity))


def interface(parameters: ChannelParameters | ChannelOf) -> Interface:
    """Return the ports: ``in``, or ``in[0]`` and ``in[1]``, and ``out``.

    ``pending`` is high while a token is inside or enters.
    """
    out = parameters.tokens
    if parameters.lanes > 1:
        sources = streams("in", "input", out.content, parameters.lanes)
    else:
        sources = [replace(out, label="in", prefix="in", direction="input")]
    if isinstance(parameters, ChannelOf) and parameters.drained:
        sources.append(Stream(DRAINED, DRAINED, "input", {}))
    return Interface("channel", (*sources, out), (PENDING,))


def design(parameters: ChannelParameters | ChannelOf, streams: Streams) -> None:
    """Create a buffer that forwards tokens unchanged.

    Args:
        streams: the streams of ``interface``.
    """
    inputs = dict(streams.inputs)
    drained = inputs.pop(DRAINED, None)
    sources = list(inputs.values())
    held, pushes = buffered(
        parameters, sources, [source.fields for source in sources], streams.outputs["out"]
    )
    if drained is not None:
        drained.accept(held == 0)
    streams.show(PENDING, (held != 0) | reduce(or_, pushes))


class Sized(Protocol):
    """The capacity of a channel, including tokens in flight, and its latency in cycles."""

    @property
    def capacity(self) -> int:
        """Tokens, 1 or more."""

    @property
    def latency(self) -> int:
        """Cycles, 1 or more."""


class Source(Protocol):
    """A source of tokens, such as an ``InputStream``; ``valid`` is high while it offers a token."""

    valid: Signal

    def accept(self, ready: Signal) -> None:
        """Drive ``ready``: whether the channel has space for the token."""


def buffered(
    parameters: Sized,
    sources: Sequence[Source],
    contents: Sequence[Mapping[str, Signal]],
    sink: OutputStream,
    late: bool = False,
) -> tuple[Signal, list[Signal]]:
    """Create a circular buffer.

    A pushed token occupies a slot from the next cycle on, and is visible at the sink after the latency.

    A slot that is freed in a cycle accepts a token from the next cycle on, so that ``ready`` and ``valid``
    depend only on registers. Lane n accepts a token if there is space for n + 1 tokens, and only together
    with the lanes before.

    Args:
        parameters: capacity and latency.
        sources: one stream for each lane.
        contents: for each lane, the forwarded fields.
        sink: the output.
        late: whether the fields arrive in the last cycle of the latency, not the first; for a single lane.

    Returns:
        The register with the number of tokens, and for each lane whether it accepts a token.
    """
    held: Signal = pyrtl.Register(parameters.capacity.bit_length(), "held")
    rooms = [alias(f"room_{i}", held < parameters.capacity - i) for i in range(len(sources))]
    pushes = [
        alias(f"pushed_{i}", source.valid & room)
        for i, (source, room) in enumerate(zip(sources, rooms, strict=True))
    ]
    pushed = reduce(add, pushes)
    popped: Signal = pyrtl.WireVector(1, "popped")
    shown, comes = held, pushed  # tokens whose latency has passed, and those whose latency passes now
    if parameters.latency > 1:
        shown, comes = pyrtl.Register(len(held), "shown"), _delayed(pushed, parameters.latency - 1)
        shown.next <<= _counted(shown, comes, popped)
    visible = alias("visible", shown != 0)
    popped <<= visible & sink.ready
    held.next <<= _counted(held, pushed, popped)

    words = [packed(fields) for fields in contents]
    store = stored if len(words) == 1 else _alternating
    for source, room in zip(sources, rooms, strict=True):
        source.accept(room)
    written = [comes] if late else pushes
    sink.send(visible, unpacked(store(parameters.capacity, words, written, popped), contents[0]))
    return held, pushes


def _counted(count: Signal, more: Signal, fewer: Signal) -> Signal:
    """Return the next state of a counter; it never overflows, as full channels accept nothing."""
    return (count + more - fewer)[: len(count)]


def _delayed(wire: Signal, cycles: int) -> Signal:
    """Return a wire delayed by ``cycles`` cycles; low at first, as the registers have a reset."""
    for cycle in range(cycles):
        behind: Signal = pyrtl.Register(len(wire), f"under_way_{cycle:02}")
        behind.next <<= wire
        wire = behind
    return wire


def _alternating(capacity: int, words: Sequence[Signal], pushed: Sequence[Signal], popped: Signal) -> Signal:
    """Return the oldest word of a buffer that takes up to two words in a cycle.

    Words are stored in two banks in turn, so that each bank takes at most one word in a cycle.
    """
    tail_odd: Signal = pyrtl.Register(1, "tail_side")
    head_odd: Signal = pyrtl.Register(1, "head_side")
    tail_odd.next <<= tail_odd ^ pushed[0] ^ pushed[1]
    head_odd.next <<= head_odd ^ popped
    heads = []
    for side, first, read in (("even", ~tail_odd, ~head_odd), ("odd", tail_odd, head_odd)):
        word, written = pyrtl.select(first, *words), pyrtl.select(first, *pushed)
        heads.append(stored((capacity + 1) // 2, [word], [written], popped & read, f"_{side}"))
    return pyrtl.select(head_odd, heads[1], heads[0])


def stored(
    capacity: int, words: Sequence[Signal], pushes: Sequence[Signal], popped: Signal, side: str = ""
) -> Signal:
    """Return the oldest word in a buffer that takes at most one word in a cycle.

    Args:
        capacity: maximum number of words.
        words: the word to push, as the only element.
        pushes: whether it is pushed, as the only element.
        popped: whether the oldest word leaves.
        side: suffix of the names of registers.
    """
    (word,), (pushed,) = words, pushes
    if capacity == 1:
        slot: Signal = DataRegister(len(word), f"slot{side}")
        slot.next <<= pyrtl.select(pushed, word, slot)
        return slot
    slots = pyrtl.MemBlock(len(word), index_bits(capacity), f"slots{side}", asynchronous=True)
    tail, head = pointer(f"tail{side}", capacity, pushed), pointer(f"head{side}", capacity, popped)
    slots[tail] <<= pyrtl.MemBlock.EnabledWrite(word, enable=pushed)
    return slots[head]


def pointer(name: str, capacity: int, advance: Signal) -> Signal:
    """Return a register with a slot number, which moves to the next slot while ``advance`` is high."""
    place: Signal = pyrtl.Register(index_bits(capacity), name)
    place.next <<= pyrtl.select(advance, following(place, capacity), place)
    return place


def following(place: Signal, capacity: int) -> Signal:
    """Return the number of the next slot; after the last of ``capacity`` slots, 0."""
    last = place == capacity - 1
    return pyrtl.select(last, pyrtl.Const(0, len(place)), (place + 1)[: len(place)])


class PendingAdapter(Adapter):
    """An adapter for a component that acts while its status ``pending`` is high, which counts as busy.

    After a cycle with ``pending`` low and without a token, nothing happens until a port changes.
    """

    def account(self, now: int, moved: Mapping[str, Token], blocked: Channel | None) -> int:
        """See ``Adapter``: busy while a token moves or ``pending`` is high, else idle."""
        return self.busy(now + 1) if moved or self.status[PENDING] else self.idle()


class ChannelAdapter(PendingAdapter):
    """An adapter for the RTL of a channel, as a component with the ports ``in`` and ``out``."""

    PORTS = (Input("in", ANY), Output("out", ANY))
    FIBERS_OF: ClassVar[Mapping[str, str]] = {"out": "in"}


BLOCK = RtlBlock(
    "channel",
    "passes tokens on after a latency and holds up to capacity of them, as a channel between components does",
    ChannelParameters,
    ChannelParameters,
    interface,
    design,
    ChannelAdapter,
)
OF_STREAM = replace(BLOCK, parameters=ChannelOf, matching=ChannelOf, listed=False)
