cimport cython

from hw.streams.block cimport StreamBlock
from hw.streams.output cimport OutputStream
from sim cimport inline
from sim.channel cimport Channel

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

cdef class Ways(StreamBlock):
    cdef readonly long ways
    cdef readonly str array
    cdef readonly object carries
    cdef readonly list sources
    cdef public tuple ports

cdef class Gather(Ways):
    cdef readonly long block
    cdef readonly bint by_span
    cdef readonly long way
    cdef readonly long taken
    cdef public list in_stream
    cdef public OutputStream out_stream

    @cython.locals(source=Channel)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef long _take(self, Channel source, long now) except? -2
    @cython.final
    @cython.locals(other=Channel, kind=long, level=long, way=long)
    cdef long _end(self, Channel source, long now) except? -2
    @cython.final
    @cython.locals(end=Channel)
    cdef int _refuse(self, long way, long now) except -1
