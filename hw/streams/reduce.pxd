cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel

cdef long Q13, Q14, Q15, DATA, DONE, EMPTY, INTEGER, STOP, SUM, MAXIMUM, MINIMUM, NO_STOP

cdef class ScalarReduce(StreamBlock):
    cdef long code
    cdef readonly bint drops
    cdef readonly double result
    cdef readonly long count
    cdef bint integers
    cdef readonly long owed
    cdef long rests_in
    cdef readonly long reductions
    cdef readonly long zeros
    cdef readonly long nonzeros
    cdef public Channel in_val
    cdef public OutputStream out_val

    @cython.locals(source=Channel, kind=long, level=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    @cython.locals(result=double)
    cdef int _combine(self, double value, bint integer) except -1
    @cython.final
    @cython.locals(result=double)
    cdef long _close(self, long level, long now) except? -2
    @cython.final
    cdef long _send_stop(self, long level, long now) except? -2
    @cython.final
    cdef long _end(self, long now) except? -2

cdef class FiberReduce(ScalarReduce):
    cdef public Channel in_crd
    cdef readonly bint open

    cpdef long update(self, long now) except? -2
    @cython.final
    cdef bint _ends_list(self) except -1
    @cython.final
    @cython.locals(kind=long, level=long)
    cdef long _pass(self, long now) except? -2
    @cython.final
    @cython.locals(kind=long, level=long)
    cdef long _take(self, long now) except? -2
    @cython.final
    cdef int _check(self, long kind, long level, long now) except -1
