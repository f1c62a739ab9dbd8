cimport cython

from fiberscope.converters.stages cimport LaneStage
from fiberscope.sim.channel cimport Channel

cdef long DATA, STOP

cdef class Blocks(LaneStage):
    cdef readonly long rows
    cdef readonly long across
    cdef readonly long places
    cdef readonly bint first_seen
    cdef readonly long row
    cdef dict gathered
    cdef list leaving
    cdef long place
    cdef readonly long blocks
    cdef public Channel columns
    cdef public Channel counts

    cdef bint _pending(self) except -1
    cdef bint _step(self) except -1
    @cython.final
    cdef long _head(self) except -1
    @cython.final
    cdef int _turn(self) except -1
    @cython.final
    @cython.locals(column=long, values=list)
    cdef int _leave(self) except -1
    cdef bint _ready(self) except -1
    @cython.locals(column=long)
    cdef bint _take(self) except -1
