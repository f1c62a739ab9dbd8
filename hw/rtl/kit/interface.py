"""What an RTL module's ports are: streams with valid and ready, for each port of its component."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from sim.errors import SimulationError

Direction = Literal["input", "output"]
CLOCKING = ("clk", "rst")  # inputs of every module
FIELDS = ("control", "coordinate", "reference", "value")
FLOATS = {32: ("<f", "<I"), 64: ("<d", "<Q")}  # formats of a value and of its bits, by width

_LABEL = re.compile(r"(?P<name>\w+)(\[(?P<index>\d+)\])?(\.(?P<lane>\d+))?")


class Token(NamedTuple):
    """One token of a channel."""

    control: int
    coordinate: int
    reference: int
    value: float


@dataclass(frozen=True)
class Wire:
    """One port of a module: its name, direction as the module sees it, and width in bits."""

    name: str
    direction: Literal["input", "output", "inout"]
    width: int

    def __str__(self) -> str:
        """The port as a Verilog declaration has it."""
        return f"{self.direction} {f'[{self.width - 1}:0] ' if self.width > 1 else ''}{self.name}"


@dataclass(frozen=True)
class Stream:
    """The wires of one channel: ``valid``, ``ready``, and those fields of a token that the module needs.

    A token moves at the rising edge of the clock at which both ``valid`` and ``ready`` are high. Control and
    coordinate are unsigned, a reference is in two's complement, a value is an IEEE float of 32 or 64 bits.

    A component may push several tokens into a channel in one cycle. Its module then has as many streams at
    that port, its lanes: ``requests`` has the first token of a cycle, ``requests.1`` the second. Lane n is
    ready while the channel has space for n + 1 tokens; tokens go in the order of the lanes.

    Args:
        label: the component's port, ``tasks`` or ``ways[3]``, and the lane where it is not the first.
        prefix: what its wires' names begin with, ``tasks`` or ``ways_03``.
        direction: as the module sees it.
        widths: bits by field; a field that is not there reads as 0.

    Raises:
        ValueError: if an input has a lane but the first, for only the head of a channel is seen.
    """

    label: str
    prefix: str
    direction: Direction
    widths: Mapping[str, int]

    def __post_init__(self) -> None:
        """Refuse a stream that no channel could serve."""
        if self.direction == "input" and self.lane:
            raise ValueError(f"{self.label}: an input shows one token a cycle; only outputs have lanes")

    @property
    def port(self) -> tuple[str, int]:
        """The component's port and the index within it, 0 where it is no array."""
        match = self._match()
        return match["name"], int(match["index"] or 0)

    @property
    def lane(self) -> int:
        """Which of a cycle's tokens at the port it has: 0 for the first."""
        return int(self._match()["lane"] or 0)

    def _match(self) -> re.Match[str]:
        match = _LABEL.fullmatch(self.label)
        if match is None:
            raise ValueError(f"{self.label} is no port: write name or name[index], with .lane behind it")
        return match

    def wire(self, part: str) -> str:
        """Name of one of its wires: ``valid``, ``ready`` or a field."""
        return f"{self.prefix}_{part}"

    def wires(self) -> Iterator[Wire]:
        """Its wires, in the order of the module's ports."""
        back: Direction = "output" if self.direction == "input" else "input"
        yield Wire(self.wire("valid"), self.direction, 1)
        for field, width in self.widths.items():
            yield Wire(self.wire(field), self.direction, width)
        yield Wire(self.wire("ready"), back, 1)

    def moves(self, wires: Mapping[str, int]) -> bool:
        """Whether valid and ready are both high."""
        return bool(wires[self.wire("valid")] and wires[self.wire("ready")])

    def encode(self, token: Token) -> Iterator[tuple[str, int]]:
        """Name and bits of each field of a token.

        Raises:
            SimulationError: if a field does not fit its wire.
        """
        for field, width in self.widths.items():
            bits, wire = _encode(field, getattr(token, field), width), f"{self.prefix}_{field}"
            if bits is None:
                raise SimulationError(f"{wire}: {getattr(token, field)} does not fit its {width} bits")
            yield wire, bits

    def seen(self, token: Token) -> Token:
        """What the module has of a token: the fields that are not there read as 0."""
        if len(self.widths) == len(FIELDS):
            return token
        return Token(*(part if field in self.widths else 0 for field, part in token._asdict().items()))

    def decode(self, wires: Mapping[str, int]) -> Token:
        """The token that these wires carry."""
        prefix, widths = self.prefix, self.widths
        control, coordinate, reference, value = (
            _decode(field, wires[f"{prefix}_{field}"], widths[field]) if field in widths else 0
            for field in FIELDS
        )
        return Token(int(control), int(coordinate), int(reference), float(value))


