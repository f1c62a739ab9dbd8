cimport cython

from fiberscope.hw.networks.crossbar cimport Crossbar
from fiberscope.sim.channel cimport Channel
from fiberscope.sim cimport words

cdef long ONE

cdef class IslipCrossbar(Crossbar):
    cdef readonly long depth
    cdef readonly long held
    cdef long[::1] first
    cdef long[::1] counts
    cdef long[::1] controls
    cdef long[::1] coordinates
    cdef long[::1] references
    cdef double[::1] values
    cdef long[::1] waiting
    cdef long[::1] granted
    cdef long[::1] input_turns

    @cython.locals(count=long, taken=bint, moved=long)
    cpdef long tick(self, long now) except? -2
    @cython.final
    @cython.locals(count=long, output=long, waiting=long, sink=Channel)
    cdef long _grant_all(self) except -1
    @cython.final
    @cython.locals(taken=bint, index=long, source=Channel)
    cdef bint _take_in(self) except -1
    @cython.final
    @cython.locals(pair=long, slot=long)
    cdef int _store(self, long index, long output, Channel source) except -1
    @cython.final
    @cython.locals(moved=long, index=long, output=long)
    cdef long _accept_all(self) except -1
    @cython.final
    @cython.locals(pair=long, slot=long, sink=Channel)
    cdef int _send(self, long index, long output) except -1

@cython.locals(behind=long)
cdef inline long _next_in_turn(long flags, long turn) noexcept
