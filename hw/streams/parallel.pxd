cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim cimport inline
from fiberscope.sim.channel cimport Channel

cdef long DATA, DONE, EMPTY, STOP

cdef class Scatter(StreamBlock):
    cdef dict __dict__  # for as many outputs as there are ways
    cdef readonly long ways
    cdef readonly long block
    cdef readonly long span
    cdef readonly long dealt
    cdef readonly tuple ports
    cdef public Channel in_crd
    cdef public Channel in_ref

    @cython.locals(crd=Channel, ref=Channel, kind=long, way=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef long _way(self, long coordinate) except -1
    @cython.final
    @cython.locals(stream=OutputStream)
    cdef int _send(self, long way) except -1
    @cython.final
    @cython.locals(ends=bint)
    cdef int _check(self, Channel crd, Channel ref, long now) except -1
