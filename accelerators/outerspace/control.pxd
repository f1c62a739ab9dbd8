cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long WRITE, PORT_SHIFT, END_OF_WORK
cdef long CLEAR, MULTIPLY, DRAIN, RECONFIGURE, MERGE, FINISH, DONE

cdef class CentralControl(Component):
    cdef long[::1] before
    cdef long[::1] row_order
    cdef long group_count
    cdef readonly long row_count
    cdef object arrays
    cdef long tag
    cdef long block_bytes
    cdef long overlap
    cdef long reconfiguration
    cdef readonly long phase
    cdef long address
    cdef long end
    cdef long groups_given
    cdef readonly long groups_done
    cdef readonly long rows_given
    cdef readonly long blocks_written
    cdef readonly long multiplied_at
    cdef readonly long reconfigured_at
    cdef readonly long merged_at
    cdef long tiles
    cdef long elements
    cdef long[::1] open
    cdef public list groups
    cdef public list finished
    cdef public list rows
    cdef public Channel requests

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef int _begin_array(self, long which) except -1
    @cython.final
    cdef long _write(self, long now) except? -2
    @cython.final
    @cython.locals(done=bint, given=bint)
    cdef long _multiply(self, long now) except? -2
    @cython.final
    @cython.locals(finished=Channel)
    cdef bint _take_finished(self) except -1
    @cython.final
    cdef bint _give_groups(self) except -1
    @cython.final
    @cython.locals(groups=Channel)
    cdef int _give(self, long tile, long group) except -1
    @cython.final
    @cython.locals(rows=Channel)
    cdef long _merge(self, long now) except? -2
    @cython.final
    @cython.locals(rows=Channel)
    cdef long _end_merge(self, long now) except? -2
