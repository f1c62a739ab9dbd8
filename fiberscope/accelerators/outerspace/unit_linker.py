# cython: infer_types=True
"""A linker with separate units that allocate the spill area and keep the heads of the lists."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from fiberscope.accelerators.outerspace.layout import NO_NODE
from fiberscope.accelerators.outerspace.linker import Linker
from fiberscope.hw.fibers.allocator import GRANTED, NODE, NODE_HEADER, SPACE_GRANT, SPACE_REQUEST
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Port
from fiberscope.sim.errors import SimulationError

NO_ADDRESS = 0  # address of a node that has no memory yet; T does not begin at 0


class UnitLinker(Linker):
    """A linker with a ``BumpAllocator`` for nodes in the spill area, and a ``NodeWriter`` that links nodes.

    Interface: the ports of ``Linker``, and counterparts of all ports of both units: ``space_requests`` and
    ``space_grants`` of the allocator, ``new_nodes`` and ``node_headers`` of the node writer.

    Timing: as ``Linker``, but the write of a head, and all writes after it, wait until its node has an
    address; usually the grant arrives while the head is fetched. Nodes are linked in the order in which they
    were taken, one per cycle. A node in the spill area delays the nodes after it until its address is
    granted. ``lists`` changes when the header of a node arrives, not when its request is taken.

    Accounting: as ``Linker``; a write that waits for an address counts as waiting for space at ``replies``.

    Args:
        arguments, options: positional and keyword arguments of ``Linker``.

    Raises:
        SimulationError: during the run, if the spill area is full.
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
        self.unlinked_nodes: deque[int] = deque()  # in the order in which they were taken
        self.nodes_by_address: dict[int, int] = {}  # the node writer names nodes by their addresses

    def tick(self, now: int) -> int:
        """Take the replies of the units, do the work of a ``Linker``, and send the next node to be linked."""
        self._take_replies()
        wake = Linker.tick(self, now)
        self._send_new_node(now)
        return wake

    def _allocate_spill(self, node: int, size: int) -> None:
        """Request memory in the spill area; the address arrives later, see ``_take_replies``."""
        # The channel has a slot for each node in flight (``add_links``), and needs no check.
        self.space_requests.push(0, size, node)

    def _link(self, node: int, row: int) -> None:
        """Queue a node for the node writer, which needs the address."""
        self.unlinked_nodes.append(node)

    def _take_replies(self) -> None:
        """Take the address of a node from the allocator, and the link of a node from the node writer.

        Raises:
            SimulationError: if the allocator has no memory left.
        """
        if self.space_grants.can_pop():
            if self.space_grants.control() != GRANTED:
                raise SimulationError(f"{self.name}: the spill area is full")
            self.lists.addresses[self.space_grants.reference()] = self.space_grants.coordinate()
            self.space_grants.pop()
        if self.node_headers.can_pop():
            node, successor = (
                self.nodes_by_address[self.node_headers.coordinate()],
                self.node_headers.reference(),
            )  # C: node=long
            self.lists.following[node] = NO_NODE if successor == NO_NODE else self.nodes_by_address[successor]
            self.lists.heads[self.lists.rows[node]] = node
            self.node_headers.pop()

    def _send_new_node(self, now: int) -> None:
        """Send the oldest unlinked node to the node writer once it has an address."""
        if self.unlinked_nodes and self.lists.addresses[self.unlinked_nodes[0]] != NO_ADDRESS:
            node = self.unlinked_nodes.popleft()  # C: long
            address = self.lists.addresses[node]
            self.nodes_by_address[address] = node
            products = self.lists.first[node + 1] - self.lists.first[node]
            # No check: the node writer takes a node in each cycle, as its headers are taken at once.
            self.new_nodes.push(products, self.lists.rows[node], address)
            if self.unlinked_nodes:
                self.wake_at(now + 1)  # ``Linker.tick`` may wait, without knowledge of unlinked nodes

    def _send_write(self) -> bool:
        """Send the first queued write, unless its node has no address yet; return whether it was sent."""
        # The reply has the address and not the link, so that the link may come later.
        if self.queued_writes > 0:
            slot = self.write_queue[self.first_write]
            if self.lists.addresses[self.nodes[slot]] == NO_ADDRESS:
                return False
        return Linker._send_write(self)
