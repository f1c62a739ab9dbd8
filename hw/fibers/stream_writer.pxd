cimport cython

from hw cimport lanes
from hw.fibers.streams cimport AddressGenerator
from sim.channel cimport Channel
from sim.component cimport Component

cdef long WRITE, DATA, EMPTY
cdef long BEAT_WORDS

cdef class StreamWriter(Component):
    cdef readonly long count
    cdef bint has_coordinates
    cdef bint has_references
    cdef bint has_values
    cdef long[::1] coordinates
    cdef long[::1] references
    cdef double[::1] values
    cdef readonly long words
    cdef readonly long lanes
    cdef long tag_base
    cdef AddressGenerator written
    cdef long waiting_lines
    cdef bint within
    cdef bint ended
    cdef readonly long taken
    cdef long last_word
    cdef readonly long lines
    cdef public list items
    cdef public Channel requests
    cdef public Channel done

    @cython.locals(moved=bint, missing=long)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _blocked(self) noexcept
    @cython.final
    @cython.locals(number=long)
    cdef bint _write(self) except -1
    @cython.final
    cdef long _finish(self, long now, bint moved) except? -2
    @cython.final
    @cython.locals(before=long, lane=long, source=Channel)
    cdef int _take(self, long now) except -1
    @cython.final
    cdef int _keep(self, Channel source) except -1
