cimport cython

from fiberscope.accelerators.outerspace.lists cimport RowLists
from fiberscope.hw.fibers.compressed cimport CompressedRows
from fiberscope.hw.memory.window cimport ReorderWindow
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long READ, WRITE, WRITE_BURST, PORT_SHIFT, TAG_MASK, END_OF_WORK, NO_TASK, UNKNOWN
cdef long INDEX_BYTES, VALUE_BYTES, ELEMENT_BYTES

cdef long _elements(long size) noexcept

cdef class MultiplyingElement(Component):
    cdef CompressedRows a
    cdef CompressedRows b
    cdef RowLists lists
    cdef long a_coordinates
    cdef long a_values
    cdef long b_coordinates
    cdef long b_values
    cdef long tag_base
    cdef long node_tag_base
    cdef long block_bytes
    cdef long burst_bytes
    cdef long product_cycles
    cdef long header_bytes
    cdef long ahead
    cdef long batch_limit
    cdef readonly ReorderWindow window
    cdef long[::1] covers
    cdef readonly long element
    cdef readonly long k
    cdef long slot
    cdef long begin
    cdef long count
    cdef long parts
    cdef long first_load
    cdef long asked_coordinates
    cdef long asked_values
    cdef bint linked
    cdef long ready
    cdef long produced
    cdef long batch
    cdef long until
    cdef long depth
    cdef long[::1] node_ids
    cdef long[::1] places
    cdef long[::1] made
    cdef long first_node
    cdef readonly long open_nodes
    cdef long stored
    cdef readonly long held
    cdef readonly long elements
    cdef readonly long multiply
    cdef readonly long nodes
    cdef readonly long blocks
    cdef readonly long stores
    cdef public Channel tasks
    cdef public Channel done
    cdef public Channel requests
    cdef public Channel replies
    cdef public Channel node_requests
    cdef public Channel node_places
    cdef public Channel store_requests

    @cython.locals(progress=bint)
    cpdef long tick(self, long now) except? -2
    @cython.final
    @cython.locals(progress=bint)
    cdef bint _receive(self) except -1
    @cython.final
    cdef bint _begin(self) except -1
    @cython.final
    cdef bint _ask(self) except -1
    @cython.final
    cdef long _next_block(self) noexcept
    @cython.final
    cdef inline long _in_block(self, long first, long width) noexcept
    @cython.final
    cdef inline long _block(self, long address) noexcept
    @cython.final
    cdef bint _link(self) except -1
    @cython.final
    cdef bint _multiply(self, long now) except -1
    @cython.final
    cdef int _end_batch(self) except -1
    @cython.final
    cdef bint _store(self) except -1
    @cython.final
    cdef bint _finish(self) except -1
    @cython.final
    cdef bint _is_done(self) noexcept
    @cython.final
    cdef long _wait(self) except? -2
    @cython.final
    cdef bint _blocked(self) noexcept
