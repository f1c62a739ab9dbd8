"""RTL of the scanners of a compressed level, ``CompressedScanner`` and ``RegisteredScanner``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyrtl

from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.parameters import Parameters, number
from fiberscope.hw.rtl.kit.sram import COMBINATIONAL, REGISTERED, Sram, memory_parameter
from fiberscope.hw.rtl.kit.twin import (
    DataRegister,
    OutputStream,
    Signal,
    Streams,
    alias,
    index_bits,
    resized,
    unless,
)
from fiberscope.hw.rtl.kit.unit import PortContents, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.memory_rtl import LOAD, Memory, level_words
from fiberscope.hw.streams.registered_memory import RegisteredScanner
from fiberscope.hw.streams.stream_adapter_rtl import LOAD_PORT, StreamAdapter
from fiberscope.hw.streams.tokens import DATA
from fiberscope.hw.streams.tokens_rtl import Head

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.backend import Backend
    from fiberscope.sim.channel import Channel

OUTPUTS = ("out_crd[0]", "out_ref[0]")
WORKS = "works"  # status output with a registered memory: a token moves between the two stages


@dataclass(frozen=True)
class CompressedScannerParameters(Parameters):
    """Parameters of a scanner.

    Args:
        fibers: number of fibers of the level, 1 to 65536.
        elements: number of elements of all fibers, 1 to 65536.
        coordinate_bits: width of a coordinate, 4 to 55; the level of a stop must fit as well.
        reference_bits: width of a reference; the position of an element and the number of fibers must fit.
        memory: ``combinational`` returns a word in the cycle of its address, ``registered`` a cycle later.
    """

    fibers: int = number(64, 1, 1 << 16)
    elements: int = number(512, 1, 1 << 16)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)
    reference_bits: int = number(
        32, tokens.LEVEL_BITS, 62, lambda own: (index_bits(max(own.fibers + 1, own.elements)), 62)
    )
    memory: str = memory_parameter()

    @property
    def segment_bits(self) -> int:
        """Width of a segment, which is a position from 0 to ``elements``."""
        return self.elements.bit_length()


def port_contents(parameters: CompressedScannerParameters) -> PortContents:
    """Return the contents of the streams; ``load`` writes a segment, or with ``control`` 1 a coordinate."""
    references = tokens.numbers(parameters.reference_bits)
    return {
        "in_ref": references,
        LOAD: level_words(parameters.fibers, parameters.elements, parameters.coordinate_bits),
        "out_crd": tokens.numbers(parameters.coordinate_bits),
        "out_ref": references,
    }


class LoopParameters(Parameters):
    """Base of the parameters of a block that sends the elements of a fiber for each reference."""

    coordinate_bits: int
    reference_bits: int


def element_streams(parameters: LoopParameters) -> PortContents:
    """Return the fields of the streams of a loop: references in, coordinates and references out."""
    references = tokens.numbers(parameters.reference_bits)
    coordinates = tokens.numbers(parameters.coordinate_bits)
    return {"in_ref": references, "out_crd": coordinates, "out_ref": references}


class Walk:
    """Control logic of a scanner: whether it is in a fiber, and whether it must send a stop.

    After the last element of a fiber, its stop leaves once the next token of ``in_ref`` is visible. If that
    token is a stop, both are merged to one stop of a higher level.

    Args:
        streams: the streams of the scanner.
        empty: 1 if the reference at the head of ``in_ref`` refers to an empty fiber.
        last: 1 if the last element sent is the last one of its fiber.

    Attributes:
        starts: 1 if the first element of the fiber at the head is due, whether or not it can leave.
        moves: 1 if an element leaves in this cycle.
    """

    def __init__(self, streams: Streams, empty: Signal, last: Signal) -> None:
        self._between = streams
        self._head, self._room = Head.from_stream(streams.inputs["in_ref"]), tokens.room_in(streams)
        head, room = self._head, self._room
        in_fiber: Signal = pyrtl.Register(1, "in_fiber")
        owes: Signal = pyrtl.Register(1, "owes")
        waits = alias("waits", ~in_fiber & ~owes)
        nothing = alias("nothing_in_it", head.is_empty | (head.is_data & empty))
        starts = alias("starts", waits & head.is_data & ~nothing)
        # The next token must be visible, since a stop would be merged with the stop of this fiber.
        self._ends = alias("ends", head.shown & (owes | (in_fiber & last)))
        self._sends = alias("sends", starts | (in_fiber & ~last))
        self._passes = alias("passes", waits & head.is_control)
        # A reference is popped when its fiber begins, a stop when it is merged or sent alone.
        streams.inputs["in_ref"].accept(room & ((waits & head.shown) | (self._ends & head.is_stop)))
        in_fiber.next <<= pyrtl.select(room, starts | (in_fiber & ~self._ends), in_fiber)
        owes.next <<= pyrtl.select(room, (waits & nothing) | (owes & ~self._ends), owes)
        self.starts = starts
        self.moves = alias("moves", room & self._sends)

    def send(self, coordinate: Signal, reference: Signal) -> None:
        """Offer an element with this coordinate and reference, or instead a stop or done, on both outputs.

        Call this once. Without a token to send, nothing is offered.
        """
        head, ends, passes = self._head, self._ends, self._passes
        kind = tokens.kind_of(self._sends, ends | (passes & head.is_stop), passes & head.is_done)
        # A stop of references ends one list more at the outputs. Before any other token, the level is 0.
        level = unless(ends & ~head.is_stop, head.raised)
        offered = self._room & (self._sends | ends | passes)
        for port, payload in (("out_crd[0]", coordinate), ("out_ref[0]", reference)):
            tokens.send(self._between.outputs[port], offered, kind, level, payload)


def design(parameters: CompressedScannerParameters, streams: Streams) -> None:
    """Build a scanner: registers of the position and of the end of its fiber, and their logic."""
    if parameters.memory == REGISTERED:
        registered_design(parameters, streams)
        return
    segments, coordinates = _memories(parameters, streams)
    position: Signal = DataRegister(parameters.segment_bits, "position")
    end: Signal = DataRegister(parameters.segment_bits, "behind_last")
    # The segments of fibers f and f + 1 are the position of the first element and the one after the last.
    fiber = streams.inputs["in_ref"].fields["payload"]
    begins, behind = segments[fiber], segments[following(fiber)]
    walk = Walk(streams, begins == behind, following(position) == end)
    place = pyrtl.select(walk.starts, begins, following(position))
    position.next <<= pyrtl.select(walk.moves, place, position)
    end.next <<= pyrtl.select(walk.moves & walk.starts, behind, end)
    walk.send(coordinates[place], place.zero_extended(parameters.reference_bits))


def registered_design(parameters: CompressedScannerParameters, streams: Streams) -> None:
    """Build a scanner in two stages: one reads segments, the other reads coordinates.

    Both stages move together, in cycles in which both outputs are ready (``flows``).
    """
    inner = _inner_streams(parameters)
    source, sinks = streams.inputs["in_ref"], [streams.outputs[port] for port in OUTPUTS]
    flows = alias("flows", sinks[0].ready & sinks[1].ready)
    for port in OUTPUTS:
        _drive(inner, f"{plain(port)}_ready", flows)
    looked_up: Signal = pyrtl.Register(1, "looked_up")
    fields = {name: DataRegister(len(wire), f"looked_up_{name}") for name, wire in source.fields.items()}
    takes = inner.ports["in_ref_ready"]
    # A new token is looked up when the walk takes the token before it, or when there is none.
    looks_up = alias("looks_up", flows & (~looked_up | takes))
    source.accept(looks_up)
    looked_up.next <<= pyrtl.select(looks_up, source.valid, looked_up)
    _drive(inner, "in_ref_valid", looked_up)
    for name, register in fields.items():
        register.next <<= pyrtl.select(looks_up, source.fields[name], register)
        _drive(inner, f"in_ref_{name}", register)
    # The even bank has the segment of f for an even f, and that of f + 1 for an odd f; the odd bank has the
    # other segment.
    banks, coordinates = _registered_memories(parameters, streams)
    fiber = source.fields["payload"]
    even, odd = (
        bank.read(half[: index_bits(bank.macro.entries)], looks_up)[0]
        for bank, half in zip(banks, (following(fiber)[1:], fiber[1:]), strict=True)
    )
    is_odd = fields["payload"][0]
    begins, behind = pyrtl.select(is_odd, odd, even), pyrtl.select(is_odd, even, odd)
    position: Signal = DataRegister(parameters.segment_bits, "position")
    end: Signal = DataRegister(parameters.segment_bits, "behind_last")
    walk = Walk(inner, begins == behind, following(position) == end)
    place = pyrtl.select(walk.starts, begins, following(position))
    position.next <<= pyrtl.select(walk.moves, place, position)
    end.next <<= pyrtl.select(walk.moves & walk.starts, behind, end)
    # The coordinate is known a cycle after its place; ``_send_later`` adds it to a token without coordinate.
    (coordinate,) = coordinates.read(place[: index_bits(parameters.elements)], flows)
    nothing = pyrtl.Const(0, parameters.coordinate_bits)
    walk.send(nothing, place.zero_extended(parameters.reference_bits))
    streams.show(WORKS, flows & (takes | inner.ports[f"{plain(OUTPUTS[0])}_valid"]))
    for port, sink, word in zip(OUTPUTS, sinks, (coordinate, None), strict=True):
        _send_later(inner, port, sink, flows, word)


def _inner_streams(parameters: CompressedScannerParameters) -> Streams:
    """Return the streams of the walk, as wires of the module between the two stages."""
    # The memories are loaded from outside; the walk never sees ``load``.
    outer = BLOCK.interface(parameters)
    streams = tuple(stream for stream in outer.streams if stream.label != LOAD)
    return Streams.from_interface(
        Interface(outer.module, streams), lambda wire: pyrtl.WireVector(wire.width, f"walk_{wire.name}")
    )


def _drive(inner: Streams, name: str, wire: Signal) -> None:
    """Drive a wire of the inner streams."""
    port = inner.ports[name]
    port <<= wire


def _send_later(inner: Streams, port: str, sink: OutputStream, flows: Signal, word: Signal | None) -> None:
    """Delay an output of the walk by a cycle, and add the word that the memory has read to data tokens."""
    name = plain(port)
    valid: Signal = pyrtl.Register(1, f"{name}_held")
    valid.next <<= pyrtl.select(flows, inner.ports[f"{name}_valid"], valid)
    held = {field: DataRegister(bits, f"{name}_held_{field}") for field, bits in sink.widths.items()}
    for field, register in held.items():
        register.next <<= pyrtl.select(flows, inner.ports[f"{name}_{field}"], register)
    payload = held["payload"]
    # The walk sent the coordinate 0, so that an OR adds the word; the level of a stop stays.
    if word is not None:
        payload = payload | unless(held["control"] != DATA, word)
    sink.send(flows & valid, {"control": held["control"], "payload": payload})


def plain(port: str) -> str:
    """Return the prefix of the wires of an output for one consumer."""
    return port.replace("[0]", "_0")


def _registered_memories(
    parameters: CompressedScannerParameters, streams: Streams
) -> tuple[tuple[Sram, Sram], Sram]:
    """Return the memories of the segments of even and odd fibers, and of coordinates, written by ``load``.

    The two segments of a fiber are in different banks, so that one read port of each bank is sufficient.
    """
    load = streams.inputs[LOAD]
    load.accept(pyrtl.Const(1, 1))
    fibers, bits = parameters.fibers, parameters.segment_bits
    even, odd = Sram("segments_even", fibers // 2 + 1, bits), Sram("segments_odd", (fibers + 1) // 2, bits)
    coordinates = Sram("coordinates", parameters.elements, parameters.coordinate_bits)
    of_coordinates, is_odd = load.fields["control"], load.fields["address"][0]
    place, word = load.fields["address"], load.fields["word"]
    # Bit 0 selects the bank. An address of one bit is widened first, so that another bit remains.
    half = place.zero_extended(len(place) + 1)[1:]
    for sram, address, enable in (
        (even, half, ~of_coordinates & ~is_odd),
        (odd, half, ~of_coordinates & is_odd),
        (coordinates, place, of_coordinates),
    ):
        entry = resized(address, index_bits(sram.macro.entries))
        sram.write(entry, [resized(word, sram.macro.bits)], [load.valid & enable])
    return (even, odd), coordinates


def _memories(parameters: CompressedScannerParameters, streams: Streams) -> tuple[Memory, Memory]:
    """Return the memories of segments and coordinates, written by ``load``."""
    load = streams.inputs[LOAD]
    load.accept(pyrtl.Const(1, 1))
    segments = Memory("segments", parameters.fibers + 1, parameters.segment_bits)
    coordinates = Memory("coordinates", parameters.elements, parameters.coordinate_bits)
    of_coordinates = load.fields["control"]
    place, word = load.fields["address"], load.fields["word"]
    segments.write(place, word, load.valid & ~of_coordinates)
    coordinates.write(place, word, load.valid & of_coordinates)
    return segments, coordinates


def following(place: Signal) -> Signal:
    """Return a number plus one, in the same width."""
    return (place + 1)[: len(place)]


class CompressedScannerAdapter(StreamAdapter):
    """Component that replaces a ``CompressedScanner`` by its RTL in a simulation."""

    PORTS = (*CompressedScanner.PORTS, LOAD_PORT)

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._fibers: set[int] = set()

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:
        """Account for a cycle; with a registered memory, a token between the stages also makes it busy."""
        if not moved and not self.done and self.held_up() is None and self.status.get(WORKS):
            return self.busy(now + 1)
        return super().account(now, moved, blocked)

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Note the fibers that are referenced."""
        super().observe(moved)
        if "in_ref" in moved and moved["in_ref"].control == DATA:
            self._fibers.add(moved["in_ref"].coordinate)

    def counters(self) -> dict[str, int]:
        """Return the number of different fibers, and the tokens of the outputs by kind."""
        return {"fibers": len(self._fibers)} | super().counters()


def _of_level(scanner: CompressedScanner) -> dict[str, object]:
    level = scanner.level
    memory = REGISTERED if isinstance(scanner, RegisteredScanner) else COMBINATIONAL
    return {"fibers": max(1, level.fibers), "elements": max(1, level.begin(level.fibers)), "memory": memory}


BLOCK = replace(
    unit(
        "compressed_scanner",
        CompressedScanner,
        CompressedScannerParameters,
        port_contents,
        design,
        status=lambda parameters: (WORKS,) if parameters.memory == REGISTERED else (),
        base=CompressedScannerAdapter,
        alone=False,
        instance=_of_level,
    ),
    kinds=(CompressedScanner, RegisteredScanner),
)
