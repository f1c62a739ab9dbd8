from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long READ, FAR

cdef class TraceSource(Component):
    cdef long[::1] _earliest, _operation, _address
    cdef long _total, _issue_per_cycle, _position
    cdef public Channel requests

    cpdef long tick(self, long now) except? -2
    cdef long _earliest_of_next(self) noexcept

cdef class ReplySink(Component):
    cdef readonly long count
    cdef readonly long[::1] tags
    cdef readonly long[::1] cycles_sent
    cdef long _expected
    cdef public Channel replies

    cpdef long tick(self, long now) except? -2
