"""RTL of OuterSPACE's bump allocator and node writer, of ``fiberscope.hw.fibers.allocator``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyrtl

from fiberscope.hw.fibers.allocator import ADDRESS_BITS, GRANTED, BumpAllocator, NodeWriter
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import Field, tokens_of
from fiberscope.hw.rtl.kit.parameters import Parameters, number
from fiberscope.hw.rtl.kit.sram import Sram
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias, index_bits
from fiberscope.hw.rtl.kit.unit import Fields, PortContents, Summed, tokens, unit

ROWS = (1, 4096)
MAX_END = (1 << ADDRESS_BITS) - 1  # largest end of the address range


@dataclass(frozen=True)
class BumpAllocatorParameters(Parameters):
    """Parameters of a bump allocator.

    Args:
        begin: first address that is allocated, 0 to ``end``.
        end: first address that is not allocated, less than 2**62.
        size_bits: width of a requested size, 1 to 62.
        who_bits: width of the requester's number, 1 to 64, in two's complement.
    """

    begin: int = number(0, 0, MAX_END, lambda own: (0, own.end))
    end: int = number(1 << 32, 0, MAX_END)
    size_bits: int = number(32, 1, ADDRESS_BITS)
    who_bits: int = number(16, 1, 64)


def allocator_contents(parameters: BumpAllocatorParameters) -> PortContents:
    """Return the fields of each port; the control of a grant is 1 (``OVERFLOW``) if the size did not fit."""
    who = {"reference": parameters.who_bits}
    address = {"coordinate": parameters.end.bit_length() or 1}
    return {"requests": {"coordinate": parameters.size_bits} | who, "grants": {"control": 1} | address | who}


def bump_allocator(parameters: BumpAllocatorParameters, streams: Streams) -> None:
    """Build the allocator: a register with the number of allocated units, and logic for the next grant.

    The register counts from 0 because registers reset to 0; ``begin`` is added to the granted address.
    """
    requests, grants = streams.inputs["requests"], streams.outputs["grants"]
    width = parameters.end.bit_length() or 1
    allocated: Signal = pyrtl.Register(width, "given")
    # PyRTL keeps the carry of the sum, so that a size that does not fit cannot wrap around.
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
    """Adapter that counts the granted requests and units; a request and its grant move in the same cycle."""

    OBSERVED = ("requests", "grants")

    _granted = _units = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count a request and its units if it was granted."""
        (request,), (grant,) = (tokens_of(moved[port]) for port in self.OBSERVED)
        if grant.control == GRANTED:
            self._granted += 1
            self._units += request.coordinate

    def counters(self) -> dict[str, int]:
        """Return the numbers of granted requests, of refused requests, and of granted units."""
        # Every request gets a grant in its cycle, so that the requests that are not granted are refused.
        overflows = self.end("requests").tokens - self._granted
        return {"granted": self._granted, "overflows": overflows, "units": self._units}


@dataclass(frozen=True)
class NodeWriterParameters(Parameters):
    """Parameters of a node writer; widths in bits.

    Args:
        rows: number of lists, 1 to 4,096.
        address_bits: width of a node's address, 1 to 62.
        count_bits: width of the number of elements of a node, 1 to 31.
    """

    rows: int = number(256, *ROWS)
    address_bits: int = number(32, 1, ADDRESS_BITS)
    count_bits: int = number(16, 1, 31)


def writer_contents(parameters: NodeWriterParameters) -> PortContents:
    """Return the fields of each port. The next address has a sign bit: -1 (``NO_NODE``) ends a list."""
    address = Field("reference", parameters.address_bits, "unsigned")
    row: Fields = {"coordinate": index_bits(parameters.rows), "reference": address}
    header = {"coordinate": parameters.address_bits, "reference": parameters.address_bits + 1}
    count = {"control": parameters.count_bits}
    return {"nodes": {**count, **row}, "headers": count | header}


def node_writer(parameters: NodeWriterParameters, streams: Streams) -> None:
    """Build the node writer: a synchronous memory with the head of each list.

    A node reads the old head of its row and writes its own address in the same cycle. The register
    ``linked`` has a bit for each row that is set once the row has a head; the memory needs no reset.
    """
    nodes, headers = streams.inputs["nodes"], streams.outputs["headers"]
    row, address = nodes.fields["coordinate"], nodes.fields["reference"]
    full: Signal = pyrtl.Register(1, "full")
    # ``full``: a header waits for ``headers``. Its place is free again in the cycle in which it leaves.
    moves = alias("moves", ~full | headers.ready)
    taken = alias("node_taken", nodes.valid & moves)
    full.next <<= taken | (full & ~moves)
    nodes.accept(moves)
    heads = Sram("heads", parameters.rows, parameters.address_bits)
    # The old head appears in the next cycle; the other fields of the header are kept in registers until then.
    (before,) = heads.read(row, taken)
    heads.write(row, [address], [taken])
    linked: Signal = pyrtl.Register(parameters.rows, "linked")
    # One-hot: the bit of the node's row.
    chosen = alias("chosen", pyrtl.shift_left_logical(pyrtl.Const(1, parameters.rows), row))
    linked.next <<= pyrtl.select(taken, linked | chosen, linked)
    has_head = _kept("has_head", taken, (linked & chosen) != 0)
    count = _kept("count", taken, nodes.fields["control"])
    own = _kept("address", taken, address)
    end = pyrtl.Const(-1, parameters.address_bits + 1, signed=True)
    following = pyrtl.select(has_head, before.zero_extended(parameters.address_bits + 1), end)
    headers.send(full, {"control": count, "coordinate": own, "reference": following})
    streams.show(PENDING, full | taken)


def _kept(name: str, enable: Signal, wire: Signal) -> Signal:
    """Return a register that loads the wire in the cycles in which ``enable`` is 1."""
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
