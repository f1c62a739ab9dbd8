cimport cython

from fiberscope.hw.fibers.compressed cimport CompressedRows
from fiberscope.hw.fibers.partials cimport PartialStore
from fiberscope.hw.fibers.tasks cimport TaskInputs
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long READ, CONSUME, PORT_SHIFT, TAG_MASK, DATA, STOP, UNSCALED
cdef long END_OF_WORK

cdef class FiberReader(Component):
    cdef TaskInputs table
    cdef CompressedRows operand
    cdef PartialStore partials
    cdef long tag_base
    cdef long base
    cdef long partial_base
    cdef long buffer_lines
    cdef long line_bytes
    cdef long element_bytes
    cdef readonly long task
    cdef readonly long fan_in
    cdef readonly long unasked
    cdef long turn
    cdef long[::1] next_element
    cdef long[::1] last_element
    cdef long[::1] next_line
    cdef long[::1] line_end
    cdef long[::1] source
    cdef long[::1] reserved
    cdef long[::1] oldest
    cdef long[::1] entries
    cdef long[::1] entry_first
    cdef long[::1] entry_count
    cdef long[::1] entry_source
    cdef long[::1] entry_ends
    cdef long[::1] entry_here
    cdef readonly long in_flight
    cdef readonly long lines_read
    cdef readonly long lines_consumed
    cdef public Channel tasks
    cdef public Channel requests
    cdef public Channel replies
    cdef public list ways
    cdef public Channel merge_tasks
    cdef public Channel output_tasks

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _begin(self) except -1
    @cython.final
    cdef int _set_up(self, long task) except -1
    @cython.final
    cdef bint _ask(self) except -1
    @cython.final
    cdef inline void _turn_to_line(self, long way, long line) noexcept
    @cython.final
    @cython.locals(channel=Channel)
    cdef inline bint _has_room(self, long way) except -1
    @cython.final
    cdef int _ask_line(self, long way) except -1
    @cython.final
    cdef inline int _request(self, long entry, long offset) except -1
    @cython.final
    cdef bint _receive(self) except -1
    @cython.final
    @cython.locals(channel=Channel)
    cdef int _deliver(self, long way, long entry) except -1
