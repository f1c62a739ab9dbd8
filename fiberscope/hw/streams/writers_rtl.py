"""RTL of ``ValuesWriter`` and ``CompressedWriter``, the writers of ``fiberscope.hw.streams.writers``.

Each word to write leaves with its address on ``store``, the write port of a memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.rtl.kit.arithmetic import ValueParameters, value_type
from fiberscope.hw.rtl.kit.codec import WHOLE_BITS
from fiberscope.hw.rtl.kit.parameters import Parameters, number
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias, index_bits, resized, unless
from fiberscope.hw.rtl.kit.unit import PortContents, Summed, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.memory_rtl import STORE, level_words, value_words
from fiberscope.hw.streams.stream_adapter_rtl import STORE_PORT, StreamAdapter
from fiberscope.hw.streams.tokens import DATA, EMPTY
from fiberscope.hw.streams.tokens_rtl import Head
from fiberscope.hw.streams.writers import CompressedWriter, ValuesWriter


@dataclass(frozen=True)
class ValuesWriterParameters(ValueParameters):
    """Parameters of a writer of values.

    Args:
        entries: number of words of the memory, 1 to 65536; the sender must not send more values.
        value_bits: width of a value if values are integers, 1 to 53.
        values: type of the values.
    """

    entries: int = number(512, 1, 1 << 16)
    value_bits: int = number(32, 1, WHOLE_BITS)
    values: str = value_type()


@dataclass(frozen=True)
class CompressedWriterParameters(Parameters):
    """Parameters of a writer of a compressed level.

    Args:
        fibers: largest number of fibers, 1 to 65536; the sender must not send more.
        elements: largest number of elements of all fibers, 1 to 65536; the sender must not send more.
        coordinate_bits: width of a coordinate, 4 to 55.
    """

    fibers: int = number(64, 1, 1 << 16)
    elements: int = number(512, 1, 1 << 16)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)


def values_contents(parameters: ValuesWriterParameters) -> PortContents:
    """Return the contents of the streams; ``store`` carries a value and its address."""
    store = value_words(parameters.entries, parameters.value_field)
    return {"in_val": tokens.values(parameters.value_field), STORE: store}


def values_design(parameters: ValuesWriterParameters, streams: Streams) -> None:
    """Build a writer of values: a counter of the values written is the address.

    Stops, N and done are dropped; they need no free slot of ``store``.
    """
    head, store = Head.from_stream(streams.inputs["in_val"]), streams.outputs[STORE]
    count: Signal = pyrtl.Register(index_bits(parameters.entries), "count")
    takes = alias("takes", head.shown & (~head.is_data | store.ready))
    streams.inputs["in_val"].accept(takes)
    count.next <<= pyrtl.select(takes & head.is_data, (count + 1)[: len(count)], count)
    store.send(head.is_data, {"address": count, "word": head.payload})


def compressed_contents(parameters: CompressedWriterParameters) -> PortContents:
    """Return the contents of the streams; ``store`` carries a segment, or with ``control`` 1 a coordinate.

    The segment at address 0, the start of the first fiber, is always 0 and is not written.
    """
    store = level_words(parameters.fibers, parameters.elements, parameters.coordinate_bits)
    return {"in_crd": tokens.numbers(parameters.coordinate_bits), STORE: store}


def compressed_design(parameters: CompressedWriterParameters, streams: Streams) -> None:
    """Build a writer of a compressed level: counters of coordinates and of fibers are the addresses.

    A stop ends a fiber, unless it can be the stop of a list without fibers. That is a stop of level 1 or
    higher at the start of the stream, or directly after another stop of level 1 or higher. An N is stored as
    the coordinate 0.
    """
    head, store = Head.from_stream(streams.inputs["in_crd"]), streams.outputs[STORE]
    # ``count`` is an address, and also a segment, which can be the number of all elements. ``fibers`` can be
    # the address of the last segment.
    count: Signal = pyrtl.Register(parameters.elements.bit_length(), "count")
    fibers: Signal = pyrtl.Register(index_bits(parameters.fibers + 1), "fibers")
    begun: Signal = pyrtl.Register(1, "begun")
    behind_fiber: Signal = pyrtl.Register(1, "behind_stop_of_fiber")
    ends = alias("ends", head.is_stop & (begun | behind_fiber | (head.level == 0)))
    stores = alias("stores", head.is_data | head.is_empty | ends)
    takes = alias("takes", head.shown & (~stores | store.ready))
    streams.inputs["in_crd"].accept(takes)
    following, next_fiber = (count + 1)[: len(count)], (fibers + 1)[: len(fibers)]
    count.next <<= pyrtl.select(takes & stores & ~ends, following, count)
    fibers.next <<= pyrtl.select(takes & ends, next_fiber, fibers)
    # Reset to 0, the registers describe the start of the stream as a place after a stop of level 1.
    begun.next <<= pyrtl.select(takes, ~head.is_control, begun)
    behind_fiber.next <<= pyrtl.select(takes & head.is_stop, head.level == 0, behind_fiber)
    address, word = (store.widths[name] for name in ("address", "word"))
    coordinate = unless(head.is_empty, head.payload).zero_extended(word)
    store.send(
        stores,
        {
            "control": ~ends,
            "address": pyrtl.select(ends, next_fiber.zero_extended(address), resized(count, address)),
            "word": pyrtl.select(ends, count.zero_extended(word), coordinate),
        },
    )


class WriterAdapter(StreamAdapter):
    """Adapter of a writer, whose only output is the port for the words that it writes."""

    def counters(self) -> dict[str, int]:
        """Return no counters, because a writer has no output streams."""
        return {}


class ValuesWriterAdapter(WriterAdapter):
    """Adapter of a writer of values, with a port for the words that it writes."""

    PORTS = (*ValuesWriter.PORTS, STORE_PORT)


class CompressedWriterAdapter(WriterAdapter):
    """Adapter of a writer of a compressed level, with a port for the words that it writes."""

    PORTS = (*CompressedWriter.PORTS, STORE_PORT)


VALUES = unit(
    "values_writer",
    ValuesWriter,
    ValuesWriterParameters,
    values_contents,
    values_design,
    base=ValuesWriterAdapter,
    counters={"stored": Summed("in_val", lambda token: token.control == DATA)},
    alone=False,
)


COMPRESSED = unit(
    "compressed_writer",
    CompressedWriter,
    CompressedWriterParameters,
    compressed_contents,
    compressed_design,
    base=CompressedWriterAdapter,
    counters={"stored": Summed("in_crd", lambda token: token.control in (DATA, EMPTY))},
    alone=False,
)
