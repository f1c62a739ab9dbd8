cimport cython

from fiberscope.models.trace.cursor cimport Cursor
from fiberscope.models.trace.output cimport OutputRank

cdef long MUL, ADD, SUB, DIV, MIN, MAX, OR, AND, FIRST, SECOND, DIFFERS, LESS, ABS, NEG
cdef long ALL, UNCOUNTED

cpdef double apply(long operation, double one, double other) noexcept
cpdef double apply_seldom(long operation, double one, double other) noexcept
cpdef double divided(double one, double other) noexcept

@cython.final
cdef class Body:
    cdef list inputs
    cdef long[::1] operations
    cdef long[::1] ones
    cdef long[::1] others
    cdef long[::1] modes
    cdef long[::1] counters
    cdef long operands
    cdef double[::1] values
    cdef unsigned char[::1] present
    cdef readonly long[::1] counts
    cdef OutputRank target
    cdef long reduction
    cdef readonly long adds

    @cython.locals(leaf=Cursor, place=long, step=long, last=long)
    cpdef int run(self) except -1
    @cython.locals(one=long, other=long, register=long, computed=bint)
    cdef int _compute(self, long step) except -1
    @cython.locals(target=OutputRank)
    cdef void _update(self, double value) noexcept
