cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel

cdef long DATA, DONE, EMPTY, STOP, Q0, Q12

cdef class RepeatSignalGenerator(StreamBlock):
    cdef readonly long repeats
    cdef readonly long longest_fiber
    cdef public Channel in_crd
    cdef public OutputStream out_repsig

    @cython.locals(kind=long)
    cpdef long update(self, long now) except? -2

cdef class Repeater(StreamBlock):
    cdef readonly long kind
    cdef readonly long held
    cdef readonly bint holds
    cdef readonly bint owes_stop
    cdef readonly bint loses_signals
    cdef public Channel in_ref
    cdef public Channel in_repsig
    cdef public OutputStream out_ref

    @cython.locals(new=bint)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef bint _take(self) except -1
    @cython.final
    @cython.locals(signal=long)
    cdef long _repeat(self, bint new, long now) except? -2
    @cython.final
    cdef bint _fits(self, long signal) noexcept
    @cython.final
    cdef long _stop(self, bint new, long now) except? -2
    @cython.final
    @cython.locals(level=long)
    cdef long _end_fiber(self, long now) except? -2
    @cython.final
    @cython.locals(signal=long)
    cdef long _lose(self, long now) except? -2
    @cython.final
    cdef int _refuse(self, long signal) except -1
