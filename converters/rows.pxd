cimport cython

from fiberscope.hw.lanes cimport channels as rows
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP, EMPTY

cdef class Former(Component):
    cdef readonly long width
    cdef long[::1] shifts
    cdef readonly long ranks
    cdef long[::1] given
    cdef long[::1] coordinates
    cdef long[::1] references
    cdef double[::1] values
    cdef long[::1] more
    cdef readonly long held
    cdef readonly bint ended
    cdef readonly bint first
    cdef readonly long taken
    cdef readonly long rows
    cdef public Channel items
    cdef public list lanes
    cdef public list divisors
    cdef public list factors
    cdef list constants
    cdef public list rests

    @cython.locals(moved=bint, full=long, rest=Channel)
    cpdef long tick(self, long now) except? -2
    @cython.locals(items=Channel, before=long)
    cdef bint gather(self) except -1
    @cython.final
    cdef bint is_ready(self) noexcept
    @cython.final
    @cython.locals(last=bint)
    cdef bint release(self) except -1
    cdef int _form(self, long word, double value) except -1
    @cython.final
    @cython.locals(rank=long, part=long, first=long, second=long)
    cdef int _part(self, long word, double value) except -1
    @cython.final
    cdef void _put(self, long coordinate, long reference, double value) noexcept
    cdef int _restart(self) except -1
    @cython.final
    @cython.locals(place=long, rank=long, lane=Channel, constant=Channel, rest=Channel)
    cdef int _send(self) except -1

cdef class Steps(Former):
    cdef int _form(self, long word, double value) except -1

cdef class Increment(Former):
    cdef readonly long greatest
    cdef readonly bint has_value
    cdef readonly long behind

    cdef int _form(self, long word, double value) except -1
    cdef int _restart(self) except -1

cdef class Bits(Former):
    cdef readonly long word_bits
    cdef readonly long word
    cdef readonly long left
    cdef public bint sparse
    cdef public long ones

    @cython.locals(moved=bint, count=long)
    cdef bint gather(self) except -1
    @cython.final
    @cython.locals(bits=long)
    cdef int _spread(self, long count) except -1
    @cython.final
    @cython.locals(bits=long, place=long)
    cdef int _note(self, long count) except -1
    @cython.final
    cdef bint _has_bit(self) except -1

cdef class Collector(Component):
    cdef readonly long width
    cdef long[::1] shifts
    cdef readonly long ranks
    cdef readonly long lane
    cdef readonly bint ending
    cdef readonly long collected
    cdef readonly long rows
    cdef public list lanes
    cdef public Channel values
    cdef public list rests
    cdef public Channel results

    @cython.locals(missing=long, before=long)
    cpdef long tick(self, long now) except? -2
    @cython.final
    @cython.locals(source=Channel, kind=long)
    cdef bint _take(self, long lane) except -1
    @cython.final
    @cython.locals(word=long, rank=long, rest=Channel)
    cdef int _push(self, Channel source, double value) except -1
