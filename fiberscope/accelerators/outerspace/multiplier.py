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
UNKNOWN = -1  # address of a node whose place has not come


class MultiplyingElement(Component):
    """Multiplies one element of A with a row of B after the other.

    Interface: a task on ``tasks`` names the element and the row. Their blocks are loaded (``requests``,
    ``replies``): coordinate and value of the element, and behind them the row's. Once the row of Z is
    known, a node for the products is asked for on ``node_requests``; its address comes on ``node_places``.
    The products follow the node's header in memory and leave on ``store_requests``, whole blocks as soon as
    they are full, and the last one as far as it goes. ``done`` tells that all products of a task are made;
    the task at the end of work is done when all stores have left.

    Timing: a cycle takes a reply, a place and a task, sends a load and a store, and asks for a node. A
    product takes ``product_cycles``, as the loop of an in-order core; up to a block's worth is made without
    looking up. The multiplier is a pipeline, whose depth is the latency of the channel at
    ``store_requests``. Stores wait for the node's address, products only for room in the scratchpad.

    Args:
        name: instance name.
        specification: its sizes and times.
        a, b: the operands, A by columns.
        layouts: where they are in memory.
        lists: T.
        port: number of its port at the first-level cache.
        number: of this one among all, its port at the linker.
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
    # Elements of A; blocks: those that each node's products fill by themselves; stores: what was written.
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
        self.a = a
        self.b = b
        self.lists = lists
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
        self.covers = array("q", bytes(8 * specification.outstanding))  # by slot: elements up to its load
        self.element = NO_TASK
        self.k = self.slot = 0
        self.begin = self.count = 0  # of the row of B
        self.parts = 0  # of the element of A that were asked for: coordinate and value
        self.first_load = 0  # of the task
        self.requested_coordinates = self.requested_values = 0  # elements of B whose blocks were asked for
        self.linked = False
        self.ready = self.produced = 0  # products that can be made, and that are
        self.batch = 0  # products that are being made
        self.until = 0
        self.depth = specification.outstanding
        self.node_ids = array("q", bytes(8 * self.depth))  # ring of the nodes that are not stored
        self.places = array("q", bytes(8 * self.depth))
        self.product_counts = array("q", bytes(8 * self.depth))  # products
        self.first_node = self.open_nodes = 0
        self.stored = 0  # address up to which the oldest node is
        self.held = 0  # products made, or being made, and not stored
        self.elements = self.multiply = self.nodes = self.blocks = self.stores = 0

    def tick(self, now: int) -> int:
        """Take what came, ask for what is next, make products and store them."""
        progress = self._receive()
        if self.batch > 0 and now >= self.until:
            self._end_batch()
            progress = True
        if self.element == NO_TASK and self._begin():
            progress = True
        if self.element >= 0:
            if self._ask():
                progress = True
            if self._link():
                progress = True
            if self._multiply(now):
                progress = True
        if self._store():
            progress = True
        if self._finish():
            progress = True
        if progress:
            return self.busy(now + 1)
        return self.busy(self.until) if self.batch > 0 else self._wait()

    def _receive(self) -> bool:
        progress = False
        if self.replies.can_pop():
            if self.window.receive(self.replies.coordinate() & TAG_MASK) > 0:
                self.ready = self.covers[(self.window.arrived - 1) % self.window.size]
            self.replies.pop()
            progress = True
        if self.node_places.can_pop():
            self.places[self.node_places.coordinate() & TAG_MASK] = self.node_places.reference()
            self.node_places.pop()
            progress = True
        return progress

    def _begin(self) -> bool:
        if not self.tasks.can_pop():
            return False
        self.slot = self.tasks.control()
        self.element, self.k = self.tasks.coordinate(), self.tasks.reference()
        self.tasks.pop()
        if self.element != END_OF_WORK:
            self.elements += 1
            self.begin = self.b.pointers[self.k]
            self.count = self.b.pointers[self.k + 1] - self.begin
            self.parts = 1 if self.a_dense else 0
            self.requested_values = 0
            self.requested_coordinates = self.count if self.b_dense else 0
            self.first_load = self.window.sent
            self.linked = False
            self.ready = self.produced = 0
        return True

    def _ask(self) -> bool:
        """Ask for the next block of the task, unless it is too far ahead of the products."""
        requested = min(self.requested_coordinates, self.requested_values)
        if self.parts == 2 and requested >= min(self.count, self.produced + self.max_ahead):
            return False
        if not self.window.has_room() or not self.requests.can_push():
            return False
        address = self._next_block()
        slot = self.window.send()
        self.covers[slot] = min(self.requested_coordinates, self.requested_values)
        self.requests.push(READ, self.tag_base | slot, address)
        return True

    def _next_block(self) -> int:  # C: noexcept
        """The block to ask for next: the element of A, then of B the array that is behind."""
        if self.parts < 2:
            self.parts += 1
            if self.parts == 1:
                return self._block(self.a_coordinates + self.element * INDEX_BYTES)
            return self._block(self.a_values + self.element * self.value_bytes)
        if self.requested_coordinates <= self.requested_values:
            first = self.begin + self.requested_coordinates
            self.requested_coordinates += self._in_block(first, INDEX_BYTES)
            self.requested_coordinates = min(self.requested_coordinates, self.count)
            return self._block(self.b_coordinates + first * INDEX_BYTES)
        first = self.begin + self.requested_values
        values = self.requested_values + self._in_block(first, self.value_bytes)
        self.requested_values = min(values, self.count)
        return self._block(self.b_values + first * self.value_bytes)

    def _in_block(self, first: int, width: int) -> int:  # C: noexcept, inline
        """Elements of an array from one on up to the end of its block."""
        return (self.block_bytes - first * width % self.block_bytes) // width

    def _block(self, address: int) -> int:  # C: noexcept, inline
        return address // self.block_bytes * self.block_bytes

    def _link(self) -> bool:
        """Ask for a node, once the row of Z is known."""
        if self.linked or self.count == 0 or self.open_nodes == self.depth:
            return False
        if self.window.arrived == self.first_load and not self.a_dense:
            return False
        if not self.node_requests.can_push():
            return False
        place = (self.first_node + self.open_nodes) % self.depth
        self.node_ids[place] = self.element
        self.places[place] = UNKNOWN
        self.product_counts[place] = 0
        self.open_nodes += 1
        self.node_requests.push(0, self.node_tag_base | place, self.element)
        self.linked = True
        self.nodes += 1
        self.blocks += (self.count * self.element_bytes + self.block_bytes - 1) // self.block_bytes
        return True

    def _multiply(self, now: int) -> bool:
        """Begin to make some products."""
        if self.batch > 0 or not self.linked:
            return False
        products = min(self.ready - self.produced, self.max_ahead - self.held, self.batch_limit)
        if products <= 0:
            return False
        factor = self.a.values[self.element]
        first = self.lists.first[self.element] + self.produced
        source = self.begin + self.produced
        for i in range(products):
            self.lists.columns[first + i] = self.b.coordinates[source + i]
            self.lists.values[first + i] = self.value_type.multiply(factor, self.b.values[source + i])
        self.batch = products
        self.held += products
        self.until = now + products * self.product_cycles
        return True

    def _end_batch(self) -> None:
        self.produced += self.batch
        self.multiply += self.batch
        self.product_counts[(self.first_node + self.open_nodes - 1) % self.depth] += self.batch
        self.batch = 0

    def _store(self) -> bool:
        """Store a block of the oldest node, if it is full or the node's last."""
        if self.open_nodes == 0:
            return False
        head = self.first_node
        address = self.places[head]
        if address == UNKNOWN:
            return False
        node = self.node_ids[head]
        data = address + self.header_bytes
        end = data + (self.lists.first[node + 1] - self.lists.first[node]) * self.element_bytes
        begin = max(self.stored, address)
        block_end = min(self._block(begin) + self.block_bytes, end)
        if (
            data + self.product_counts[head] * self.element_bytes < block_end
            or not self.store_requests.can_push()
        ):
            return False
        if begin // self.burst_bytes == (block_end - 1) // self.burst_bytes:
            self.store_requests.push(WRITE_BURST, 0, begin)
        else:
            self.store_requests.push(WRITE, 0, self._block(begin))
        self.stores += 1
        self.held -= self._elements(block_end - data) - self._elements(begin - data)
        self.stored = block_end
        if block_end == end:
            self.first_node = (head + 1) % self.depth
            self.open_nodes -= 1
            self.stored = 0
        return True

    def _elements(self, size: int) -> int:  # C: noexcept
        """Elements that end within the first bytes of a node's data, none of which are in the header."""
        return size // self.element_bytes if size > 0 else 0

    def _finish(self) -> bool:
        """End a task whose products are all made, or at the end of work, when all is stored."""
        if self.element == NO_TASK or not self._is_done() or not self.done.can_push():
            return False
        self.done.push(self.slot)
        self.element = NO_TASK
        return True

    def _is_done(self) -> bool:  # C: noexcept
        if self.element == END_OF_WORK:
            return self.open_nodes == 0
        return self.produced == self.count and self.parts == 2 and self.window.in_flight() == 0

    def _wait(self) -> int:
        if self.element >= 0:
            if self._is_done():
                return self.wait_output(self.done)
            if self.count > 0 and not self.linked and self.window.arrived > self.first_load:
                return self.wait_output(self.node_requests)
            if self.ready == self.produced or not self.linked:
                return self.wait_output(self.requests) if self._blocked() else self.wait_input(self.replies)
        elif self.open_nodes == 0:
            return self.idle()
        if self.places[self.first_node] == UNKNOWN:
            return self.wait_input(self.node_places)
        return self.wait_output(self.store_requests)

    def _blocked(self) -> bool:  # C: noexcept
        """Return whether nothing is in flight, since no load could be sent."""
        return self.window.in_flight() == 0