def _encode(field: str, number: float, width: int) -> int | None:
    if field == "value":
        return _float_bits(number, width)
    low, high = (-(1 << (width - 1)), 1 << (width - 1)) if field == "reference" else (0, 1 << width)
    return int(number) & ((1 << width) - 1) if low <= number < high else None


def _decode(field: str, bits: int, width: int) -> float:
    if field == "value":
        number, raw = FLOATS[width]
        return float(struct.unpack(number, struct.pack(raw, bits))[0])
    negative = field == "reference" and bits >> (width - 1)
    return bits - (1 << width) if negative else bits


def _float_bits(number: float, width: int) -> int | None:
    """The bits of a float, or None if so few cannot hold it exactly."""
    form, raw = FLOATS[width]
    try:
        packed = struct.pack(form, number)
    except OverflowError:
        return None
    exact = struct.unpack(form, packed)[0] == number or number != number  # noqa: PLR0124  (a NaN stays one)
    return int(struct.unpack(raw, packed)[0]) if exact else None


@dataclass(frozen=True)
class Interface:
    """A module's ports: streams, and beside them the inputs ``clk`` and ``rst``, synchronous and active high.

    Args:
        module: its name.
        streams: its streams.
        status: outputs of one bit that say what cannot be seen at the streams, for counters and accounting.
    """

    module: str
    streams: tuple[Stream, ...]
    status: tuple[str, ...] = ()

    def wires(self) -> list[Wire]:
        """All ports of the module."""
        clocking = [Wire(name, "input", 1) for name in CLOCKING]
        status = [Wire(name, "output", 1) for name in self.status]
        return clocking + [wire for stream in self.streams for wire in stream.wires()] + status


def streams(port: str, direction: Direction, widths: Mapping[str, int], count: int) -> list[Stream]:
    """The streams of an array of ports, their numbers padded so that names sort as numbers do."""
    digits = len(str(count - 1))
    return [Stream(f"{port}[{i}]", f"{port}_{i:0{digits}}", direction, widths) for i in range(count)]


def check_ports(interface: Interface, found: Sequence[Wire]) -> None:
    """Check that a module has the ports that its place needs; it may have more outputs, which nobody reads.

    Raises:
        SimulationError: naming every port that is missing, differs or is too many, with what was found.
    """
    expected = interface.wires()
    by_name = {wire.name: wire for wire in found}
    known = {wire.name for wire in expected}
    faults = [f"  missing  {wire}" for wire in expected if wire.name not in by_name]
    faults += [
        f"  differs  {wire}, found {by_name[wire.name]}"
        for wire in expected
        if wire.name in by_name and by_name[wire.name] != wire
    ]
    unknown = [wire for wire in found if wire.name not in known]
    if faults or any(wire.direction != "output" for wire in unknown):
        faults += [f"  unknown  {wire}" for wire in unknown]
        raise SimulationError(
            "\n".join(
                [
                    f"the ports of module {interface.module} do not match those of its component",
                    *faults,
                    "expected: " + ", ".join(map(str, expected)),
                    "found:    " + (", ".join(map(str, found)) or "none"),
                ]
            )
        )
