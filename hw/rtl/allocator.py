"""OuterSPACE's allocation as RTL: the twins of ``hw.allocator``'s bump allocator and writer of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyrtl

from hw.allocator import GRANTED, BumpAllocator, NodeWriter
from hw.rtl.channel import PENDING
from hw.rtl.kit.adapter import Adapter
from hw.rtl.kit.backend import Backend
from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.interface import Content, Field, Interface, Stream, tokens_of
from hw.rtl.kit.parameters import Parameters, check_range, number
from hw.rtl.kit.sram import Sram
from hw.rtl.kit.twin import DataRegister, Signal, Streams, index_bits, named

ROWS = (1, 4096)
ADDRESS_BITS = 62
MOST = 1 << ADDRESS_BITS


@dataclass(frozen=True)
class BumpAllocatorParameters(Parameters):
    """What an allocator is made for.

    Args:
        begin: the first address that is given out.
        end: the first that is not, at most 2**62.
        size_bits: of a request, 1 to 62.
        who_bits: of the number of who asks, 1 to 64, in two's complement.

    Raises:
        ValueError: for a number out of its range.
    """

    begin: int = number(0, 0, MOST)
    end: int = number(1 << 32, 0, MOST)
    size_bits: int = number(32, 1, ADDRESS_BITS)
    who_bits: int = number(16, 1, 64)

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        super().__post_init__()
        check_range("bump_allocator", "begin", self.begin, 0, self.end)


def allocator_interface(parameters: BumpAllocatorParameters) -> Interface:
    """Ports: ``requests`` and ``grants``, whose control is high where there is no space."""
    who = {"reference": parameters.who_bits}
    address = {"coordinate": parameters.end.bit_length() or 1}
    return Interface(
        "bump_allocator",
        (
            Stream("requests", "requests", "input", {"coordinate": parameters.size_bits} | who),
            Stream("grants", "grants", "output", {"control": 1} | address | who),
        ),
    )


def bump_allocator(parameters: BumpAllocatorParameters, between: Streams) -> None:
    """A register of what is given out, from 0 on; an adder, a comparison, an adder of the beginning."""
    requests, grants = between.inputs["requests"], between.outputs["grants"]
    width = parameters.end.bit_length() or 1
    given: Signal = pyrtl.Register(width, "given")
    after = named("after", given + requests.fields["coordinate"])
    overflows = named("overflows", after > parameters.end - parameters.begin)
    taken = named("taken", requests.valid & grants.ready)
    given.next <<= pyrtl.select(taken & ~overflows, after[:width], given)
    requests.accept(grants.ready)
    grants.send(
        requests.valid,
        {
            "control": overflows,
            "coordinate": (given + parameters.begin)[:width],
            "reference": requests.fields["reference"],
        },
    )


class BumpAllocatorStandIn(Adapter):
    """Stands in for a ``BumpAllocator``; the module's ports are those of ``allocator_interface``."""

    PORTS = BumpAllocator.PORTS
    OBSERVED = ("requests", "grants")

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._granted = self._units = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count what is granted."""
        (request,), (grant,) = (tokens_of(moved[port]) for port in self.OBSERVED)
        if grant.control == GRANTED:
            self._granted += 1
            self._units += request.coordinate

    def counters(self) -> dict[str, int]:
        """Requests that were granted and that were not, and the units given out."""
        overflows = self.end("requests").tokens - self._granted
        return {"granted": self._granted, "overflows": overflows, "units": self._units}


@dataclass(frozen=True)
class NodeWriterParameters(Parameters):
    """What a writer of nodes is made for; widths in bits.

    Args:
        rows: lists, 1 to 4,096.
        address_bits: 1 to 62.
        count_bits: of the elements of a node, 1 to 31.

    Raises:
        ValueError: for a number out of its range.
    """

    rows: int = number(256, *ROWS)
    address_bits: int = number(32, 1, ADDRESS_BITS)
    count_bits: int = number(16, 1, 31)


def writer_interface(parameters: NodeWriterParameters) -> Interface:
    """Ports: ``nodes`` and ``headers``; an address of -1 says that a list ends. ``pending`` is a header's."""
    count = {"control": parameters.count_bits}
    address = Field("reference", parameters.address_bits, "unsigned")
    row: Content = {"coordinate": index_bits(parameters.rows), "reference": address}
    header = {"coordinate": parameters.address_bits, "reference": parameters.address_bits + 1}
    return Interface(
        "node_writer",
        (
            Stream("nodes", "nodes", "input", count | row),
            Stream("headers", "headers", "output", count | header),
        ),
        (PENDING,),
    )


