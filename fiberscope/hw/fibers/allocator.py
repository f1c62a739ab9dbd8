"""Allocation of OuterSPACE's partial products: a bump allocator, and the linked lists of rows."""

from __future__ import annotations

from array import array

from fiberscope.hw.lanes.pipeline import Pipeline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

# Kinds of a grant.
GRANTED = 0  # the space is allocated
OVERFLOW = 1  # the size did not fit

SPACE_REQUEST = Protocol("space request", coordinate="size", reference="who")
SPACE_GRANT = Protocol("space grant", control="kind", coordinate="address", reference="who")
# A node is a block of elements of one row in memory; its header has the address of the row's next node.
NODE = Protocol("node", control="count", coordinate="row", reference="address")
NODE_HEADER = Protocol("node header", control="count", coordinate="address", reference="next")

ADDRESS_BITS = 62
NO_NODE = -1  # in place of an address: the end of a list


class BumpAllocator(Component):
    """Allocates space by a fetch-and-add on one shared pointer: returns the old pointer and adds the size.

    Interface: a token on ``requests`` requests ``size`` units. A token on ``grants`` returns the address of
    the first unit and the ``who`` of the request. If the size does not fit below ``end``, the kind of the
    grant is ``OVERFLOW``, its address is the pointer, and the pointer does not move; a smaller request may
    still fit. A size of 0 always fits.

    Timing: one request per cycle; the grant leaves in the cycle in which the request is visible.

    Source: OuterSPACE (HPCA 2018): an atomic fetch-and-add on the pointer of the spill area. The rate of one
    request per cycle and the check against ``end`` are choices of this model.

    Args:
        end: first address that is not allocated, less than 2**62.
        begin: first address that is allocated.

    Raises:
        ValueError: if ``begin`` is negative, or ``end`` is less than ``begin`` or too large.
        SimulationError: in the run, if a size is negative.
    """

    PORTS = (Input("requests", SPACE_REQUEST), Output("grants", SPACE_GRANT))
    COUNTERS = ("granted", "overflows", "units")  # units: sum of the granted sizes
    SIGNALS = (Signal("pointer", ADDRESS_BITS), Signal("overflows", 48))

    requests: Channel
    grants: Channel

    def __init__(self, name: str, end: int, begin: int = 0) -> None:
        super().__init__(name)
        if not 0 <= begin <= end < 1 << ADDRESS_BITS:
            raise ValueError(f"{name}: there is no space from {begin} to {end} below 2**{ADDRESS_BITS}")
        self.end = end
        self.pointer = begin
        self.granted = self.overflows = self.units = 0

    def tick(self, now: int) -> int:
        """Grant or refuse one request."""
        requests, grants = self.requests, self.grants
        if not requests.can_pop():
            return self.idle()
        if not grants.can_push():
            return self.wait_output(grants)
        address = self.pointer
        grants.push(self._bump(requests.coordinate()), address, requests.reference())
        requests.pop()
        return self.busy(now + 1)

    def _bump(self, size: int) -> int:
        """Add the size to the pointer if it fits, and return the kind of the grant."""
        if size < 0:
            raise SimulationError(f"{self.name}: a size of {size} was requested")
        if self.pointer + size > self.end:
            self.overflows += 1
            return OVERFLOW
        self.pointer += size
        self.units += size
        self.granted += 1
        return GRANTED


class NodeWriter(Component):
    """Prepends nodes to the linked lists of rows; each node exchanges the head of its row atomically.

    Interface: a token on ``nodes`` has a row, the address of a new node and the number of elements in the
    node. A token on ``headers`` has the header to write at this address: the number of elements, and the
    address of the next node. The next node is the former head of the row, or ``NO_NODE``.

    Timing: one node per cycle, also if successive nodes belong to the same row. The header leaves in the next
    cycle, or as soon as ``headers`` has a free slot; no other node is linked before. The heads are in a
    synchronous memory, which reads and writes one address in the same cycle.

    Accounting: busy while a node or a header moves; waiting for output while a header cannot leave.

    Source: OuterSPACE (HPCA 2018), whose tiles append to the lists of rows by atomic operations. The format
    of the header is not published; the format, and new nodes at the head, are choices of this model.

    Args:
        rows: number of lists; all are empty at first.

    Raises:
        ValueError: if ``rows`` is less than 1.
        SimulationError: in the run, if a row does not exist or an address is negative.
    """

    PORTS = (Input("nodes", NODE), Output("headers", NODE_HEADER))
    COUNTERS = ("linked", "elements")  # linked: nodes; elements: sum of their counts
    SIGNALS = (Signal("row", 48, "integer"), Signal("linked", 48))

    nodes: Channel
    headers: Channel

    def __init__(self, name: str, rows: int) -> None:
        super().__init__(name)
        if rows < 1:
            raise ValueError(f"{name}: rows must be at least 1, not {rows}")
        self.heads = array("q", [NO_NODE]) * rows
        self.pipeline = Pipeline(1)
        self.header = (0, 0, NO_NODE)  # count, address and next node, to leave on ``headers``
        self.row = -1  # row of the last node
        self.linked = self.elements = 0

    def tick(self, now: int) -> int:
        """Send the pending header, and link a node."""
        leaves = self.pipeline.has_due_item(now)
        if leaves:
            if not self.headers.can_push():
                return self.wait_output(self.headers)
            self.pipeline.leave(now)
            self.headers.push(*self.header)
        if self.nodes.can_pop():
            self._link(now)
            return self.busy(now + 1)
        return self.busy(now + 1) if leaves else self.idle()

    def _link(self, now: int) -> None:
        """Make the node at the head of ``nodes`` the head of its row, and prepare its header."""
        count, row, address = self.nodes.control(), self.nodes.coordinate(), self.nodes.reference()
        if not 0 <= row < len(self.heads) or address < 0:
            raise SimulationError(
                f"{self.name}: there is no node at {address} of row {row}; rows are from 0 to "
                f"{len(self.heads) - 1}, addresses from 0 on"
            )
        self.header = (count, address, self.heads[row])
        self.heads[row] = address
        self.row = row
        self.pipeline.enter(now)
        self.nodes.pop()
        self.linked += 1
        self.elements += count
