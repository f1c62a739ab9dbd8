cimport cython

from fiberscope.hw.streams.joiner cimport Joiner
from fiberscope.hw.streams.output cimport OutputStream

cdef long DONE_KEY, EMPTY_KEY, NOTHING, STOP_KEY, EMPTY, STOP, Q2, Q8, Q9, Q11

cdef class Intersect(Joiner):
    cdef readonly long matches
    cdef readonly long dropped
    cdef readonly long run
    cdef readonly long longest_run
    cdef unsigned char[::1] news
    cdef unsigned char[::1] knows_end
    cdef long[::1] owed
    cdef readonly list out_skips
    cdef bint owes_any

    cpdef bint accepts_empty(self) except -1
    cpdef bint ends_alone(self) except -1
    @cython.locals(highest=long, lowest=long)
    cpdef long join(self, long now) except? -2
    @cython.final
    cdef long _join_empty(self, long now) except? -2
    @cython.final
    @cython.locals(way=long)
    cdef int _take_all(self, long now) except -1
    @cython.final
    cdef long _match(self, long key, long now) except? -2
    @cython.final
    @cython.locals(way=long)
    cdef int _skip_to_the_end(self, long key) except -1
    @cython.final
    @cython.locals(way=long, key=long)
    cdef long _leader(self, long highest) except -1
    @cython.final
    @cython.locals(way=long, key=long, ahead=long, told=bint)
    cdef long _drop(self, long leader, long now) except? -2
    @cython.final
    @cython.locals(stream=OutputStream)
    cdef int _skip(self, long way, long key) except -1
    @cython.final
    @cython.locals(stream=OutputStream, way=long)
    cdef int _send_owed_stops(self) except -1

cdef class Union(Joiner):
    cdef readonly long common
    cdef readonly long partial

    cpdef bint accepts_empty(self) except -1
    cpdef bint ends_alone(self) except -1
    @cython.locals(highest=long, lowest=long)
    cpdef long join(self, long now) except? -2
    @cython.final
    cdef long _send_all(self, long key, long now) except? -2
    @cython.final
    @cython.locals(stream=OutputStream, way=long)
    cdef int _send_smallest(self, long key, long now) except -1