def node_writer(parameters: NodeWriterParameters, between: Streams) -> None:
    """A synchronous memory of heads, read and written at once, of which the old contents are read.

    A bit a row, in a register, says whether it has a head.
    """
    nodes, headers = between.inputs["nodes"], between.outputs["headers"]
    row, address = nodes.fields["coordinate"], nodes.fields["reference"]
    full: Signal = pyrtl.Register(1, "full")
    moves = named("moves", ~full | headers.ready)
    taken = named("node_taken", nodes.valid & moves)
    full.next <<= taken | (full & ~moves)
    nodes.accept(moves)
    heads = Sram("heads", parameters.rows, parameters.address_bits)
    (before,) = heads.read(row, taken)
    heads.write(row, [address], [taken])
    linked: Signal = pyrtl.Register(parameters.rows, "linked")
    chosen = named("chosen", pyrtl.shift_left_logical(pyrtl.Const(1, parameters.rows), row))
    linked.next <<= pyrtl.select(taken, linked | chosen, linked)
    has_head = _kept("has_head", taken, (linked & chosen) != 0)
    count, own = _kept("count", taken, nodes.fields["control"]), _kept("address", taken, address)
    end = pyrtl.Const(-1, parameters.address_bits + 1, signed=True)
    following = pyrtl.select(has_head, before.zero_extended(parameters.address_bits + 1), end)
    headers.send(full, {"control": count, "coordinate": own, "reference": following})
    between.show(PENDING, full | taken)


def _kept(name: str, enable: Signal, wire: Signal) -> Signal:
    """A register that takes over the wire when it is enabled."""
    register: Signal = DataRegister(len(wire), name)
    register.next <<= pyrtl.select(enable, wire, register)
    return register


class NodeWriterStandIn(Adapter):
    """Stands in for a ``NodeWriter``; the module's ports are those of ``writer_interface``."""

    PORTS = NodeWriter.PORTS
    THROUGH = ("nodes", "headers")
    OBSERVED = ("nodes",)

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._elements = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count the elements of a node."""
        (node,) = tokens_of(moved["nodes"])
        self._elements += node.control

    def counters(self) -> dict[str, int]:
        """Nodes, and elements in them."""
        return {"linked": self.end("nodes").tokens, "elements": self._elements}


BUMP_ALLOCATOR = RtlBlock(
    "bump_allocator",
    "gives out space behind a pointer: the old pointer is the answer, the size is added to it",
    BumpAllocatorParameters,
    lambda end, begin=0: BumpAllocatorParameters(begin, end, ADDRESS_BITS, 64),
    allocator_interface,
    bump_allocator,
    BumpAllocatorStandIn,
    lambda name, parameters: BumpAllocator(name, parameters.end, parameters.begin),
)
NODE_WRITER = RtlBlock(
    "node_writer",
    "puts nodes at the heads of linked lists: exchanges a row's head for the new node, a node a cycle",
    NodeWriterParameters,
    lambda rows: NodeWriterParameters(rows, ADDRESS_BITS, 31),
    writer_interface,
    node_writer,
    NodeWriterStandIn,
    lambda name, parameters: NodeWriter(name, parameters.rows),
)
