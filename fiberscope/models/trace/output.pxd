cimport cython

from fiberscope.models.trace.cursor cimport NestState
from fiberscope.models.trace.recorder cimport Recorder

cdef long FIRST_ROOM

@cython.final
cdef class OutputRank:
    cdef readonly long shape
    cdef public OutputRank below
    cdef readonly double empty
    cdef NestState state
    cdef public list looked
    cdef public list used
    cdef public list moved
    cdef public bint random
    cdef bint records
    cdef public long root_of_moves
    cdef readonly long[::1] starts
    cdef readonly long[::1] lengths
    cdef long[::1] rooms
    cdef long[::1] seen
    cdef readonly long fibers
    cdef long spare
    cdef readonly long elements
    cdef readonly long[::1] coordinates
    cdef readonly long[::1] children
    cdef readonly double[::1] values
    cdef long[::1] side_coordinates
    cdef long[::1] side_children
    cdef double[::1] side_values
    cdef long inserted
    cdef long fiber
    cdef long search
    cdef bint decided
    cdef bint inserting
    cdef long next_insert
    cdef long passed
    cdef long coordinate
    cdef long position
    cdef bint exists
    cdef public long child
    cdef public double value

    cpdef attach(self, NestState state)
    cpdef int begin(self, long fiber) except -1
    @cython.locals(count=long, start=long)
    cpdef int open(self, long coordinate) except -1
    cdef int _search(self, long coordinate, long start, long count) except -1
    @cython.locals(middle=long)
    cdef long _bisect(self, long coordinate, long low, long high) noexcept
    cdef int _load(self, long place) except -1
    cpdef int close(self) except -1
    cdef bint _is_empty(self) noexcept
    cdef void _store(self, long place) noexcept
    @cython.locals(place=long)
    cdef int _append(self) except -1
    cdef int _insert(self) except -1
    @cython.locals(place=long, later=long)
    cdef void _remove(self) noexcept
    cdef void _copy(self, long source, long place) noexcept
    @cython.locals(start=long, left=long, place=long, waiting=long)
    cpdef int finish(self) except -1
    cdef void _take_back(self, long waiting, long place) noexcept
    @cython.locals(coordinate=long)
    cdef int _shift(self, long source, long place) except -1
    cdef int _read(self, long coordinate, long position, bint body) except -1
    cdef int _wrote(self, long position) except -1
    @cython.locals(recorder=Recorder)
    cdef int _tell(self, list recorders, long position, bint write) except -1
    @cython.locals(fiber=long)
    cdef long fresh(self) except -1
    @cython.locals(length=long, need=long, start=long, moved=long, place=long)
    cdef int _make_room(self, long more) except -1
    cdef int _reserve(self, long elements) except -1
    @cython.locals(group=long)
    cdef int _move_in(self) except -1
    @cython.locals(start=long, position=long, recorder=Recorder, serials="long[::1]")
    cdef int move(self, long fiber, bint write) except -1

cpdef longer(numbers)
cpdef longer_values(values)
