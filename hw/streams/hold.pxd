cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.hw.streams.queue cimport Queue
from fiberscope.sim.channel cimport Channel

cdef long Q0, Q12, DATA, DONE, EMPTY, STOP

cdef class CoordinateHold(StreamBlock):
    cdef Queue waiting
    cdef readonly long kind
    cdef readonly long held
    cdef readonly bint holds
    cdef readonly bint owes_stop
    cdef readonly bint loses_signals
    cdef public Channel in_outer
    cdef public Channel in_inner
    cdef public OutputStream out_outer
    cdef public OutputStream out_inner

    @cython.locals(fired=bint)
    cpdef long update(self, long now) except? -2
    @cython.final
    @cython.locals(inner=Channel, kind=long)
    cdef int _pass_on(self) except -1
    @cython.final
    @cython.locals(fresh=bint, signal=long)
    cdef bint _repeat(self, long now) except -1
    @cython.final
    @cython.locals(repeats=bint)
    cdef int _obey(self, long signal, bint fresh, long now) except -1
    @cython.final
    cdef int _stop(self, bint repeats, bint fresh) except -1
    @cython.final
    @cython.locals(outer=Channel, level=long)
    cdef bint _end_fiber(self) except -1
    @cython.final
    cdef int _lose(self, long signal, long now) except -1
    @cython.final
    cdef int _refuse(self, long signal, long now) except -1
