"""Interface of an RTL module: a stream with valid and ready for each port of its component."""

from __future__ import annotations

import dataclasses
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from fiberscope.hw.rtl.kit.codec import Codec
from fiberscope.hw.stream import EMPTY
from fiberscope.sim.errors import SimulationError

Direction = Literal["input", "output"]
CLOCKING = ("clk", "rst")  # inputs of every module
FIELDS = ("control", "coordinate", "reference", "value")  # fields of a token
MASK = "mask"  # field of a bundle: the lanes that carry a token
KINDS = {"control": "unsigned", "coordinate": "unsigned", "reference": "signed", "value": "float"}

_LABEL = re.compile(r"(?P<name>\w+)(\[(?P<index>\d+)\])?(\.(?P<lane>\d+))?")


class Token(NamedTuple):
    """One token of a channel."""

    control: int
    coordinate: int
    reference: int
    value: float


Transfer: TypeAlias = Token | tuple[Token, ...]  # token of a stream, or a token for each lane of a bundle


def tokens_of(transfer: Transfer) -> tuple[Token, ...]:
    """Return the tokens of a transfer, one for each port."""
    return (transfer,) if isinstance(transfer, Token) else transfer


@dataclass(frozen=True)
class Wire:
    """One port of a module: its name, its direction from the module's side, and its width in bits."""

    name: str
    direction: Literal["input", "output", "inout"]
    width: int

    def __str__(self) -> str:
        """Return the port as a Verilog declaration."""
        return f"{self.direction} {f'[{self.width - 1}:0] ' if self.width > 1 else ''}{self.name}"


@dataclass(frozen=True)
class Field:
    """A field of a stream that differs from the token's field of the same name.

    Args:
        part: field of the token, such as ``coordinate``.
        width: bits, 1 to 64.
        kind: representation of numbers, one of ``fiberscope.hw.rtl.kit.codec.KINDS``.

    Raises:
        ValueError: there is no such field.
    """

    part: str
    width: int
    kind: str

    def __post_init__(self) -> None:
        """Check the field."""
        if self.part not in FIELDS:
            raise ValueError(f"a token has no {self.part}; it has {', '.join(FIELDS)}")
        Codec(self.width, self.kind)

    @cached_property
    def codec(self) -> Codec:
        """Return the conversion between bits and numbers."""
        return Codec(self.width, self.kind)


@dataclass(frozen=True)
class Payload:
    """A field of a stream that no token carries, such as a line of memory beside its request.

    Only wires between modules have payloads, channels between components do not. An adapter sends zeros and
    ignores incoming payloads.

    Args:
        width: bits, any number.
    """

    width: int


Content: TypeAlias = dict[str, int | Field | Payload]  # fields of a stream by name


