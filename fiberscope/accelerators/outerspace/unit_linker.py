# cython: infer_types=True
"""The linker with units beside it that give out the spill area and keep the heads of the lists."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from fiberscope.accelerators.outerspace.layout import NO_NODE
from fiberscope.accelerators.outerspace.linker import Linker
from fiberscope.hw.fibers.allocator import GRANTED, NODE, NODE_HEADER, SPACE_GRANT, SPACE_REQUEST
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Port
from fiberscope.sim.errors import SimulationError

NOWHERE = 0  # instead of the address of a node that has none yet


class UnitLinker(Linker):
    """Has a ``BumpAllocator`` give nodes their places in the spill area, and a ``NodeWriter`` link all nodes.

    Interface: that of ``Linker``; and of both units all ports.

    Timing: that of ``Linker``. What the units say comes while the head is on its way from memory. Nodes are
    linked in the order in which they were taken, one a cycle; one that is to be spilled holds up those behind
    it until it has its place.

    Args:
        arguments, options: positional and keyword arguments of ``Linker``.

    Raises:
        SimulationError: in the run, if the spill area is full.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (
        *Linker.PORTS,
        Output("space_requests", SPACE_REQUEST),
        Input("space_grants", SPACE_GRANT),
        Output("new_nodes", NODE),
        Input("node_headers", NODE_HEADER),
    )

    space_requests: Channel
    space_grants: Channel
    new_nodes: Channel
    node_headers: Channel

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self.unlinked: deque[int] = deque()  # nodes, in the order in which they were taken
        self.node_at: dict[int, int] = {}  # by address

    def tick(self, now: int) -> int:
        """Hear what the units say, then do what any linker does, and have the next node linked."""
        self._hear()
        wake = Linker.tick(self, now)
        self._have_linked(now)
        return wake

    def _give(self, node: int, size: int) -> None:
        self.space_requests.push(0, size, node)

    def _link(self, node: int, row: int) -> None:
        self.unlinked.append(node)

    def _hear(self) -> None:
        """Take the place of a node, and what a node is linked to."""
        if self.space_grants.can_pop():
            if self.space_grants.control() != GRANTED:
                raise SimulationError(f"{self.name}: the spill area has no more room")
            self.lists.addresses[self.space_grants.reference()] = self.space_grants.coordinate()
            self.space_grants.pop()
        if self.node_headers.can_pop():
            node, behind = (
                self.node_at[self.node_headers.coordinate()],
                self.node_headers.reference(),
            )  # C: node=long
            self.lists.following[node] = NO_NODE if behind == NO_NODE else self.node_at[behind]
            self.lists.heads[self.lists.rows[node]] = node
            self.node_headers.pop()

    def _have_linked(self, now: int) -> None:
        """Hand the node that was taken first to the writer, once it has its place."""
        if self.unlinked and self.lists.addresses[self.unlinked[0]] != NOWHERE:
            node = self.unlinked.popleft()  # C: long
            address = self.lists.addresses[node]
            self.node_at[address] = node
            products = self.lists.first[node + 1] - self.lists.first[node]
            self.new_nodes.push(products, self.lists.rows[node], address)
            if self.unlinked:
                self.wake_at(now + 1)

    def _send_write(self) -> bool:
        """Write back a head only of a node that has its place."""
        if self.writes > 0:
            slot = self.to_write[self.first_write]
            if self.lists.addresses[self.nodes[slot]] == NOWHERE:
                return False
        return Linker._send_write(self)
