# cython: infer_types=True
"""A processing element of the multiply phase: an element of A times a row of B, stored as a node of T."""

from __future__ import annotations

from array import array

from fiberscope.accelerators.outerspace.configuration import MultiplierSpecification
from fiberscope.accelerators.outerspace.layout import (
    END_OF_WORK,
    INDEX_BYTES,
    NODE_PLACE,
    NODE_REQUEST,
    PRODUCT_TASK,
    TASK_DONE,
    OperandLayout,
)
from fiberscope.accelerators.outerspace.lists import RowLists
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK, WRITE, WRITE_BURST
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.hw.value_type import TYPES, ValueType
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

NO_TASK = -2
UNKNOWN = -1  # address of a node before its allocation


class MultiplyingElement(Component):
    """A processing element that executes tasks: each multiplies one element of A by one row of B.

    T, the intermediate tensor, has a linked list of nodes for each row of Z. The products of a task are one
    node: a header, followed by the products.

    Interface: ``tasks`` brings the number of the element and of the row. ``requests`` and ``replies`` load
    the blocks of the element's coordinate and value, and then the blocks of the row. When the coordinate of
    the element, the row of Z, has arrived, ``node_requests`` asks the linker for a node, unless the row of B
    is empty. ``node_places`` brings its address. ``store_requests`` writes each block of the node when it is
    full, and the last block when the node is complete. ``done`` reports that all products of a task are made
    and all its loads have arrived; stores may follow. The task ``END_OF_WORK`` is done when all stores have
    been sent.

    Timing: in each cycle, the element takes a reply, a node address and a task, and sends a load, a store and
    a request for a node. A product takes ``product_cycles``, like the loop of an in-order core. Products are
    made in batches of up to a block. The latency of the multiplier is the latency of the channel at
    ``store_requests``. Products wait for space in the scratchpad and for the request of the node; only stores
    wait for the node's address.

    Args:
        specification: sizes and times of the element.
        a, b: the operands; A is stored by columns.
        layouts: layouts of A and B in memory.
        lists: the tensor T.
        port: number of the element's port at the first-level cache.
        number: number of the element in the machine, which is its port at the linker.
    """

    PORTS = (
        Input("tasks", PRODUCT_TASK),
        Output("done", TASK_DONE),
        Output("requests", REQUEST),
        Input("replies", REPLY),
        Output("node_requests", NODE_REQUEST),
        Input("node_places", NODE_PLACE),
        Output("store_requests", REQUEST),
    )
    # Elements of A; products; nodes; blocks that the products of each node would fill; and stores sent.
    COUNTERS = ("elements", "multiply", "nodes", "blocks", "stores")
    SIGNALS = (
        Signal("element", 32, "integer"),
        Signal("k", 32, "integer"),
        Signal("multiply", 48),
        Signal("held", 16),
        Signal("open_nodes", 8),
    )

    tasks: Channel
    done: Channel
    requests: Channel
    replies: Channel
    node_requests: Channel
    node_places: Channel
    store_requests: Channel

    def __init__(
        self,
        name: str,
        specification: MultiplierSpecification,
        a: CompressedRows,
        b: CompressedRows,
        layouts: tuple[OperandLayout, OperandLayout],
        lists: RowLists,
        *,
        port: int,
        number: int,
    ) -> None:
        super().__init__(name)
        self.a, self.b, self.lists = a, b, lists
        self.a_dense, self.b_dense = (layout.index_bytes == 0 for layout in layouts)
        self.a_coordinates = layouts[0].coordinates  # C: long
        self.a_values = layouts[0].values  # C: long
        self.b_coordinates = layouts[1].coordinates  # C: long
        self.b_values = layouts[1].values  # C: long
        self.tag_base = port << PORT_SHIFT
        self.node_tag_base = number << PORT_SHIFT
        self.block_bytes, self.burst_bytes = specification.block_bytes, specification.burst_bytes
        self.product_cycles, self.header_bytes = specification.product_cycles, specification.header_bytes
        self.value_type: ValueType = TYPES[specification.values]  # C: readonly ValueType
        self.value_bytes = layouts[0].value_bytes  # C: long
        self.element_bytes = lists.element_bytes
        self.max_ahead = specification.scratchpad_bytes // 2 // lists.element_bytes  # products, elements of B
        self.batch_limit = max(1, specification.block_bytes // lists.element_bytes)
        self.window = ReorderWindow(specification.outstanding)
        # By load: number of elements of B that are complete when it has arrived
        self.covered_elements = array("q", bytes(8 * specification.outstanding))
        self.element = NO_TASK
        self.k = self.slot = 0
        self.row_start = self.row_length = 0  # of the row of B, in elements
        self.requested_parts = 0  # number of requested blocks of the element of A: coordinate, then value
        self.first_load = 0  # number of the first load of the task
        self.requested_coordinates = self.requested_values = 0  # requested elements of B
        self.is_node_requested = False  # whether the node of the task is requested
        self.ready_products = self.made_products = 0  # with both operands, and made
        self.batch = 0  # products in progress
        self.batch_end = 0  # cycle in which they are made
        self.depth = specification.outstanding
        self.node_ids = array("q", bytes(8 * self.depth))  # queue of the nodes that are not completely stored
        self.node_addresses = array("q", bytes(8 * self.depth))
        self.product_counts = array("q", bytes(8 * self.depth))  # products made of each node in the queue
        self.first_node = self.open_nodes = 0
        self.stored_end = 0  # address up to which the oldest node is stored; 0 before its first store
        self.held = 0  # products in the scratchpad: made or in progress, and not stored
        self.elements = self.multiply = self.nodes = self.blocks = self.stores = 0

    def tick(self, now: int) -> int:
        """Receive, finish a batch, begin a task, load, request a node, begin a batch, store, and report."""
        progress = self._receive()
        if self.batch > 0 and now >= self.batch_end:
            self._end_batch()
            progress = True
        if self.element == NO_TASK and self._start_task():
            progress = True
        if self.element >= 0:
            if self._request_block():
                progress = True
            if self._request_node():
                progress = True
            if self._start_batch(now):
                progress = True
        if self._store_block():
            progress = True
        if self._report():
            progress = True
        if progress:
            return self.busy(now + 1)
        return self.busy(self.batch_end) if self.batch > 0 else self._wait()

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of the signals."""
        values[0] = self.element
        values[1] = self.k
        values[2] = self.multiply
        values[3] = self.held
        values[4] = self.open_nodes

    def _receive(self) -> bool:
        progress = False
        if self.replies.can_pop():
            if self.window.receive(self.replies.coordinate() & TAG_MASK) > 0:
                self.ready_products = self.covered_elements[(self.window.arrived - 1) % self.window.size]
            self.replies.pop()
            progress = True
        if self.node_places.can_pop():
            self.node_addresses[self.node_places.coordinate() & TAG_MASK] = self.node_places.reference()
            self.node_places.pop()
            progress = True
        return progress

    def _start_task(self) -> bool:
        """Take the next task; return whether taken."""
        if not self.tasks.can_pop():
            return False
        self.slot = self.tasks.control()
        self.element, self.k = self.tasks.coordinate(), self.tasks.reference()
        self.tasks.pop()
        if self.element != END_OF_WORK:
            self.elements += 1
            self.row_start = self.b.pointers[self.k]
            self.row_length = self.b.pointers[self.k + 1] - self.row_start
            self.requested_parts = 1 if self.a_dense else 0
            self.requested_values = 0
            self.requested_coordinates = self.row_length if self.b_dense else 0
            self.first_load = self.window.sent
            self.is_node_requested = False
            self.ready_products = self.made_products = 0
        return True

    def _request_block(self) -> bool:
        """Load the next block of the task, unless the loads are ``max_ahead`` elements ahead."""
        requested = min(self.requested_coordinates, self.requested_values)
        limit = min(self.row_length, self.made_products + self.max_ahead)
        if self.requested_parts == 2 and requested >= limit:
            return False
        if not self.window.has_free_slot() or not self.requests.can_push():
            return False
        address = self._next_block()
        slot = self.window.send()
        self.covered_elements[slot] = min(self.requested_coordinates, self.requested_values)
        self.requests.push(READ, self.tag_base | slot, address)
        return True

    def _next_block(self) -> int:  # C: noexcept
        """Return the address of the next block: of the element of A, then of the array of B that lags."""
        if self.requested_parts < 2:
            self.requested_parts += 1
            if self.requested_parts == 1:
                return self._block_address(self.a_coordinates + self.element * INDEX_BYTES)
            return self._block_address(self.a_values + self.element * self.value_bytes)
        if self.requested_coordinates <= self.requested_values:
            first = self.row_start + self.requested_coordinates
            self.requested_coordinates += self._count_to_block_end(first, INDEX_BYTES)
            self.requested_coordinates = min(self.requested_coordinates, self.row_length)
            return self._block_address(self.b_coordinates + first * INDEX_BYTES)
        first = self.row_start + self.requested_values
        values = self.requested_values + self._count_to_block_end(first, self.value_bytes)
        self.requested_values = min(values, self.row_length)
        return self._block_address(self.b_values + first * self.value_bytes)

    def _count_to_block_end(self, first: int, width: int) -> int:  # C: noexcept, inline
        """Return the number of elements of an array from ``first`` to the end of its block."""
        return (self.block_bytes - first * width % self.block_bytes) // width

    def _block_address(self, address: int) -> int:  # C: noexcept, inline
        return address // self.block_bytes * self.block_bytes

    def _request_node(self) -> bool:
        """Request a node from the linker, once the row of Z is known; return whether requested."""
        if self.is_node_requested or self.row_length == 0 or self.open_nodes == self.depth:
            return False
        if self.window.arrived == self.first_load and not self.a_dense:
            return False
        if not self.node_requests.can_push():
            return False
        index = (self.first_node + self.open_nodes) % self.depth
        self.node_ids[index] = self.element
        self.node_addresses[index] = UNKNOWN
        self.product_counts[index] = 0
        self.open_nodes += 1
        self.node_requests.push(0, self.node_tag_base | index, self.element)
        self.is_node_requested = True
        self.nodes += 1
        self.blocks += (self.row_length * self.element_bytes + self.block_bytes - 1) // self.block_bytes
        return True

    def _start_batch(self, now: int) -> bool:
        """Begin a batch of products, if operands and space are available; return whether begun."""
        if self.batch > 0 or not self.is_node_requested:
            return False
        products = min(self.ready_products - self.made_products, self.max_ahead - self.held, self.batch_limit)
        if products <= 0:
            return False
        factor = self.a.values[self.element]
        first = self.lists.first[self.element] + self.made_products
        b_index = self.row_start + self.made_products
        for i in range(products):
            self.lists.columns[first + i] = self.b.coordinates[b_index + i]
            self.lists.values[first + i] = self.value_type.multiply(factor, self.b.values[b_index + i])
        self.batch = products
        self.held += products
        self.batch_end = now + products * self.product_cycles
        return True

    def _end_batch(self) -> None:
        self.made_products += self.batch
        self.multiply += self.batch
        self.product_counts[(self.first_node + self.open_nodes - 1) % self.depth] += self.batch
        self.batch = 0

    def _store_block(self) -> bool:
        """Store a block of the oldest node, if it is full or the node's last; return whether stored.

        A store within one burst is a burst; any other store is a whole block.
        """
        if self.open_nodes == 0:
            return False
        index = self.first_node
        address = self.node_addresses[index]
        if address == UNKNOWN:
            return False
        node = self.node_ids[index]
        data = address + self.header_bytes
        end = data + (self.lists.first[node + 1] - self.lists.first[node]) * self.element_bytes
        start = max(self.stored_end, address)
        block_end = min(self._block_address(start) + self.block_bytes, end)
        made_end = data + self.product_counts[index] * self.element_bytes
        if made_end < block_end or not self.store_requests.can_push():
            return False
        if start // self.burst_bytes == (block_end - 1) // self.burst_bytes:
            self.store_requests.push(WRITE_BURST, 0, start)
        else:
            self.store_requests.push(WRITE, 0, self._block_address(start))
        self.stores += 1
        self.held -= self._count_complete(block_end - data) - self._count_complete(start - data)
        self.stored_end = block_end
        if block_end == end:
            self.first_node = (index + 1) % self.depth
            self.open_nodes -= 1
            self.stored_end = 0
        return True

    def _count_complete(self, size: int) -> int:  # C: noexcept
        """Return the number of complete products in the first ``size`` bytes after a node's header."""
        return size // self.element_bytes if size > 0 else 0

    def _report(self) -> bool:
        """Report the task if it is done; return whether reported."""
        if self.element == NO_TASK or not self._is_done() or not self.done.can_push():
            return False
        self.done.push(self.slot)
        self.element = NO_TASK
        return True

    def _is_done(self) -> bool:  # C: noexcept
        """Return whether the products are all made and no load is in flight; at the end, if all is stored."""
        if self.element == END_OF_WORK:
            return self.open_nodes == 0
        is_loaded = self.requested_parts == 2 and self.window.in_flight() == 0
        return is_loaded and self.made_products == self.row_length

    def _wait(self) -> int:
        if self.element >= 0:
            if self._is_done():
                return self.wait_output(self.done)
            if self.row_length > 0 and not self.is_node_requested and self.window.arrived > self.first_load:
                return self.wait_output(self.node_requests)
            if self.ready_products == self.made_products or not self.is_node_requested:
                is_blocked = self.window.in_flight() == 0
                return self.wait_output(self.requests) if is_blocked else self.wait_input(self.replies)
        elif self.open_nodes == 0:
            return self.idle()
        if self.node_addresses[self.first_node] == UNKNOWN:
            return self.wait_input(self.node_places)
        return self.wait_output(self.store_requests)