@dataclass(frozen=True)
class Stream:
    """The wires of one channel: ``valid``, ``ready``, and the required fields of a token.

    A token moves at the rising edge of the clock if both ``valid`` and ``ready`` are high. Control and
    coordinate are unsigned, a reference is in two's complement, a value is an IEEE float of 32 or 64 bits.

    A component may push several tokens into a channel in one cycle. Its module then has several streams at
    that port, the lanes: ``requests`` has the first token of a cycle, ``requests.1`` the second. Lane n is
    ready while the channel has space for n + 1 tokens. Tokens are in the order of the lanes.

    Args:
        label: port of the component, ``tasks`` or ``ways[3]``, with the lane unless it is the first.
        prefix: prefix of the wires' names, ``tasks`` or ``ways_03``.
        direction: direction from the module's side.
        content: fields by name: the bits of a token's field, a ``Field``, or a ``Payload``. Missing fields of
            a token are 0.

    Raises:
        ValueError: an input has a lane except the first, as only the head of a channel is visible.
    """

    label: str
    prefix: str
    direction: Direction
    content: Mapping[str, int | Field | Payload] = dataclasses.field(
        hash=False
    )  # equal streams have equal widths

    def __post_init__(self) -> None:
        """Check that a channel can serve the stream."""
        if self.direction == "input" and self.lane:
            raise ValueError(f"{self.label}: an input shows one token a cycle; only outputs have lanes")

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Return the fields that tokens carry."""
        return {
            name: field if isinstance(field, Field) else Field(name, field, KINDS[name])
            for name, field in self.content.items()
            if not isinstance(field, Payload)
        }

    @cached_property
    def widths(self) -> dict[str, int]:
        """Bits by field."""
        return {
            name: field.width if isinstance(field, Payload) else self.fields[name].width
            for name, field in self.content.items()
        }

    @cached_property
    def token_fields(self) -> list[str]:
        """The names of all fields except payloads."""
        return [name for name in self.widths if not isinstance(self.content.get(name), Payload)]

    @cached_property
    def port(self) -> tuple[str, int]:
        """The port of the component and its index, 0 for a single port."""
        match = self._match()
        return match["name"], int(match["index"] or 0)

    @property
    def ports(self) -> list[tuple[str, int]]:
        """Port and index of each token of a transfer."""
        return [self.port]

    @property
    def labels(self) -> list[str]:
        """Label of the component's port for each token of a transfer."""
        return [self.label]

    @property
    def lane(self) -> int:
        """Return the lane of a token at the port: 0 for the first token of a cycle."""
        return int(self._match()["lane"] or 0)

    def _match(self) -> re.Match[str]:
        match = _LABEL.fullmatch(self.label)
        if match is None:
            raise ValueError(f"{self.label} is no port: write name or name[index], with .lane behind it")
        return match

    def wire(self, part: str) -> str:
        """Return the name of a wire: ``valid``, ``ready`` or a field."""
        return f"{self.prefix}_{part}"

    def wires(self) -> Iterator[Wire]:
        """Yield the wires, in the order of the module's ports."""
        back: Direction = "output" if self.direction == "input" else "input"
        yield Wire(self.wire("valid"), self.direction, 1)
        for field, width in self.widths.items():
            yield Wire(self.wire(field), self.direction, width)
        yield Wire(self.wire("ready"), back, 1)

    def packed(self) -> Iterator[tuple[str, int]]:
        """Yield each wire that has a field of several lanes, and the bits of one lane; none without lanes."""
        return iter(())

    def moves(self, wires: Mapping[str, int]) -> bool:
        """Return whether valid and ready are both high."""
        return bool(wires[self.wire("valid")] and wires[self.wire("ready")])

    def encode(self, *tokens: Token) -> Iterator[tuple[str, int]]:
        """Yield name and bits of each field of a transfer with a token for each of ``ports``.

        Raises:
            SimulationError: a field does not fit its wire.
        """
        lanes = [self.bits(token) for token in tokens]
        for name, width in self.widths.items():
            yield self.wire(name), sum(bits.get(name, 0) << width * lane for lane, bits in enumerate(lanes))

    def describe(self, token: Token) -> str:
        """Return a token's fields as text, such as ``coordinate=3 value=0.5``."""
        return " ".join(f"{name}={getattr(token, field.part)}" for name, field in self.fields.items())

    def bits(self, token: Token) -> dict[str, int]:
        """Return the bits of a token by field.

        Raises:
            SimulationError: a field does not fit its wire.
        """
        bits: dict[str, int] = {}
        for name, field in self.fields.items():
            field_value = getattr(token, field.part)
            number = float_bits(field_value) if field.part == "value" else field_value
            if not field.codec.fits(number):
                raise misfit(self, name, field_value)
            bits[name] = field.codec.encode(number)
        return bits

    def decode(self, wires: Mapping[str, int], lane: int = 0) -> Token:
        """Return the token on these wires, in a lane of a bundle."""
        return self._token(self._lane(wires, lane))

    def lanes_told(self, wires: Mapping[str, int]) -> list[dict[str, int] | None]:
        """Return the bits of each token field by lane; None for a lane that the mask omits."""
        lanes = [self._lane(wires, lane) for lane in range(len(self.ports))]
        fields = [name for name in self.token_fields if name != MASK]
        return [{name: bits[name] for name in fields} if bits.get(MASK, 1) else None for bits in lanes]

    def _lane(self, wires: Mapping[str, int], lane: int) -> dict[str, int]:
        """Return the bits of each field in a lane."""
        return {
            name: wires[self.wire(name)] >> width * lane & (1 << width) - 1
            for name, width in self.widths.items()
        }

    def _token(self, bits: Mapping[str, int]) -> Token:
        """Return the token with these bits of its fields."""
        numbers = dict.fromkeys(FIELDS, 0)
        for name, field in self.fields.items():
            numbers[field.part] = field.codec.decode(bits[name])
        value = numbers.pop("value")
        return Token(**numbers, value=float_of(value))


