cimport cython

from fiberscope.converters.stages cimport LaneStage
from fiberscope.sim.channel cimport Channel

cdef long DATA, STOP

cdef class Expand(LaneStage):
    cdef readonly long shift
    cdef readonly long number
    cdef readonly long end
    cdef readonly long outer
    cdef readonly long seen
    cdef bint ended
    cdef readonly long compares
    cdef public Channel pointers
    cdef public Channel outers

    @cython.final
    cdef int _begin(self) except -1
    cdef bint _step(self) except -1
    @cython.final
    cdef int _advance(self) except -1
    cdef bint _ready(self) except -1
    @cython.locals(outer=long)
    cdef bint _take(self) except -1
    cdef int _close(self) except -1
    cdef long _lack(self) except? -2

cdef class Tally(LaneStage):
    cdef readonly long rows
    cdef readonly long shift
    cdef readonly long row
    cdef readonly long count
    cdef readonly long updates
    cdef public Channel counts

    cdef bint _step(self) except -1
    @cython.final
    cdef long _head(self) except -1
    cdef bint _ready(self) except -1
    cdef bint _take(self) except -1

cdef class ScanCounts(LaneStage):
    cdef long[::1] totals
    cdef readonly long network

    @cython.locals(which=long)
    cdef bint _take(self) except -1

cdef class Fill(LaneStage):
    cdef readonly long size
    cdef readonly long filled

    @cython.locals(here=bint)
    cdef bint _take(self) except -1
    cdef bint _left(self) except -1
    cdef int _give(self) except -1

cdef class Mask(LaneStage):
    cdef readonly long words
    cdef readonly long width
    cdef readonly long word
    cdef readonly long bits
    cdef public Channel masks

    cdef bint _step(self) except -1
    @cython.final
    cdef long _head(self) except -1
    cdef bint _ready(self) except -1
    @cython.locals(bit=long)
    cdef bint _take(self) except -1

cdef class Difference(LaneStage):
    cdef readonly long greatest
    cdef readonly bint has_value
    cdef readonly long next
    cdef readonly long continuations

    @cython.locals(run=long)
    cdef bint _take(self) except -1
    @cython.final
    cdef int _continue(self) except -1

cdef class Tree(LaneStage):
    cdef readonly long ranks
    cdef long[::1] shifts
    cdef long[::1] children
    cdef readonly long word
    cdef readonly long nodes
    cdef public Channel counts

    @cython.locals(word=long, rank=long)
    cdef bint _take(self) except -1
    @cython.final
    @cython.locals(above=long, value=double)
    cdef int _open(self, long rank, long word) except -1
    @cython.final
    cdef int _tell(self, long rank) except -1
    @cython.locals(rank=long)
    cdef int _close(self) except -1
