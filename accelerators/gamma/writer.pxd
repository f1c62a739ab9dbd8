cimport cython

from fiberscope.hw.fibers.product cimport ProductRows
from fiberscope.hw.fibers.packing cimport LinePacker
from fiberscope.hw.fibers.partials cimport PartialStore
from fiberscope.accelerators.gamma.tasks cimport TaskTable
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long WRITE, WRITE_THROUGH, PORT_SHIFT, TAG_MASK, STOP
cdef long END_OF_WORK, NO_PARENT, PARTIAL_BASE, Z_BASE

cdef class FiberWriter(Component):
    cdef TaskTable table
    cdef PartialStore partials
    cdef ProductRows product
    cdef long tag_base
    cdef long element_bytes
    cdef long page_bytes
    cdef long most_finishing
    cdef long z_operation
    cdef readonly long task
    cdef readonly bint working
    cdef bint is_partial
    cdef readonly long length
    cdef long base
    cdef LinePacker partial_lines
    cdef LinePacker z_lines
    cdef LinePacker lines
    cdef long page
    cdef long page_base
    cdef long next_page
    cdef bint page_asked
    cdef long first_finishing
    cdef long finishing
    cdef long[::1] finishing_tasks
    cdef long[::1] finished
    cdef long[::1] unacknowledged
    cdef readonly long lines_written
    cdef readonly long partial_lines_written
    cdef readonly long elements_written
    cdef readonly long partial_elements_written
    cdef public Channel output_tasks
    cdef public Channel elements
    cdef public Channel requests
    cdef public Channel replies
    cdef public Channel completions
    cdef public Channel page_requests
    cdef public Channel pages

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _wait(self) except? -2
    @cython.final
    cdef bint _begin(self) except -1
    @cython.final
    cdef int _open(self) except -1
    @cython.final
    cdef bint _write(self) except -1
    @cython.final
    cdef bint _store(self) except -1
    @cython.final
    cdef bint _can_send(self) except -1
    @cython.final
    cdef int _ask_page(self) except -1
    @cython.final
    cdef bint _take_page(self) except -1
    @cython.final
    cdef int _send_line(self) except -1
    @cython.final
    cdef bint _close(self) except -1
    @cython.final
    cdef bint _flush_z(self) except -1
    @cython.final
    cdef bint _acknowledge(self) except -1
    @cython.final
    cdef bint _announce(self) except -1
