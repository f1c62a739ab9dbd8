cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP

cdef class LaneStage(Component):
    cdef readonly long lanes
    cdef readonly long steps
    cdef readonly long room
    cdef readonly long taken
    cdef readonly long beats
    cdef long until
    cdef readonly list outputs
    cdef public Channel items
    cdef public Channel results

    @cython.locals(output=Channel)
    cpdef long tick(self, long now) except? -2
    @cython.final
    @cython.locals(free=long, steps=long)
    cdef bint _beat(self) except -1
    @cython.final
    cdef int _use_lane(self) except -1
    cdef bint _pending(self) except -1
    cdef bint _step(self) except -1
    cdef bint _ready(self) except -1
    cdef bint _take(self) except -1
    cdef bint _left(self) except -1
    cdef int _give(self) except -1
    cdef long _flush(self) except -1
    @cython.locals(output=Channel)
    cdef int _close(self) except -1
    cdef long _lack(self) except? -2

cdef class BlockDivide(LaneStage):
    cdef readonly long block
    cdef readonly long across
    cdef readonly long shift
    cdef long mask

    @cython.locals(word=long, block=long, row=long, column=long, number=long)
    cdef bint _take(self) except -1
