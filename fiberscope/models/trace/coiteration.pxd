cimport cython

from fiberscope.models.trace.cursor cimport Cursor, NestState
from fiberscope.models.trace.nest cimport Loop

cdef long BOTH, ENDED, NO_WINDOW

cdef class Coiteration(Loop):
    cdef long[::1] condition
    cdef unsigned char[::1] stack
    cdef unsigned char[::1] here

    @cython.locals(coordinate=long, cursor=Cursor)
    cpdef int iterate(self) except -1
    @cython.locals(place=long, cursor=Cursor)
    cdef bint _can_go_on(self) noexcept
    @cython.locals(coordinate=long, cursor=Cursor)
    cdef long _next_coordinate(self) noexcept
    @cython.locals(place=long, cursor=Cursor)
    cdef int _look_at(self, long coordinate) except -1
    @cython.locals(height=long, item=long, code=long, one=bint, other=bint)
    cdef bint _holds(self) noexcept
    @cython.locals(place=long)
    cdef int _take_all(self) except -1
    @cython.locals(cursor=Cursor)
    cdef int _take(self, long place) except -1
    @cython.locals(cursor=Cursor)
    cdef void _pass(self, long coordinate) noexcept

cdef class Pieces(Coiteration):
    cdef unsigned char[::1] followers

    @cython.locals(place=long, cursor=Cursor)
    cpdef int run(self) except -1
    @cython.locals(leader=Cursor, begin=long, end=long, coordinate=long, leading=long, following=long)
    cpdef int iterate(self) except -1
    @cython.locals(place=long, cursor=Cursor, led=bint)
    cdef int _visit_piece(self, long begin, long end, long coordinate) except -1
    @cython.locals(place=long)
    cdef int _take_pieces(self) except -1
