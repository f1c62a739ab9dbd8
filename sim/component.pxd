from sim.channel cimport Channel
from sim.clock cimport Clock

cdef long NEVER
cdef int BUSY, IDLE, FIRST_STALL

cdef class Component:
    cdef readonly str name
    cdef public Clock clock
    cdef public long index
    cdef public int state
    cdef public long since
    cdef public long[::1] cycles
    cdef public dict connected

    cpdef long tick(self, long now) except? -2
    cpdef long busy(self, long until) noexcept
    cpdef long wait_input(self, Channel channel) except? -2
    cpdef long wait_output(self, Channel channel) except? -2
    cpdef long idle(self) noexcept
