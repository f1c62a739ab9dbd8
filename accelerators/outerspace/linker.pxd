cimport cython

from fiberscope.accelerators.outerspace.lists cimport RowLists
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long READ_BURST, WRITE_BURST, PORT_SHIFT, TAG_MASK, NONE, INDEX_BYTES, ELEMENT_BYTES
cdef int IN_AREA, TO_SPILL, SPILLING

cdef class Linker(Component):
    cdef RowLists lists
    cdef readonly object space
    cdef long base
    cdef long area_bytes
    cdef long heads
    cdef long header_bytes
    cdef long align
    cdef long block_bytes
    cdef readonly long spill
    cdef long[::1] used
    cdef long tag_base
    cdef long slots
    cdef long[::1] tags
    cdef long[::1] nodes
    cdef signed char[::1] ways
    cdef long[::1] free
    cdef readonly long under_way
    cdef long reading
    cdef long[::1] to_write
    cdef long first_write
    cdef long writes
    cdef readonly long linked
    cdef readonly long spilled
    cdef readonly long spilled_bytes
    cdef public Channel requests
    cdef public Channel replies
    cdef public Channel memory_requests
    cdef public Channel memory_replies

    @cython.locals(progress=bint)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _address(self, long slot) noexcept
    @cython.final
    cdef bint _take(self) except -1
    @cython.final
    cdef int _place(self, long slot, long node, long row) except -1
    cdef int _give(self, long node, long size) except -1
    cdef int _link(self, long node, long row) except -1
    @cython.final
    cdef bint _receive(self) except -1
    cdef bint _send_write(self) except -1
    @cython.final
    cdef bint _send_read(self) except -1
    @cython.final
    cdef long _wait(self) except? -2
