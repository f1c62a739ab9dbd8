cimport cython

from fiberscope.hw.fibers.compressed cimport CompressedRows
from fiberscope.hw.memory.window cimport ReorderWindow
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long READ, PORT_SHIFT, TAG_MASK, END_OF_WORK, INDEX_BYTES, VALUE_BYTES, POINTER_PARTS

cdef class LocalControl(Component):
    cdef long[::1] columns
    cdef long[::1] begins
    cdef long[::1] ends
    cdef long[::1] firsts
    cdef CompressedRows a
    cdef CompressedRows b
    cdef long a_pointers
    cdef long b_pointers
    cdef long tag_base
    cdef long block_bytes
    cdef readonly ReorderWindow window
    cdef long[::1] targets
    cdef long overlap
    cdef long[::1] ring
    cdef long[::1] open
    cdef long taken
    cdef long located
    cdef long dealt_groups
    cdef long retired
    cdef long asked
    cdef long dealt_segments
    cdef long segment
    cdef long part
    cdef long deal_segment
    cdef long element
    cdef bint open_segment
    cdef long turn
    cdef readonly long group
    cdef readonly long dealt
    cdef readonly long pairs
    cdef readonly long a_pointer_bytes
    cdef readonly long b_bytes
    cdef long elements
    cdef public Channel groups
    cdef public Channel finished
    cdef public Channel requests
    cdef public Channel replies
    cdef public list tasks
    cdef public list done

    @cython.locals(progress=bint)
    cpdef long tick(self, long now) except? -2
    @cython.final
    @cython.locals(done=Channel, progress=bint)
    cdef bint _take_done(self) except -1
    @cython.final
    @cython.locals(progress=bint)
    cdef bint _take(self) except -1
    @cython.final
    cdef int _turn_to_group(self, long place) except -1
    @cython.final
    cdef int _begin_dealing(self) except -1
    @cython.final
    cdef bint _ask(self) except -1
    @cython.final
    cdef int _next_group(self) except -1
    @cython.final
    cdef long _pointer_block(self, long part) noexcept
    @cython.final
    cdef long _next_part(self) noexcept
    @cython.final
    cdef bint _deal(self) except -1
    @cython.final
    @cython.locals(tasks=Channel)
    cdef bint _deal_end(self) except -1
    @cython.final
    @cython.locals(first=bint)
    cdef bint _open_segment(self) except -1
    @cython.final
    @cython.locals(tasks=Channel)
    cdef long _processing_element(self) except? -2
    @cython.final
    @cython.locals(tasks=Channel)
    cdef int _send(self, long target, long element, long k) except -1
    @cython.final
    cdef int _close_segment(self) except -1
    @cython.final
    cdef int _close_group(self) except -1
    @cython.final
    cdef bint _finish(self) except -1
    @cython.final
    cdef long _wait(self) except? -2
