cimport cython

from fiberscope.models.trace.recorder cimport Recorder

cdef long ENDED, NO_WINDOW

@cython.final
cdef class NestState:
    cdef public long[::1] serials
    cdef public long[::1] last_body
    cdef public long[::1] point
    cdef public long[::1] begins
    cdef public long[::1] ends

@cython.final
cdef class Cursor:
    cdef const long[::1] segments
    cdef const long[::1] coordinates
    cdef const double[::1] values
    cdef public Cursor below
    cdef NestState state
    cdef public long shape
    cdef public bint whole
    cdef public long step
    cdef public long scale
    cdef public long constant
    cdef public long[::1] bound
    cdef public long[::1] coefficients
    cdef public long window
    cdef public double empty
    cdef public list looked
    cdef public list used
    cdef public list reached
    cdef bint records
    cdef long fiber
    cdef long first
    cdef long last
    cdef long low
    cdef long high
    cdef long head
    cdef long offset
    cdef long end
    cdef long at
    cdef public bint present
    cdef public double value

    cpdef attach(self, NestState state)
    cdef void enter(self, long element) noexcept
    cdef void leave(self) noexcept
    @cython.locals(middle=long)
    cdef long find(self, long coordinate, long low, long high) noexcept
    cdef void confine(self) noexcept
    @cython.locals(place=long)
    cdef bint in_piece(self, long begin, long end) noexcept
    cdef int begin(self) except -1
    @cython.locals(recorder=Recorder)
    cdef int _reach(self) except -1
    @cython.locals(begin=long, end=long)
    cdef int _begin_whole(self) except -1
    @cython.locals(begin=long, end=long, one=long, other=long)
    cdef void _begin_projected(self) noexcept
    @cython.locals(way=long, distance=long)
    cdef void _settle(self) noexcept
    @cython.locals(offset=long, place=long)
    cpdef long index(self) noexcept
    cdef void advance(self) noexcept
    cdef bint is_plain(self) noexcept
    @cython.locals(reach=long)
    cdef long seek(self, long coordinate, long place) noexcept
    cdef void take(self) noexcept
    cdef int look(self) except -1
    cdef int use(self) except -1
    @cython.locals(recorder=Recorder)
    cdef int tell(self, list recorders, long position) except -1
    @cython.locals(place=long, found=bint)
    cpdef int look_up(self, long coordinate) except -1
    cdef int use_looked_up(self) except -1
