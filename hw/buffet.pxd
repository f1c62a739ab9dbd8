cimport cython

from sim.channel cimport Channel
from sim.component cimport Component

cdef long READ_TO_UPDATE, SHRINK, NOTHING, A_FILL, AN_UPDATE, SPACE

cdef class Buffet(Component):
    cdef readonly long capacity
    cdef long[::1] control
    cdef long[::1] coordinate
    cdef long[::1] reference
    cdef double[::1] value
    cdef long[::1] awaited
    cdef readonly long head
    cdef readonly long filled
    cdef readonly long awaiting
    cdef readonly long owed
    cdef readonly long fill_count
    cdef readonly long read_count
    cdef readonly long update_count
    cdef readonly long freed
    cdef public Channel fills
    cdef public Channel reads
    cdef public Channel updates
    cdef public Channel values
    cdef public Channel credits

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _read(self) except -1
    @cython.final
    cdef long _obstacle(self) except -1
    @cython.final
    cdef int _check_announcement(self, long freed) except -1
    @cython.final
    cdef int _free(self, long count) except -1
    @cython.final
    cdef bint _update(self) except -1
    @cython.final
    cdef bint _fill(self) except -1
    @cython.final
    cdef bint _send_credits(self) except -1
    @cython.final
    cdef long _wait(self) except? -2
    @cython.final
    cdef long _place(self, long index) noexcept
