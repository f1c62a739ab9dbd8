"""RTL of the lookup of all elements of a fiber, ``fiberscope.hw.streams.lane_seek.LaneSeek``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyrtl

from fiberscope.hw.rtl.kit.interface import Content, Field, Token
from fiberscope.hw.rtl.kit.parameters import Parameters, check_range, number
from fiberscope.hw.rtl.kit.trees import chosen, lowest
from fiberscope.hw.rtl.kit.twin import (
    DataRegister,
    InputStream,
    Signal,
    Streams,
    alias,
    index_bits,
    resized,
    unless,
)
from fiberscope.hw.rtl.kit.unit import PortContents, StatusCounter, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.dense_rtl import times
from fiberscope.hw.streams.lane_seek import LaneSeek
from fiberscope.hw.streams.lanes_rtl import size_content
from fiberscope.hw.streams.memory_rtl import LOAD, Memory
from fiberscope.hw.streams.scanner_rtl import following
from fiberscope.hw.streams.seek_rtl import ENTRIES, MAX_FACTOR, divided
from fiberscope.hw.streams.stream_adapter_rtl import LOAD_PORT, StreamAdapter
from fiberscope.hw.streams.tokens import DATA
from fiberscope.hw.streams.tokens_rtl import Head

BANKS = 1 << 8  # largest number of elements of a held fiber: each has a bank and a read port
# Control of a word on ``load``. Bit 1 selects the searched fibers, where bit 0 is the word of presence.
SEGMENT, ELEMENT, ABSENT, PRESENT = range(4)
INDEXES = "indexes"  # status output: the lanes take another fiber


@dataclass(frozen=True)
class LaneSeekParameters(Parameters):
    """Parameters of a lookup of all elements of a fiber.

    An element of coordinate c seeks the coordinate ``constant + factor * (c // divisor % modulus)``.

    Args:
        folds: number of fibers whose elements the lanes can hold, 1 to 16384.
        banks: largest number of elements of such a fiber, 1 to 256; each is in a bank of its own.
        held: number of elements of all such fibers, 1 to 16384.
        fibers: number of fibers to search, 1 to 16384; ``fibers * size`` is at most 16384.
        size: number of possible coordinates of a fiber to search, 1 to 16384.
        elements: number of elements of all fibers to search, 1 to 16384.
        factor, constant: -65536 to 65536.
        divisor: 1 to 65536.
        modulus: 0 to 65536; 0 for no remainder.
        coordinate_bits: width of a coordinate, and of a number of elements.
        reference_bits: width of a reference; numbers of fibers and positions of elements must fit.
    """

    folds: int = number(8, 1, ENTRIES)
    banks: int = number(8, 1, BANKS)
    held: int = number(64, 1, ENTRIES)
    fibers: int = number(16, 1, ENTRIES)
    size: int = number(16, 1, ENTRIES)
    elements: int = number(64, 1, ENTRIES)
    factor: int = number(1, -MAX_FACTOR, MAX_FACTOR)
    divisor: int = number(1, 1, MAX_FACTOR)
    modulus: int = number(0, 0, MAX_FACTOR)
    constant: int = number(0, -MAX_FACTOR, MAX_FACTOR)
    coordinate_bits: int = number(
        32, tokens.LEVEL_BITS, 55, lambda own: (max(tokens.LEVEL_BITS, own.banks.bit_length()), 55)
    )
    reference_bits: int = number(
        32,
        tokens.LEVEL_BITS,
        62,
        lambda own: (index_bits(max(own.folds, own.held, own.fibers, own.elements)), 62),
    )

    def __post_init__(self) -> None:
        """Raise an error if the memory of the fibers to search is too large."""
        super().__post_init__()
        check_range("lane_seek", "fibers times size", self.fibers * self.size, 1, ENTRIES)


def port_contents(parameters: LaneSeekParameters) -> PortContents:
    """Return the contents of the streams; ``load`` writes a word of a memory, see ``words_of``."""
    references = tokens.numbers(parameters.reference_bits)
    coordinates = tokens.numbers(parameters.coordinate_bits)
    address = max(
        index_bits(parameters.folds + 1),
        index_bits(parameters.folds) + index_bits(parameters.banks),
        index_bits(parameters.fibers * parameters.size),
    )
    word = max(parameters.held.bit_length(), parameters.coordinate_bits, index_bits(parameters.elements))
    words: Content = {
        "control": 2,
        "address": Field("coordinate", address, "unsigned"),
        "word": Field("reference", word, "unsigned"),
    }
    return {
        "in_ref0": references,
        "in_ref1": references,
        LOAD: words,
        "out_crd": coordinates,
        "out_ref0": references,
        "out_ref1": references,
        "out_sizes": size_content(parameters.coordinate_bits),
    }


class _Held:
    """The memories of the held fibers: where each begins, and a bank for each element.

    A word of a bank has, from the top bit: whether a fiber can have the coordinate that the element seeks,
    this coordinate, and the coordinate of the element. They are computed once, when the word is loaded.

    Args:
        parameters: parameters of the module.
        load: stream of the words.
        fold: number of the fiber in the lanes.
    """

    def __init__(self, parameters: LaneSeekParameters, load: InputStream, fold: Signal) -> None:
        address, word, control = load.fields["address"], load.fields["word"], load.fields["control"]
        segments = Memory("segments", parameters.folds + 1, parameters.held.bit_length())
        segments.write(address, word, load.valid & (control == SEGMENT))
        place = resized(fold, index_bits(parameters.folds + 1))
        self.begin = segments[place]
        self.count = alias("count", (segments[following(place)] - self.begin)[: len(self.begin)])
        coordinate = resized(word, parameters.coordinate_bits)
        bits, bank_bits = index_bits(parameters.size), index_bits(parameters.banks)
        packed = pyrtl.concat(*_sought(parameters, coordinate), coordinate)
        chosen_bank = address[:bank_bits]
        self.possible, self.sought, self.coordinates = [], [], []
        for bank in range(parameters.banks):
            memory = Memory(f"bank_{bank:03}", parameters.folds, len(packed), reads=1)
            writes = load.valid & (control == ELEMENT) & (chosen_bank == bank)
            memory.write(address[bank_bits:], packed, writes)
            element = memory[resized(fold, index_bits(parameters.folds))]
            # a bank beyond the end of a short fiber has no element, or one of an earlier load
            self.possible.append(element[-1] & (self.count > bank))
            self.sought.append(element[-1 - bits : -1])
            self.coordinates.append(element[: parameters.coordinate_bits])


class _Searched:
    """The memories of the fibers to search, with a word for each coordinate of each fiber.

    The memory of presence has a read port for each bank of held elements.

    Args:
        parameters: parameters of the module.
        load: stream of the words.
        fiber: number of the fiber to search.
    """

    def __init__(self, parameters: LaneSeekParameters, load: InputStream, fiber: Signal) -> None:
        entries = parameters.fibers * parameters.size
        address, word, control = load.fields["address"], load.fields["word"], load.fields["control"]
        writes = load.valid & control[1]
        self._presence = Memory("presence", entries, 1, reads=parameters.banks)
        self._presence.write(address, control[0], writes)
        self._positions = Memory("positions", entries, index_bits(parameters.elements), reads=1)
        self._positions.write(address, word, writes)
        self._begin = alias("fiber_begin", times(resized(fiber, index_bits(entries)), parameters.size))

    def has(self, coordinate: Signal) -> Signal:
        """Return whether the fiber has a coordinate, which is below ``size``."""
        return self._presence[self._address(coordinate)]

    def position(self, coordinate: Signal) -> Signal:
        """Return the position of the element with a coordinate."""
        return self._positions[self._address(coordinate)]

    def _address(self, coordinate: Signal) -> Signal:
        bits = len(self._begin)
        return (self._begin + resized(coordinate, bits))[:bits]


def _sought(parameters: LaneSeekParameters, coordinate: Signal) -> tuple[Signal, Signal]:
    """Return whether a fiber can have the coordinate that an element seeks, and this coordinate."""
    part, _rest = divided(coordinate, parameters.divisor)
    part = divided(part, parameters.modulus)[1] if parameters.modulus else part
    part = part.zero_extended(len(part) + abs(parameters.factor).bit_length())
    product = times(part, abs(parameters.factor))
    # wires have no sign: negative terms are added up apart, and subtracted
    terms: dict[bool, Signal] = {True: pyrtl.Const(0, 1), False: pyrtl.Const(0, 1)}
    terms[parameters.factor > 0] = product
    constant = pyrtl.Const(abs(parameters.constant))
    terms[parameters.constant > 0] = terms[parameters.constant > 0] + constant
    # The top bit of the difference is its sign
    total = terms[True] - terms[False]
    possible = ~total[-1] & (total[:-1] < parameters.size)
    return possible, resized(total[:-1], index_bits(parameters.size))


def design(parameters: LaneSeekParameters, streams: Streams) -> None:
    """Build the lookup: each bank reads whether the fiber has its coordinate; the lowest match leaves."""
    first, second = (Head.from_stream(streams.inputs[f"in_ref{way}"]) for way in (0, 1))
    load = streams.inputs[LOAD]
    load.accept(pyrtl.Const(1, 1))
    room, shown = tokens.room_in(streams), alias("both_shown", first.shown & second.shown)
    holds, occupied, searches, indexed = (
        pyrtl.Register(1, name) for name in ("holds_pair", "occupied", "searches", "indexed")
    )
    fold: Signal = DataRegister(index_bits(parameters.folds), "fold")
    fiber: Signal = DataRegister(index_bits(parameters.fibers), "fiber")
    sent: Signal = DataRegister(parameters.banks, "sent")
    held = _Held(parameters, load, fold)
    searched = _Searched(parameters, load, fiber)
    # ``sent`` has a bit for each bank whose match has left; the banks are in the order of the elements.
    left = [
        alias(f"hit_{bank:03}", searches & possible & searched.has(sought) & ~sent[bank])
        for bank, (possible, sought) in enumerate(zip(held.possible, held.sought, strict=True))
    ]
    flags = lowest(left)
    any_hit = alias("any_hit", holds & reduce(or_, left))
    takes = alias("takes", room & shown & ~holds)
    starts = alias("starts", takes & ~first.is_control)
    sends = alias("sends", room & any_hit)
    # The stop of the pair needs the next tokens, which may raise its level.
    finishes = alias("finishes", room & shown & holds & ~any_hit)
    holds.next <<= starts | (holds & ~finishes)
    occupied.next <<= pyrtl.select(starts, first.is_data, occupied)
    searches.next <<= pyrtl.select(starts, first.is_data & second.is_data, searches)
    sent.next <<= unless(starts, pyrtl.select(sends, sent | pyrtl.concat_list(flags), sent))
    new = resized(first.payload, len(fold))
    indexes = starts & first.is_data
    indexed.next <<= indexed | indexes
    fold.next <<= pyrtl.select(indexes, new, fold)
    fiber.next <<= pyrtl.select(starts, resized(second.payload, len(fiber)), fiber)
    streams.show(INDEXES, indexes & (~indexed | (new != fold)))
    # A stop directly behind the references ends the lists too, and raises the level of their stop
    for stream in (streams.inputs["in_ref0"], streams.inputs["in_ref1"]):
        stream.accept(takes | (finishes & first.is_stop))
    passes = alias("passes", takes & first.is_control)
    stops = alias("stops", finishes | (passes & first.is_stop))
    level = pyrtl.select(finishes & ~first.is_stop, pyrtl.Const(0, tokens.LEVEL_BITS), first.raised)
    kind, valid = tokens.kind_of(sends, stops, passes & first.is_done), sends | finishes | passes
    _send(parameters, streams, (held, searched), flags, valid, (kind, level))
    # A stop in place of references, and a reference N, hold no elements.
    size = resized(unless(~(finishes & occupied), held.count), parameters.coordinate_bits)
    streams.outputs["out_sizes[0]"].send(stops, {"payload": size})


def _send(
    parameters: LaneSeekParameters,
    streams: Streams,
    memories: tuple[_Held, _Searched],
    flags: Sequence[Signal],
    valid: Signal,
    control: tuple[Signal, Signal],
) -> None:
    """Build the logic of the outputs of matches.

    Args:
        memories: memories of the held and of the searched fibers.
        flags: for each bank, whether its element is the match that leaves.
        valid: whether a token leaves.
        control: kind of the token, and level if it is a stop.
    """
    held, searched = memories
    numbers = [pyrtl.Const(bank, index_bits(parameters.banks)) for bank in range(parameters.banks)]
    index, sought = alias("hit", chosen(flags, numbers)), alias("sought", chosen(flags, held.sought))
    payloads = {
        "out_crd[0]": chosen(flags, held.coordinates),
        "out_ref0[0]": resized((held.begin + index)[: len(held.begin)], parameters.reference_bits),
        "out_ref1[0]": resized(searched.position(sought), parameters.reference_bits),
    }
    for port, payload in payloads.items():
        tokens.send(streams.outputs[port], valid, *control, payload)


class LaneSeekAdapter(StreamAdapter):
    """Component that replaces a ``LaneSeek`` by its RTL in a simulation."""

    PORTS = (*LaneSeek.PORTS, LOAD_PORT)

    def counters(self) -> dict[str, int]:
        """Return the counters of the component."""
        return {"matches": self.moved["out_crd[0]", DATA]} | super().counters()


def words_of(seek: LaneSeek, size: int = 0, banks: int = 0) -> list[Token]:
    """Return the tokens on ``load`` that fill the memories of the RTL of a lookup on lanes.

    Args:
        seek: the component.
        size, banks: parameters of the RTL that is filled, which determine the addresses; 0 for the smallest
            that fit. Smaller ones are not refused, and give wrong addresses.
    """
    held, other = seek.level, seek.other
    size, bank_bits = size or _size_of(seek), index_bits(banks or _banks_of(seek))
    words = [Token(SEGMENT, fold, held.begin(fold), 0.0) for fold in range(held.fibers + 1)]
    for fold in range(held.fibers):
        for bank, position in enumerate(range(held.begin(fold), held.end(fold))):
            words.append(Token(ELEMENT, fold << bank_bits | bank, held.coordinate(position), 0.0))
    located = [(ABSENT, 0)] * (other.fibers * size)
    for fiber in range(other.fibers):
        for position in range(other.begin(fiber), other.end(fiber)):
            located[fiber * size + other.coordinate(position)] = PRESENT, position
    return words + [Token(kind, address, position, 0.0) for address, (kind, position) in enumerate(located)]


def _size_of(seek: LaneSeek) -> int:
    """Return the number of possible coordinates of a searched fiber: the largest that occurs, plus 1."""
    return max(seek.other.coordinates, default=0) + 1


def _banks_of(seek: LaneSeek) -> int:
    """Return the largest number of elements of a held fiber, at least 1."""
    held = seek.level
    return max([1, *(held.end(fold) - held.begin(fold) for fold in range(held.fibers))])


def _of_lane_seek(seek: LaneSeek) -> dict[str, object]:
    return {
        "folds": max(1, seek.level.fibers),
        "banks": _banks_of(seek),
        "held": max(1, seek.level.begin(seek.level.fibers)),
        "fibers": max(1, seek.other.fibers),
        "size": _size_of(seek),
        "elements": max(1, seek.other.begin(seek.other.fibers)),
        "factor": seek.factor,
        "divisor": seek.divisor,
        "modulus": seek.size,
        "constant": seek.constant,
    }


BLOCK = unit(
    "lane_seek",
    LaneSeek,
    LaneSeekParameters,
    port_contents,
    design,
    status=(INDEXES,),
    counters={"folds": StatusCounter(INDEXES)},
    base=LaneSeekAdapter,
    alone=False,
    instance=_of_lane_seek,
)
