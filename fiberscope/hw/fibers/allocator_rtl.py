"""OuterSPACE's allocation as RTL: the twins of what ``fiberscope.hw.fibers.allocator`` has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyrtl

from fiberscope.hw.fibers.allocator import GRANTED, BumpAllocator, NodeWriter
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.backend import Backend
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import Field, Interface, tokens_of
from fiberscope.hw.rtl.kit.parameters import Parameters, number
from fiberscope.hw.rtl.kit.sram import Sram
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias, index_bits
from fiberscope.hw.rtl.kit.unit import Fields, PortContents, Summed, tokens, unit

ROWS = (1, 4096)
ADDRESS_BITS = 62
MOST = 1 << ADDRESS_BITS


@dataclass(frozen=True)
class BumpAllocatorParameters(Parameters):
    """Parameters of an allocator.

    Args:
        begin: the first address that is given out.
        end: the first that is not, at most 2**62.
        size_bits: bits of a request, 1 to 62.
        who_bits: bits of the requester's number, 1 to 64, in two's complement.
    """

    begin: int = number(0, 0, MOST, lambda own: (0, own.end))
    end: int = number(1 << 32, 0, MOST)
    size_bits: int = number(32, 1, ADDRESS_BITS)
    who_bits: int = number(16, 1, 64)


def allocator_contents(parameters: BumpAllocatorParameters) -> PortContents:
    """The control of a grant is high where there is no space."""
    who = {"reference": parameters.who_bits}
    address = {"coordinate": parameters.end.bit_length() or 1}
    return {"requests": {"coordinate": parameters.size_bits} | who, "grants": {"control": 1} | address | who}


def bump_allocator(parameters: BumpAllocatorParameters, between: Streams) -> None:
    """A register of what is given out, from 0 on; an adder, a comparison, an adder of the beginning."""
    requests, grants = between.inputs["requests"], between.outputs["grants"]
    width = parameters.end.bit_length() or 1
    allocated: Signal = pyrtl.Register(width, "given")
    after = alias("after", allocated + requests.fields["coordinate"])
    overflows = alias("overflows", after > parameters.end - parameters.begin)
    taken = alias("taken", requests.valid & grants.ready)
    allocated.next <<= pyrtl.select(taken & ~overflows, after[:width], allocated)
    requests.accept(grants.ready)
    grants.send(
        requests.valid,
        {
            "control": overflows,
            "coordinate": (allocated + parameters.begin)[:width],
            "reference": requests.fields["reference"],
        },
    )


class BumpAllocatorAdapter(Adapter):
    """Counts what is granted."""

    OBSERVED = ("requests", "grants")

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._granted = self._units = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Observe each request and its grant."""
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
    """Parameters of a writer of nodes; widths in bits.

    Args:
        rows: lists, 1 to 4,096.
        address_bits: 1 to 62.
        count_bits: bits of the elements of a node, 1 to 31.
    """

    rows: int = number(256, *ROWS)
    address_bits: int = number(32, 1, ADDRESS_BITS)
    count_bits: int = number(16, 1, 31)


def writer_contents(parameters: NodeWriterParameters) -> PortContents:
    """An address of -1 says that a list ends."""
    address = Field("reference", parameters.address_bits, "unsigned")
    row: Fields = {"coordinate": index_bits(parameters.rows), "reference": address}
    header = {"coordinate": parameters.address_bits, "reference": parameters.address_bits + 1}
    count = {"control": parameters.count_bits}
    return {"nodes": {**count, **row}, "headers": count | header}


def node_writer(parameters: NodeWriterParameters, between: Streams) -> None:
    """A synchronous memory of heads, read and written at once, of which the old contents are read.

    A bit a row, in a register, says whether it has a head.
    """
    nodes, headers = between.inputs["nodes"], between.outputs["headers"]
    row, address = nodes.fields["coordinate"], nodes.fields["reference"]
    full: Signal = pyrtl.Register(1, "full")
    moves = alias("moves", ~full | headers.ready)
    taken = alias("node_taken", nodes.valid & moves)
    full.next <<= taken | (full & ~moves)
    nodes.accept(moves)
    heads = Sram("heads", parameters.rows, parameters.address_bits)
    (before,) = heads.read(row, taken)
    heads.write(row, [address], [taken])
    linked: Signal = pyrtl.Register(parameters.rows, "linked")
    chosen = alias("chosen", pyrtl.shift_left_logical(pyrtl.Const(1, parameters.rows), row))
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


BUMP_ALLOCATOR = unit(
    "bump_allocator",
    BumpAllocator,
    BumpAllocatorParameters,
    allocator_contents,
    bump_allocator,
    arguments=("end", "begin"),
    as_made={"size_bits": ADDRESS_BITS, "who_bits": 64},
    base=BumpAllocatorAdapter,
)


NODE_WRITER = unit(
    "node_writer",
    NodeWriter,
    NodeWriterParameters,
    writer_contents,
    node_writer,
    arguments=("rows",),
    as_made={"address_bits": ADDRESS_BITS, "count_bits": 31},
    status=(PENDING,),
    counters={"linked": tokens("nodes"), "elements": Summed("nodes", lambda node: node.control)},
    through=("nodes", "headers"),
)
