cimport cython

from fiberscope.hw.lanes cimport channels as lanes
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP, EMPTY

cdef class Packer(Component):
    cdef readonly long inputs
    cdef readonly long outputs
    cdef long places
    cdef long[::1] coordinates
    cdef long[::1] references
    cdef double[::1] values
    cdef long oldest
    cdef readonly long held
    cdef bint within
    cdef bint ending
    cdef readonly long rows
    cdef readonly long words
    cdef readonly long packed_rows
    cdef public list lanes
    cdef public list packed

    @cython.locals(missing=long, takes=bint, waiting=bint, full=long)
    cpdef long tick(self, long now) except? -2
    @cython.final
    @cython.locals(count=long, lane=long, source=Channel)
    cdef bint _fills(self) noexcept
    @cython.final
    @cython.locals(lane=long, source=Channel)
    cdef int _take(self) except -1
    @cython.final
    @cython.locals(place=long)
    cdef int _hold(self, Channel source) except -1
    @cython.final
    @cython.locals(count=long, lane=long, place=long, sink=Channel)
    cdef int _send(self) except -1
