cimport cython

from fiberscope.hw.lanes cimport channels as lanes
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP, EMPTY

cdef class ComparatorBank(Component):
    cdef readonly long width
    cdef readonly bint of_values
    cdef bint within
    cdef bint first
    cdef long before
    cdef bint flagging
    cdef bint keeping
    cdef readonly long compares
    cdef readonly long held
    cdef public list lanes
    cdef public list flags
    cdef public list kept

    @cython.locals(missing=long, waiting=bint, sinks=list, full=long, lane=long)
    cpdef long tick(self, long now) except? -2
    @cython.final
    @cython.locals(source=Channel, flag=Channel, kept=Channel, kind=long, holds=bint)
    cdef int _pass_on(self, long lane) except -1
    @cython.final
    cdef int _send(self, Channel sink, Channel source, long kind, long coordinate) except -1
    @cython.final
    @cython.locals(holds=bint)
    cdef bint _test(self, Channel source) noexcept
