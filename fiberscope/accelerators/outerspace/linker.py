# cython: infer_types=True
"""The linker, which allocates nodes and links them into the lists of T's rows with atomic exchanges."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import ClassVar

from fiberscope.accelerators.outerspace.layout import INDEX_BYTES, NODE_PLACE, NODE_REQUEST
from fiberscope.accelerators.outerspace.lists import RowLists
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ_BURST, REPLY, REQUEST, TAG_MASK, WRITE_BURST
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port, Signal

NO_SLOT = -1
# Progress of a node. A node in its row's area (IN_AREA) needs only the access to the head of its list. A node
# in the spill area is TO_SPILL during that access, then SPILLING during the access to the shared pointer.
IN_AREA, TO_SPILL, SPILLING = range(3)


@dataclass(frozen=True)
class Space:
    """The division of the memory of T into areas.

    Args:
        base: address of the block that holds the shared pointer to the spill area; the static areas follow.
        area_bytes: bytes of the static area of each row; 0 for no static areas.
        rows: number of rows that have a static area.
        header_bytes: bytes of the header of a node.
        align: alignment of nodes in bytes.
        heads: address of the first head.
    """

    base: int
    area_bytes: int
    rows: int
    header_bytes: int
    align: int
    heads: int

    def spill_start(self, block_bytes: int) -> int:
        """Return the first address of the spill area; ``block_bytes`` is the size of the pointer's block."""
        return self.base + block_bytes + self.area_bytes * self.rows


