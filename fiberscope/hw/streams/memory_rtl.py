"""Memories of the stream machine's blocks: read within the cycle, filled through a port before the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pyrtl

from fiberscope.hw.rtl.kit.interface import Content, Field
from fiberscope.hw.rtl.kit.twin import Signal, index_bits

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.backend import Backend
    from fiberscope.hw.rtl.kit.interface import Interface, Token

__all__ = [
    "ALONE",
    "LISTS",
    "LOAD",
    "OVERFLOW",
    "STORE",
    "STORED",
    "Memory",
    "fill",
    "level_words",
    "value_words",
]

# Ports of modules alone, by which a memory is filled, or what is written is given to one.
LOAD, STORE = "load", "store"
LISTS, STORED = "lists", "stored"  # of a merger's two ends, which an event model has in common
ALONE = (LOAD, LISTS, STORED)  # inputs of modules alone
OVERFLOW = "overflow"  # where that leaves for which an accumulator has no place


class Memory:
    """Words that are read in the cycle of their address, as those of a register file are.

    Args:
        name: the name of the memory in the Verilog.
        entries: how many words.
        bits: the bits of a word.
        reads: that are read in a cycle, at the most.
    """

    def __init__(self, name: str, entries: int, bits: int, reads: int = 2) -> None:
        self.entries = entries
        self._words = pyrtl.MemBlock(bits, index_bits(entries), name, max_read_ports=reads, asynchronous=True)

    def __getitem__(self, address: Signal) -> Signal:
        """The word at an address, whose bits above those that number the words are left out."""
        return pyrtl.as_wires(self._words[address[: self._words.addrwidth]])  # else each use is another read

    def write(self, address: Signal, word: Signal, enable: Signal) -> None:
        """Write a word at the end of the cycle, if enabled; once."""
        place = address[: self._words.addrwidth]
        self._words[place] <<= pyrtl.MemBlock.EnabledWrite(word[: self._words.bitwidth], enable)


def level_words(fibers: int, elements: int, coordinate_bits: int) -> Content:
    """Fields of a port to the memories of a level: a segment, or where ``control`` is 1 a coordinate."""
    address = max(index_bits(fibers + 1), index_bits(elements))
    word = max(elements.bit_length(), coordinate_bits)
    return {
        "control": 1,
        "address": Field("coordinate", address, "unsigned"),
        "word": Field("reference", word, "unsigned"),
    }


def value_words(entries: int, value: Field) -> Content:
    """Fields of a port to a memory of values."""
    return {"address": Field("coordinate", index_bits(entries), "unsigned"), "word": value}


def fill(backend: Backend, interface: Interface, loads: Mapping[str, Iterable[Token]]) -> Backend:
    """Fill the memories of a module, a word of each in a cycle, and be ready for all that it stores.

    Args:
        backend: the module, freshly reset.
        interface: its ports.
        loads: tokens for its ports of memories by their labels.

    Returns:
        The backend, the next cycle of which is the first one behind that.
    """
    streams = {stream.label: stream for stream in interface.streams}
    for label, tokens in loads.items():
        stream = streams[label]
        for token in tokens:
            backend.words.drive({stream.wire("valid"): 1, **dict(stream.encode(token))})
            backend.cycle()
        backend.words.drive({stream.wire("valid"): 0} | {stream.wire(field): 0 for field in stream.widths})
    stores = [stream for stream in interface.streams if stream.label.endswith(STORE)]
    backend.words.drive({stream.wire("ready"): 1 for stream in stores})
    return backend
