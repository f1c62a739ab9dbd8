cimport cython

from fiberscope.accelerators.outerspace.lists cimport RowLists
from fiberscope.hw.fibers.packing cimport LinePacker
from fiberscope.hw.fibers.product cimport ProductRows
from fiberscope.hw.fibers.sorted_head cimport SortedHeads
from fiberscope.hw.memory.window cimport ReorderWindow
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long READ, READ_BURST, WRITE, WRITE_BURST, TAG_MASK, END_OF_WORK, NO_NODE, NOTHING, INDEX_BYTES, ELEMENT_BYTES
cdef long NO_ROW, HEAD, WALK, FIRST, MERGE

cdef class MergingElement(Component):
    cdef RowLists lists
    cdef ProductRows product
    cdef long[::1] lengths
    cdef long block_bytes
    cdef long burst_bytes
    cdef long operation
    cdef long store_operation
    cdef long max_lists
    cdef long comparison_cycles
    cdef long emit_cycles
    cdef long add_cycles
    cdef long header_bytes
    cdef long head_address
    cdef bint by_block
    cdef long z_address
    cdef long spill_address
    cdef readonly LinePacker packer
    cdef readonly ReorderWindow window
    cdef readonly SortedHeads sorted
    cdef long[::1] nodes
    cdef long[::1] positions
    cdef long[::1] marks
    cdef readonly long phase
    cdef readonly long row
    cdef long count
    cdef long node
    cdef long asked
    cdef long pushed
    cdef long awaited
    cdef long next_block
    cdef long unsent
    cdef bint cached
    cdef long walking
    cdef long walked
    cdef long store
    cdef long until
    cdef long column
    cdef double sum
    cdef long length
    cdef readonly long heads_read
    cdef readonly long elements
    cdef readonly long swaps
    cdef readonly long add
    cdef readonly long emitted
    cdef readonly long headers
    cdef readonly long rows_merged
    cdef readonly long spill_blocks
    cdef readonly long long_rows
    cdef public Channel rows
    cdef public Channel requests
    cdef public Channel replies
    cdef public Channel memory_requests
    cdef public Channel memory_replies

    cpdef long tick(self, long now) except? -2
    cdef int _receive(self) except -1
    @cython.final
    cdef long _act(self, long now) except? -2
    @cython.final
    cdef long _wait(self) except? -2
    @cython.final
    cdef long _send_store(self, long now) except? -2
    @cython.final
    @cython.locals(channel=Channel)
    cdef long _send_load(self, long now) except? -2
    @cython.final
    @cython.locals(within=bint)
    cdef int _load(self, long address, long size, bint cached) except -1
    @cython.final
    cdef long _compute(self, long now, long cycles) except? -2
    @cython.final
    cdef long _begin(self, long now) except? -2
    @cython.final
    cdef long _go_on(self, long now) except? -2
    @cython.final
    cdef long _turn_to_node(self, long now, long node) except? -2
    cdef long _begin_merge(self, long now) except? -2
    @cython.final
    cdef long _note_node(self, long now) except? -2
    @cython.final
    cdef long _first(self, long now) except? -2
    @cython.final
    cdef long _node_of(self, long index) noexcept
    @cython.final
    cdef int _load_element(self, long index) except -1
    cdef long _push(self, long index) except -1
    @cython.final
    cdef long _walk_spilled(self, long now) except? -2
    cdef long _merge(self, long now) except? -2
    cdef long _let_leave(self, long now, long begins) except? -2
    @cython.final
    cdef long _take(self, long index, long column, double value) except -1
    @cython.final
    cdef long _leave(self, long column, double value) except -1
    @cython.final
    cdef long _emit(self) except -1
    @cython.final
    cdef long _end_row(self, long now) except? -2
