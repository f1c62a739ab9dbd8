# cython: infer_types=True
"""A processing element of the merge phase, which merges the lists of a row of T into a row of Z."""

from __future__ import annotations

from array import array
from typing import ClassVar

from fiberscope.accelerators.outerspace.configuration import MergerSpecification
from fiberscope.accelerators.outerspace.layout import END_OF_WORK, INDEX_BYTES, NO_NODE, ROW
from fiberscope.accelerators.outerspace.lists import RowLists
from fiberscope.hw.fibers.packing import LinePacker
from fiberscope.hw.fibers.product import ProductRows
from fiberscope.hw.fibers.sorted_head import SortedHeads
from fiberscope.hw.memory.protocol import READ, READ_BURST, REPLY, REQUEST, TAG_MASK, WRITE, WRITE_BURST
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.hw.value_type import TYPES, ValueType
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port, Signal

NOTHING = -1
PHASES = ("no_row", "head", "walk", "first", "merge")
NO_ROW, HEAD, WALK, FIRST, MERGE = range(len(PHASES))


class MergingElement(Component):
    """A processing element that merges the lists of one row after another by insertion sort.

    A row of T is a linked list of nodes. A node is a header with the address of the next node, and a list of
    elements (column and product), sorted by column. The *heads* are the first unmerged elements of all lists.

    Interface: ``rows`` brings a row; the token is popped when the row is merged. ``requests`` and ``replies``
    load the address of the first node, and spilled heads, through the private cache. The element then follows
    the list of nodes.
    It loads the first elements of all nodes, and inserts them into the scratchpad, sorted by column. After
    that, it repeatedly removes the smallest head, adds it to the current sum if the columns are equal, and
    loads and inserts the next element of the same node. Headers and elements come from ``memory_requests``
    and ``memory_replies``, or through the private cache with ``by_block``. ``memory_requests`` also writes
    spilled heads, blocks of Z when they are full, and the last block of Z at the end of work.

    The nodes are sorted by k, so that sums do not depend on the order in which tiles linked the nodes. Heads
    that do not fit in the scratchpad are spilled to memory: there, the insertion continues block by block.

    Timing: one load or store per cycle. The loads of the first elements of the nodes overlap. Each header is
    awaited, as it has the next address; so is each next element, as it may be the next to leave.
    An insertion takes ``comparison_cycles`` for the head and for each smaller head in the scratchpad, or for
    the node and for each node that it shifts. A removal takes ``add_cycles`` if the head is added to the
    current sum, otherwise ``emit_cycles`` to append the sum to Z.

    Args:
        specification: sizes and times of the element.
        lists: the tensor T.
        product: the product Z, whose rows the element writes.
        lengths: number of elements of each row of Z, which the element sets.
        z_address: address of the element's own region of Z.
        spill_address: address of the region for spilled heads.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (
        Input("rows", ROW),
        Output("requests", REQUEST),
        Input("replies", REPLY),
        Output("memory_requests", REQUEST),
        Input("memory_replies", REPLY),
    )
    # Loads of first addresses, headers and elements of T; swaps of the insertions, additions, elements of Z;
    # rows with lists, rows with more lists than fit in the scratchpad, and loaded blocks of spilled heads.
    COUNTERS = (
        "heads_read",
        "headers",
        "elements",
        "swaps",
        "add",
        "emitted",
        "rows_merged",
        "long_rows",
        "spill_blocks",
    )
    SIGNALS = (
        Signal("phase", 3, "state", PHASES),
        Signal("row", 32, "integer"),
        Signal("heads", 16),
        Signal("in_flight", 8),
        Signal("elements", 48),
        Signal("swaps", 48),
    )

    rows: Channel
    requests: Channel
    replies: Channel
    memory_requests: Channel
    memory_replies: Channel

    def __init__(
        self,
        name: str,
        specification: MergerSpecification,
        lists: RowLists,
        product: ProductRows,
        lengths: memoryview[int],
        z_address: int,
        spill_address: int,
    ) -> None:
        super().__init__(name)
        self.lists = lists
        self.product = product
        self.lengths = lengths  # C: long[::1]
        self.block_bytes, self.burst_bytes = specification.block_bytes, specification.burst_bytes
        self.max_lists = specification.max_lists
        self.comparison_cycles = specification.comparison_cycles
        self.emit_cycles, self.add_cycles = specification.emit_cycles, specification.add_cycles
        self.header_bytes, self.head_address = specification.header_bytes, specification.heads
        self.by_block, self.element_bytes = specification.by_block, specification.element_bytes
        self.value_type: ValueType = TYPES[specification.values]  # C: readonly ValueType
        self.z_address, self.spill_address = z_address, spill_address
        self.packer = LinePacker(specification.block_bytes, specification.element_bytes)
        self.window = ReorderWindow(specification.outstanding)
        capacity = max(1, lists.max_row_lists)
        self.sorted = SortedHeads(capacity)
        self.nodes = array("q", bytes(8 * capacity))  # node of each list of the row
        # By list: last loaded element, or the end of the list; number of loads up to its first element
        self.positions = array("q", bytes(8 * capacity))
        self.first_loads = array("q", bytes(8 * capacity))
        self.phase = NO_ROW
        self.row = NOTHING
        self.count = 0  # number of lists of the row
        self.node = NO_NODE  # node whose header is awaited
        self.requested_heads = self.inserted_heads = 0  # numbers of first elements
        self.awaited_list = NOTHING  # the list whose successor is awaited
        self.next_address = self.end_address = 0  # of the bytes still to be loaded
        self.unsent_loads = 0  # number of blocks with these bytes
        self.is_cached = False  # whether the loads go through the private cache
        self.remaining_blocks = self.loaded_blocks = 0  # of the spilled heads that an insertion passes
        self.store_address = NOTHING  # address of the block to store
        self.store_operation = WRITE
        self.busy_until = 0  # cycle from which the core is free
        self.column = NOTHING  # column of the current sum
        self.sum = 0.0
        self.length = 0  # length of the row of Z
        self.heads_read = self.headers = self.elements = 0
        self.swaps = self.add = self.emitted = 0
        self.rows_merged = self.spill_blocks = self.long_rows = 0

    def tick(self, now: int) -> int:
        """Take replies; when the core is free, store, load or compute."""
        self._receive()
        return self._act(now)

    def _act(self, now: int) -> int:
        if now < self.busy_until:
            return self.busy(self.busy_until)
        if self.store_address != NOTHING:
            return self._send_store(now)
        if self.unsent_loads > 0:
            return self._send_load(now)
        if self.phase == NO_ROW:
            return self._start_row(now)
        if self.phase == FIRST and self.remaining_blocks == 0:
            return self._insert_first_elements(now)
        if self.window.arrived < self.window.sent:
            return self._wait()
        return self._continue(now)

    def _receive(self) -> None:
        """Take all replies; a port has several only if the kernel skipped ticks of this component."""
        while self.replies.can_pop():
            self.window.receive(self.replies.coordinate() & TAG_MASK)
            self.replies.pop()
        while self.memory_replies.can_pop():
            self.window.receive(self.memory_replies.coordinate() & TAG_MASK)
            self.memory_replies.pop()

    def _wait(self) -> int:
        return self.wait_input(self.replies if self.is_cached else self.memory_replies)

    def _send_store(self, now: int) -> int:
        if not self.memory_requests.can_push():
            return self.wait_output(self.memory_requests)
        self.memory_requests.push(self.store_operation, 0, self.store_address)
        self.store_address = NOTHING
        self.store_operation = WRITE
        return self.busy(now + 1)

    def _send_load(self, now: int) -> int:
        """Load the bytes in the next block: bytes within a burst, uncached, as a burst, else the block."""
        channel = self.requests if self.is_cached else self.memory_requests
        if not self.window.has_free_slot():
            return self._wait()
        if not channel.can_push():
            return self.wait_output(channel)
        start, block = self.next_address, self.next_address // self.block_bytes * self.block_bytes
        self.next_address = block + self.block_bytes
        last = min(self.next_address, self.end_address) - 1
        if not self.is_cached and start // self.burst_bytes == last // self.burst_bytes:
            channel.push(READ_BURST, self.window.send(), start)
        else:
            channel.push(READ, self.window.send(), block)
        self.unsent_loads -= 1
        if self.unsent_loads > 0 or self.phase == FIRST or self.busy_until > now + 1:
            return self.busy(now + 1)
        return self._wait()  # waits from this cycle

    def _load(self, address: int, size: int, is_cached: bool) -> None:
        """Prepare one load for each block with these bytes."""
        self.next_address, self.end_address = address, address + size
        self.unsent_loads = (self.end_address - 1) // self.block_bytes - address // self.block_bytes + 1
        self.is_cached = is_cached

    def _compute(self, now: int, cycles: int) -> int:
        """Be busy for a number of cycles."""
        self.busy_until = now + cycles
        return self.busy(self.busy_until)

    def _start_row(self, now: int) -> int:
        """Begin the next row, or write the last block of Z at the end of work."""
        if not self.rows.can_pop():
            return self.idle()
        self.row = self.rows.reference()
        if self.row == END_OF_WORK:
            if self.packer.has_partial_line():
                self.store_address = self.z_address + self.packer.line_offset()
                self.packer.reset()
                return self._send_store(now)
            self.rows.pop()
            return self.busy(now + 1)
        self.count = self.length = 0
        self.column = NOTHING
        self.phase = HEAD
        self.heads_read += 1
        self._load(self.head_address + self.row * INDEX_BYTES, INDEX_BYTES, True)
        return self._send_load(now)

    def _continue(self, now: int) -> int:
        """Continue after the arrival of the awaited data."""
        if self.remaining_blocks > 0:
            return self._load_spilled(now)
        if self.phase == HEAD:
            return self._start_node(now, self.lists.heads[self.row])
        if self.phase == WALK:
            return self._insert_node(now)
        return self._merge(now)

    def _start_node(self, now: int, node: int) -> int:
        """Load the header of a node; after the last node, begin to merge, or end a row without nodes."""
        self.node = node
        if node != NO_NODE:
            self.phase = WALK
            self._load(self.lists.addresses[node], self.header_bytes, self.by_block)
            inline.prefetch(self.lists.following[node])
            inline.prefetch(self.lists.first[node])
            return self._send_load(now)
        if self.count == 0:
            return self._end_row(now)
        return self._start_merge(now)

    def _start_merge(self, now: int) -> int:
        """Begin to load the first elements of all lists."""
        self.requested_heads = self.inserted_heads = 0
        self.rows_merged += 1
        self.long_rows += self.count > self.max_lists
        self.phase = FIRST
        return self._insert_first_elements(now)

    def _insert_node(self, now: int) -> int:
        """Insert the node whose header has arrived; nodes are in descending order of k."""
        index = self.count
        while index > 0 and self.nodes[index - 1] < self.node:
            self.nodes[index] = self.nodes[index - 1]
            index -= 1
        self.nodes[index] = self.node
        steps = self.count - index + 1
        self.count += 1
        self.headers += 1
        self.busy_until = now + steps * self.comparison_cycles
        return self._start_node(now, self.lists.following[self.node])

    def _insert_first_elements(self, now: int) -> int:
        """Load the first element of the next list, or insert the next first element that has arrived."""
        if self.requested_heads < self.count and self.window.in_flight() + 2 <= self.window.size:
            self.positions[self.requested_heads] = self.lists.first[self._node_of(self.requested_heads)]
            self._load_element(self.requested_heads)
            self.first_loads[self.requested_heads] = self.window.sent + self.unsent_loads
            self.requested_heads += 1
            return self._send_load(now)
        if self.inserted_heads == self.count and self.window.in_flight() == 0:  # all are inserted
            self.phase = MERGE
            return self._merge(now)
        index = self.inserted_heads
        if index == self.requested_heads or self.window.arrived < self.first_loads[index]:
            return self._wait()
        self.inserted_heads += 1
        return self._compute(now, self._insert_head(index))

    def _node_of(self, index: int) -> int:  # C: noexcept
        """Return the node of a list; lists are numbered in ascending order of k."""
        return self.nodes[self.count - 1 - index]

    def _load_element(self, index: int) -> None:
        """Load the element of a list at its position."""
        node = self._node_of(index)
        offset = self.header_bytes + (self.positions[index] - self.lists.first[node]) * self.element_bytes
        self._load(self.lists.addresses[node] + offset, self.element_bytes, self.by_block)
        self.elements += 1
        inline.prefetch(self.lists.columns[self.positions[index]])
        inline.prefetch(self.lists.values[self.positions[index]])

    def _insert_head(self, index: int) -> int:
        """Insert the head of a list, and schedule accesses to the spilled heads; return the cycles."""
        position = self.sorted.push(self.lists.columns[self.positions[index]], index)
        if position >= self.max_lists:
            self.remaining_blocks = (position - self.max_lists) * self.element_bytes // self.block_bytes + 1
            self.loaded_blocks = 0
            self.store_address = self.spill_address + (self.remaining_blocks - 1) * self.block_bytes
            self.store_operation = WRITE_BURST
        if self.count == 1:
            return 1
        self.swaps += 1 + position
        return max(1, (1 + min(position, self.max_lists)) * self.comparison_cycles)

    def _load_spilled(self, now: int) -> int:
        """Load the next block of spilled heads."""
        self._load(self.spill_address + self.loaded_blocks * self.block_bytes, 1, True)
        self.loaded_blocks += 1
        self.remaining_blocks -= 1
        self.spill_blocks += 1
        return self._send_load(now)

    def _merge(self, now: int) -> int:
        """Insert the awaited element; then remove the smallest head, or end a row without heads."""
        cycles = 0
        if self.awaited_list != NOTHING:
            cycles = self._insert_head(self.awaited_list)
            self.awaited_list = NOTHING
            if self.remaining_blocks > 0:
                return self._compute(now, cycles)
        if self.sorted.count == 0:
            return self._end_row(now)
        return self._start_removal(now, now + cycles)

    def _start_removal(self, now: int, start: int) -> int:
        """Remove the smallest head; ``start`` is the cycle in which the removal begins."""
        index = self.sorted.source()
        cycles = self._remove_head(index, self.sorted.column(), self.lists.values[self.positions[index]])
        return self._compute(now, start + cycles - now)

    def _remove_head(self, index: int, column: int, value: float) -> int:
        """Remove the smallest head, add it up, and load its successor; return the cycles."""
        cycles = max(1, self._accumulate(column, value))
        self.sorted.pop()
        self.positions[index] += 1
        if self.positions[index] < self.lists.first[self._node_of(index) + 1]:
            self._load_element(index)
            self.awaited_list = index
        elif self.sorted.count >= self.max_lists:
            self.remaining_blocks, self.loaded_blocks = 1, 0  # a head comes back from memory
        return cycles

    def _accumulate(self, column: int, value: float) -> int:
        """Add an element to the current sum, or begin a new sum; return the cycles."""
        if column == self.column:
            self.sum = self.value_type.add(self.sum, value)
            self.add += 1
            return self.add_cycles
        cycles = self._append_sum() if self.column != NOTHING else 0
        self.column = column
        self.sum = value
        return cycles

    def _append_sum(self) -> int:
        """Append the current sum to the row of Z; return the cycles."""
        index = self.product.starts[self.row] + self.length
        self.product.coordinates[index] = self.column
        self.product.values[index] = self.sum
        self.length += 1
        self.emitted += 1
        if self.packer.completes_line():
            self.store_address = self.z_address + self.packer.line_offset()
        self.packer.add()
        self.column = NOTHING
        return self.emit_cycles

    def _end_row(self, now: int) -> int:
        """Append the last sum; in a later cycle, end the row."""
        if self.column != NOTHING:
            return self._compute(now, max(1, self._append_sum()))
        self.lengths[self.row] = self.length
        self.rows.pop()
        self.phase = NO_ROW
        return self.busy(now + 1)

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of the signals."""
        values[0] = self.phase
        values[1] = self.row
        values[2] = self.sorted.count  # heads, in the scratchpad and spilled
        values[3] = self.window.in_flight()
        values[4] = self.elements
        values[5] = self.swaps