@dataclass(frozen=True)
class Bundle(Stream):
    """The wires of several channels whose tokens move together: one ``valid``, one ``ready``, fields by lane.

    Lane n is the channel at index n of an array of ports. A wire has a field of all lanes, lane 0 lowest. All
    lanes move in one cycle: an input is valid while every channel has a token, an output is ready while every
    channel has space. Rows therefore stay rows. An empty lane of a row carries a token of kind ``EMPTY``; its
    bit of the wire ``mask`` is low, and its fields are arbitrary.

    Args:
        label: array of ports of the component.
        prefix, direction, content: see ``Stream``.
        lanes: number of channels, at least 1.
        mask: whether there is a mask. Without a mask, no lane may be empty.

    Raises:
        ValueError: there is no lane, the label is a single port, or a field has the name of the mask.
    """

    lanes: int = 1
    mask: bool = False

    def __post_init__(self) -> None:
        """Check that the label is an array of ports."""
        super().__post_init__()
        if self.lanes < 1 or not self.label.isidentifier():
            raise ValueError(f"{self.label}: a bundle is an array of ports, of at least one lane")
        if self.mask and MASK in self.content:
            raise ValueError(f"{self.label}: call a field otherwise than {MASK}, which the bundle has")

    @cached_property
    def widths(self) -> dict[str, int]:
        """Bits of a lane by field, including the mask."""
        return ({MASK: 1} if self.mask else {}) | super().widths

    @property
    def ports(self) -> list[tuple[str, int]]:
        """Port and index of each lane."""
        return [(self.label, lane) for lane in range(self.lanes)]

    @property
    def labels(self) -> list[str]:
        """Label of the component's port of each lane."""
        return [f"{self.label}[{lane}]" for lane in range(self.lanes)]

    def wires(self) -> Iterator[Wire]:
        """Yield the wires, in the order of the module's ports."""
        for wire in super().wires():
            lanes = 1 if wire.name in (self.wire("valid"), self.wire("ready")) else self.lanes
            yield replace(wire, width=lanes * wire.width)

    def packed(self) -> Iterator[tuple[str, int]]:
        """See ``Stream``: all fields."""
        return ((self.wire(name), width) for name, width in self.widths.items())

    def describe(self, token: Token) -> str:
        """See ``Stream``; ``empty`` for a lane that the mask omits."""
        return "empty" if self.mask and token.control == EMPTY else super().describe(token)

    def bits(self, token: Token) -> dict[str, int]:
        """See ``Stream``; all 0 for a lane that the mask omits."""
        if not self.mask:
            return super().bits(token)
        return dict.fromkeys(self.widths, 0) if token.control == EMPTY else {MASK: 1, **super().bits(token)}

    def _token(self, bits: Mapping[str, int]) -> Token:
        return Token(EMPTY, 0, 0, 0.0) if self.mask and not bits[MASK] else super()._token(bits)


def misfit(stream: Stream, field: str, value: float) -> SimulationError:
    """Return the error for a number that does not fit a field."""
    whole = stream.fields[field].kind == "whole"
    bits = f"{stream.widths[field]} bits" + (", which hold whole numbers" if whole else "")
    return SimulationError(f"{stream.wire(field)}: {value} does not fit its {bits}")


def float_bits(number: float) -> int:
    """Return the bits of a double as a signed number."""
    return int(struct.unpack("<q", struct.pack("<d", number))[0])


def float_of(bits: int) -> float:
    """Return the double with these bits."""
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


@dataclass(frozen=True)
class Interface:
    """Ports of a module: streams, and the inputs ``clk`` and ``rst``, synchronous and active high.

    Args:
        module: name of the module.
        status: outputs for counters and accounting that the streams do not determine: names of single bits,
            or bits by name.
    """

    module: str
    streams: tuple[Stream, ...]
    status: tuple[str, ...] | Mapping[str, int] = ()

    @property
    def status_widths(self) -> dict[str, int]:
        """Bits of each status output."""
        return dict(self.status) if isinstance(self.status, Mapping) else dict.fromkeys(self.status, 1)

    def wires(self) -> list[Wire]:
        """Return all ports of the module."""
        clocking = [Wire(name, "input", 1) for name in CLOCKING]
        status = [Wire(name, "output", width) for name, width in self.status_widths.items()]
        return clocking + [wire for stream in self.streams for wire in stream.wires()] + status


def streams(
    port: str, direction: Direction, widths: Mapping[str, int | Field | Payload], count: int
) -> list[Stream]:
    """Return the streams of an array of ports, with padded numbers.

    Args:
        port: name of the array.
        direction: direction from the module's side.
        widths: fields of each stream, as ``content`` of a ``Stream``.
        count: number of ports, at least 1.
    """
    digits = len(str(count - 1))
    return [Stream(f"{port}[{i}]", f"{port}_{i:0{digits}}", direction, widths) for i in range(count)]
