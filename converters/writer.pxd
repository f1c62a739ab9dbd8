cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long STOP, WRITE, PORT_SHIFT, LINE_BITS, LINE_BYTES

@cython.final
cdef class Region:
    cdef readonly long address
    cdef public long bits
    cdef public long written

    cdef bint full(self) noexcept
    cdef bint begun(self) noexcept

@cython.final
cdef class TargetArray:
    cdef readonly long width
    cdef readonly Region region
    cdef readonly long count
    cdef long _space
    cdef long[::1] _items

    cdef int append(self, long item) except -1
    cdef int _grow(self) except -1
    cpdef object items(self)

@cython.final
cdef class Route:
    cdef readonly list arrays
    cdef long[::1] shifts
    cdef long[::1] masks
    cdef readonly TargetArray values
    cdef readonly long words

    @cython.locals(i=long, target=TargetArray)
    cdef int put(self, long word, double value) except -1

cdef class Writer(Component):
    cdef readonly list routes
    cdef readonly list regions
    cdef readonly long words
    cdef readonly long backlog
    cdef long tag
    cdef readonly long open
    cdef long first
    cdef long credit
    cdef readonly long waiting
    cdef readonly long words_taken
    cdef readonly long lines
    cdef readonly long beats
    cdef public list items
    cdef public Channel requests

    @cython.locals(taken=bint, wrote=bint)
    cpdef long tick(self, long now) except? -2
    @cython.final
    @cython.locals(before=long, ended=long, port=long, ports=long, i=long, short=bint)
    cdef bint _take_beat(self) except -1
    @cython.final
    @cython.locals(route=Route)
    cdef bint _take(self, Channel channel, list routes) except -1
    @cython.final
    @cython.locals(region=Region)
    cdef int _count_waiting(self) except -1
    @cython.final
    @cython.locals(region=Region)
    cdef bint _any_begun(self) except -1
    @cython.final
    @cython.locals(region=Region)
    cdef bint _write(self) except -1
    @cython.final
    cdef int _send(self, Region region) except -1
