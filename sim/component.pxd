from sim.channel cimport Channel
from sim.clock cimport Clock

cdef long NEVER
cdef int BUSY, IDLE, FIRST_STALL

cdef class Component:
    cdef readonly str name
    cdef public Clock _clock
    cdef public long _index
    cdef readonly int _state
    cdef readonly long _since
    cdef public long[::1] _cycles
    cdef readonly dict _connected

    cpdef long tick(self, long now) except? -2
    cpdef long busy(self, long until) noexcept
    cpdef long wait_input(self, Channel channel) except? -2
    cpdef long wait_output(self, Channel channel) except? -2
    cpdef long wait_any_input(self, list channels) except? -2
    cpdef long wait_any_output(self, list channels) except? -2
    cpdef long idle(self) noexcept
    cpdef int wake_at(self, long cycle) except -1