class Linker(Component):
    """The unit of the central control processor that keeps the heads of the lists and allocates the nodes.

    Interface: a token on ``requests`` names the node. The linker reads, exchanges and writes back the head of
    the node's row through ``memory_requests`` and ``memory_replies``. The address of the node leaves on
    ``replies``. The old head becomes the link of the node; ``lists`` holds the link, the token does not. A
    node is placed in the static area of its row if it fits there. Otherwise it is placed in the spill area,
    and a second access fetches and increments a pointer that all rows share.

    Timing: in each cycle, the linker takes at most one request and one reply of memory, and sends at most one
    write and one read. It takes no request while a read waits to be sent. The order of the requests
    determines the order of the nodes in a list: the last node of a row is its head. Up to ``slots`` nodes are
    in flight.

    Args:
        lists: nodes and heads of T.
        space: division of the memory of T.
        port: number of the linker's port at the network to memory.
        block_bytes: bytes from the shared pointer to the first static area.
        slots: largest number of nodes in flight.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (
        Input("requests", NODE_REQUEST),
        Output("replies", NODE_PLACE),
        Output("memory_requests", REQUEST),
        Input("memory_replies", REPLY),
    )
    # Linked nodes; nodes in the spill area, and their bytes with headers and alignment.
    COUNTERS = ("linked", "spilled", "spilled_bytes")
    SIGNALS = (Signal("linked", 32), Signal("spilled", 32), Signal("under_way", 16))

    requests: Channel
    replies: Channel
    memory_requests: Channel
    memory_replies: Channel

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of the signals."""
        values[0] = self.linked
        values[1] = self.spilled
        values[2] = self.under_way

    def __init__(
        self, name: str, lists: RowLists, space: Space, *, port: int, block_bytes: int, slots: int
    ) -> None:
        super().__init__(name)
        self.lists = lists
        self.space = space
        self.base, self.area_bytes, self.heads = space.base, space.area_bytes, space.heads
        self.header_bytes, self.align = space.header_bytes, space.align
        self.block_bytes = block_bytes
        self.spill_address = space.spill_start(block_bytes)  # C: long
        self.used_bytes = array("q", bytes(8 * space.rows))  # allocated bytes of each row's static area
        self.tag_base = port << PORT_SHIFT
        self.slots = slots
        # By slot: tag of the request, node, and progress of the node
        self.tags = array("q", bytes(8 * slots))
        self.nodes = array("q", bytes(8 * slots))
        self.stages = array("b", bytes(slots))
        self.free = array("q", range(slots))  # stack of the free slots
        self.under_way = 0
        self.unsent_read = NO_SLOT  # slot with a read to send
        self.write_queue = array("q", bytes(8 * slots))  # ring of the slots with a write to send
        self.first_write = 0
        self.queued_writes = 0
        self.linked = self.spilled = self.spilled_bytes = 0

    def tick(self, now: int) -> int:
        """Finish a memory access, take a request, and begin a memory access."""
        progress = self._send_write()
        if self._receive():
            progress = True
        if self._take_request():
            progress = True
        if self._send_read():
            progress = True
        return self.busy(now + 1) if progress else self._wait()

    def _address(self, slot: int) -> int:  # C: noexcept
        """Return the address of a slot's current access: the head of the row, or the shared pointer."""
        if self.stages[slot] == SPILLING:
            return self.base
        return self.heads + self.lists.rows[self.nodes[slot]] * INDEX_BYTES

    def _take_request(self) -> bool:
        """Take a request: allocate memory for the node and make it the head of its list."""
        if self.unsent_read != NO_SLOT or self.under_way == self.slots or not self.requests.can_pop():
            return False
        self.under_way += 1
        slot = self.free[self.slots - self.under_way]
        node = self.requests.reference()
        self.tags[slot] = self.requests.coordinate()
        self.nodes[slot] = node
        self.requests.pop()
        row = self.lists.rows[node]
        self.stages[slot] = IN_AREA
        self._allocate(slot, node, row)
        self._link(node, row)
        self.unsent_read = slot
        self.linked += 1
        return True

    def _allocate(self, slot: int, node: int, row: int) -> None:
        """Allocate memory for a node: in the static area of its row if it fits, else in the spill area."""
        products = self.lists.first[node + 1] - self.lists.first[node]
        size = self.header_bytes + products * self.lists.element_bytes
        size = (size + self.align - 1) // self.align * self.align
        if self.used_bytes[row] + size <= self.area_bytes:
            self.lists.addresses[node] = (
                self.base + self.block_bytes + row * self.area_bytes + self.used_bytes[row]
            )
            self.used_bytes[row] += size
        else:
            self.stages[slot] = TO_SPILL
            self.spilled += 1
            self.spilled_bytes += size
            self._allocate_spill(node, size)

    def _allocate_spill(self, node: int, size: int) -> None:
        """Allocate a node in the spill area."""
        self.lists.addresses[node] = self.spill_address
        self.spill_address += size

    def _link(self, node: int, row: int) -> None:
        """Make a node the first of its row's list."""
        self.lists.following[node] = self.lists.heads[row]
        self.lists.heads[row] = node

    def _receive(self) -> bool:
        """Take a reply of memory, even if writes wait to be sent; otherwise the network could deadlock."""
        if not self.memory_replies.can_pop():
            return False
        index = (self.first_write + self.queued_writes) % self.slots
        self.write_queue[index] = self.memory_replies.coordinate() & TAG_MASK
        self.queued_writes += 1
        self.memory_replies.pop()
        return True

    def _send_write(self) -> bool:
        """Write back the value that was read first; its node is then finished, or needs the spill pointer.

        A node is finished when its address is sent. Return whether the write was sent.
        """
        if self.queued_writes == 0 or not self.memory_requests.can_push() or not self.replies.can_push():
            return False
        slot = self.write_queue[self.first_write]
        # ``unsent_read`` holds one slot: another node's read has to leave before this node's second read
        if self.stages[slot] == TO_SPILL and self.unsent_read != NO_SLOT:
            return False
        self.memory_requests.push(WRITE_BURST, self.tag_base, self._address(slot))
        self.first_write = (self.first_write + 1) % self.slots
        self.queued_writes -= 1
        if self.stages[slot] == TO_SPILL:
            self.stages[slot] = SPILLING
            self.unsent_read = slot
            return True
        self.replies.push(0, self.tags[slot], self.lists.addresses[self.nodes[slot]])
        self.free[self.slots - self.under_way] = slot
        self.under_way -= 1
        return True

    def _send_read(self) -> bool:
        if self.unsent_read == NO_SLOT or not self.memory_requests.can_push():
            return False
        self.memory_requests.push(
            READ_BURST, self.tag_base | self.unsent_read, self._address(self.unsent_read)
        )
        self.unsent_read = NO_SLOT
        return True

    def _wait(self) -> int:
        if self.under_way == 0:
            return self.idle()
        if self.queued_writes == 0 and self.unsent_read == NO_SLOT:
            return self.wait_input(self.memory_replies)
        if not self.memory_requests.can_push():
            return self.wait_output(self.memory_requests)
        return self.wait_output(self.replies)
