cimport cython

from fiberscope.models.trace.body cimport Body
from fiberscope.models.trace.cursor cimport Cursor, NestState
from fiberscope.models.trace.output cimport OutputRank

cdef long ENDED, NO_WINDOW
cdef long BODIES_PER_LOOK

@cython.final
cdef class Place:
    cdef OutputRank rank
    cdef Cursor index
    cdef OutputRank above

cdef class Loop:
    cdef readonly long depth
    cdef list cursors
    cdef NestState state
    cdef public Loop inner
    cdef public Body body
    cdef public OutputRank output
    cdef public OutputRank above
    cdef public list lookups
    cdef public list parts
    cdef public list part_places
    cdef public list placed
    cdef public long piece
    cdef public long outer_piece
    cdef public bint marks_body
    cdef public bint intersects
    cdef readonly long steps
    cdef readonly long skips
    cdef readonly long led

    @cython.locals(cursor=Cursor)
    cpdef int run(self) except -1
    cpdef int iterate(self) except -1
    @cython.locals(cursor=Cursor)
    cdef int visit(self, long coordinate) except -1
    @cython.locals(place=long, size=long, part=long)
    cdef void _unravel(self, long coordinate) noexcept
    @cython.locals(begin=long, end=long)
    cdef void _begin_piece(self, long coordinate) noexcept
    @cython.locals(placed=Place, rank=OutputRank, coordinate=long)
    cdef int _open(self, long place) except -1
    cdef int _descend(self) except -1

cdef class Scan(Loop):
    @cython.locals(cursor=Cursor)
    cpdef int iterate(self) except -1

cdef class Intersection(Loop):
    @cython.locals(one=Cursor, other=Cursor, behind=long)
    cpdef int iterate(self) except -1
    @cython.locals(here=long, there=long, coordinate=long, theirs=long, place=long)
    cdef int _leap(self, Cursor one, Cursor other) except -1
    cdef int _meet(self, Cursor one, Cursor other) except -1

cdef class LeaderFollower(Loop):
    @cython.locals(leader=Cursor)
    cpdef int iterate(self) except -1
    @cython.locals(found=bint, place=long, cursor=Cursor)
    cdef int _find_all(self, long coordinate) except -1
    @cython.locals(place=long, cursor=Cursor)
    cdef int _use_all(self) except -1
