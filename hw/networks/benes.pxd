cimport cython

from fiberscope.hw.lanes.rows cimport RowPipeline
from fiberscope.sim.channel cimport Channel

cdef class BenesNetwork(RowPipeline):
    cdef readonly str form
    cdef long[::1] bits
    cdef long[::1] sources
    cdef readonly long left
    cdef readonly long tasks_taken
    cdef public Channel tasks
    cdef public list settings

    cdef bint _can_take(self) noexcept
    @cython.locals(source=Channel)
    cdef int _take(self, long place) except -1
    cdef bint _prepare(self) except -1
    @cython.final
    @cython.locals(source=Channel)
    cdef int _load(self, long row) except -1
    @cython.final
    @cython.locals(source=Channel)
    cdef long _missing_setting(self) noexcept
    @cython.locals(missing=long, source=Channel)
    cdef long _wait(self, long shown) except? -2
