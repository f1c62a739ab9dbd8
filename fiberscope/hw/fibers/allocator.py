"""OuterSPACE's room for partial products: a pointer that is bumped, and the heads of rows' linked lists."""

from __future__ import annotations

from array import array

from fiberscope.hw.lanes.pipeline import Pipeline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

GRANTED = 0  # kinds of a grant
OVERFLOW = 1

SPACE_REQUEST = Protocol("space request", coordinate="size", reference="who")
SPACE_GRANT = Protocol("space grant", control="kind", coordinate="address", reference="who")
NODE = Protocol("node", control="count", coordinate="row", reference="address")
NODE_HEADER = Protocol("node header", control="count", coordinate="address", reference="next")

NO_NODE = -1  # instead of an address: the end of a list


class BumpAllocator(Component):
    """Gives out space behind one shared pointer: the old pointer is the answer, the size is added to it.

    Interface: a token on ``requests`` asks for ``size`` units; on ``grants`` leaves the address of the first,
    with the number of who asked. What does not fit below ``end`` is answered by the kind ``OVERFLOW``, and
    the pointer stays: a smaller request may still fit.

    Timing: one request a cycle, answered in the cycle in which it is seen.

    Source: OuterSPACE (HPCA 2018): an atomic fetch-and-add on the pointer of the spill area. One a cycle, and
    that the pointer does not pass its end, are choices of this model.

    Args:
        name: instance name.
        end: the first address that is not to be given out.
        begin: the first that is.

    Raises:
        ValueError: if the end is before the beginning, or that is negative.
        SimulationError: in the run, for a negative size.
    """

    PORTS = (Input("requests", SPACE_REQUEST), Output("grants", SPACE_GRANT))
    COUNTERS = ("granted", "overflows", "units")  # units: given out
    SIGNALS = (Signal("pointer", 62), Signal("overflows", 48))

    requests: Channel
    grants: Channel

    def __init__(self, name: str, end: int, begin: int = 0) -> None:
        super().__init__(name)
        if not 0 <= begin <= end:
            raise ValueError(f"{name}: there is no space from {begin} to {end}")
        self.end = end
        self.pointer = begin
        self.granted = self.overflows = self.units = 0

    def tick(self, now: int) -> int:
        """Answer one request."""
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
        """Move the pointer, if the size fits; gives the kind of grant."""
        if size < 0:
            raise SimulationError(f"{self.name}: a size of {size} was asked for")
        if self.pointer + size > self.end:
            self.overflows += 1
            return OVERFLOW
        self.pointer += size
        self.units += size
        self.granted += 1
        return GRANTED


class NodeWriter(Component):
    """Puts nodes at the heads of the linked lists of rows: an atomic exchange of a row's head for each.

    Interface: a token on ``nodes`` names a row, the address of a new node and how many elements are in it. On
    ``headers`` leaves what is to be written at that address: the count, and the address of the next node,
    which is the row's head before, or ``NO_NODE``.

    Timing: one node a cycle, also of one row; its header leaves in the next cycle, or when there is space.
    The heads are in a synchronous memory, which is read and written at one address in one cycle.

    Accounting: busy while a node or a header moves; waiting for output while a header cannot leave.

    Source: OuterSPACE (HPCA 2018), whose tiles append to the lists of rows by atomic operations. The header,
    which is not published, and new nodes at the head are choices of this model.

    Args:
        name: instance name.
        rows: how many lists there are; all empty at first.

    Raises:
        ValueError: for no rows.
        SimulationError: in the run, for a row that there is not, or an address that is negative.
    """

    PORTS = (Input("nodes", NODE), Output("headers", NODE_HEADER))
    COUNTERS = ("linked", "elements")  # nodes, and the sum of their counts
    SIGNALS = (Signal("row", 48, "integer"), Signal("linked", 48))

    nodes: Channel
    headers: Channel

    def __init__(self, name: str, rows: int) -> None:
        super().__init__(name)
        if rows < 1:
            raise ValueError(f"{name}: rows must be at least 1, not {rows}")
        self.heads = array("q", [NO_NODE]) * rows
        self.pipeline = Pipeline(1)
        self.header = (0, 0, NO_NODE)  # that waits to leave
        self.row = -1  # of the last node
        self.linked = self.elements = 0

    def tick(self, now: int) -> int:
        """Let a header leave, and take a node."""
        leaves = self.pipeline.stands(now)
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
        """Exchange the head of the row."""
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
