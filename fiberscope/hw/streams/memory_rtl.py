"""Memories of stream blocks, which are read within a cycle and filled through a port before the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pyrtl

from fiberscope.hw.rtl.kit.interface import Content, Field
from fiberscope.hw.rtl.kit.twin import Signal, index_bits

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.backend import Backend
    from fiberscope.hw.rtl.kit.interface import Interface, Token

# Ports that only modules have: to fill a memory, or to write into the memory of another module.
LOAD, STORE = "load", "store"
LISTS, STORED = "lists", "stored"  # tables that the two ends of a merger share in the event model
ALONE = (LOAD, LISTS, STORED)  # inputs that only modules have
OVERFLOW = "overflow"  # output of the points for which an accumulator has no free entry


class Memory:
    """A memory whose words are read in the cycle of their address, as in a register file.

    A word that is written is visible from the next cycle on. Nothing resets the words.

    Args:
        name: name of the memory in the Verilog.
        entries: number of words.
        bits: width of a word.
        reads: number of read ports; each use of ``[]`` takes one.
    """

    def __init__(self, name: str, entries: int, bits: int, reads: int = 2) -> None:
        self.entries = entries
        self._words = pyrtl.MemBlock(bits, index_bits(entries), name, max_read_ports=reads, asynchronous=True)

    def __getitem__(self, address: Signal) -> Signal:
        """Return the word at an address; excess high bits of the address are ignored."""
        return pyrtl.as_wires(self._words[address[: self._words.addrwidth]])  # else each use is another read

    def write(self, address: Signal, word: Signal, enable: Signal) -> None:
        """Write a word at the end of the cycle if ``enable`` is 1; call this at most once.

        Excess high bits of the address and of the word are ignored.
        """
        place = address[: self._words.addrwidth]
        self._words[place] <<= pyrtl.MemBlock.EnabledWrite(word[: self._words.bitwidth], enable)


def level_words(fibers: int, elements: int, coordinate_bits: int) -> Content:
    """Return the fields of a port to a level's memories: a segment, or a coordinate if ``control`` is 1.

    Args:
        fibers: number of fibers; there is one more segment.
        elements: number of elements of all fibers.
        coordinate_bits: width of a coordinate.
    """
    address = max(index_bits(fibers + 1), index_bits(elements))
    word = max(elements.bit_length(), coordinate_bits)
    return {
        "control": 1,
        "address": Field("coordinate", address, "unsigned"),
        "word": Field("reference", word, "unsigned"),
    }


def value_words(entries: int, value: Field) -> Content:
    """Return the fields of a port to a memory of values.

    Args:
        entries: number of values.
        value: field of a value.
    """
    return {"address": Field("coordinate", index_bits(entries), "unsigned"), "word": value}


def fill(backend: Backend, interface: Interface, loads: Mapping[str, Iterable[Token]]) -> Backend:
    """Fill the memories of a module, one word per cycle, and make its store outputs always ready.

    Args:
        backend: the module, directly after reset.
        interface: the ports of the module.
        loads: the tokens for each memory port, by label.

    Returns:
        The backend; its next cycle is the first one after the memories are filled.
    """
    streams = {stream.label: stream for stream in interface.streams}
    for label, tokens in loads.items():
        stream = streams[label]
        for token in tokens:  # a memory accepts a word in every cycle, so ``ready`` is not read
            backend.words.drive({stream.wire("valid"): 1, **dict(stream.encode(token))})
            backend.cycle()
        backend.words.drive({stream.wire("valid"): 0} | {stream.wire(field): 0 for field in stream.widths})
    stores = [stream for stream in interface.streams if stream.label.endswith(STORE)]
    backend.words.drive({stream.wire("ready"): 1 for stream in stores})
    return backend
