cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.droppers cimport StopMerger
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel

cdef long Q19, DATA, DONE, STOP

cdef class WordDropper(StreamBlock):
    cdef object outer
    cdef object inner
    cdef object inner_out
    cdef object outer_out
    cdef readonly object word
    cdef readonly object fibers
    cdef readonly bint seen
    cdef readonly bint bare
    cdef long level
    cdef bint after_stop
    cdef readonly long cleared
    cdef long ended
    cdef StopMerger merger_outer
    cdef StopMerger merger_inner
    cdef public Channel in_outer
    cdef public Channel in_inner
    cdef public OutputStream out_outer
    cdef public OutputStream out_inner

    @cython.locals(fired=bint)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef bint _take(self, Channel source, object queue, object other) except -1
    @cython.final
    @cython.locals(kind=long, payload=long)
    cdef bint _leave(self, StopMerger merger, object queue) except -1
    @cython.final
    @cython.locals(fired=bint, kind=long, payload=long)
    cdef bint _clear(self, long now) except -1
    @cython.final
    cdef int _begin(self, long kind, long payload) except -1
    @cython.final
    cdef int _take_inner(self, long kind, long now) except -1
    @cython.final
    cdef int _end_fiber(self) except -1
