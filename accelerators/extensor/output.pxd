cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long HALVES, NOTHING, TILE, EMPTY, FIRST_SLOTS, SCATTER, UNKNOWN

@cython.final
cdef class OutputRow:
    cdef readonly long count
    cdef readonly long additions
    cdef readonly signed char[::1] visited
    cdef long mask
    cdef long[::1] keys
    cdef double[::1] values

    cpdef int visit(self, long column) except -1
    cpdef int add(self, long key, double value) except -1
    cdef long _place(self, long key) noexcept
    cdef int _grow(self) except -1
    cdef int _allocate(self, long slots) except -1

@cython.final
cdef class PartialSlot:
    cdef readonly long count
    cdef readonly long[::1] keys
    cdef readonly double[::1] values

    cpdef int clear(self) except -1
    cpdef int append(self, long key, double value) except -1
    cdef int _grow(self) except -1

cdef class OutputBuffer(Component):
    cdef list output_rows
    cdef list slots
    cdef long height
    cdef long[::1] done
    cdef long[::1] expected
    cdef long[::1] missing
    cdef readonly long partial_outputs
    cdef public list partials
    cdef public Channel rows
    cdef public Channel finished

    @cython.locals(way=Channel)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef int _announce(self) except -1
    @cython.final
    @cython.locals(slot=PartialSlot, target=OutputRow)
    cdef int _take(self, Channel way) except -1
    @cython.final
    cdef int _complete(self, long half, long row) except -1
