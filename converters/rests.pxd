cimport cython

from fiberscope.hw.lanes cimport channels as rows
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA

cdef class Peel(Component):
    cdef readonly long width
    cdef readonly long rows
    cdef public list lanes
    cdef public list parted
    cdef public Channel rests

    @cython.locals(lane=long, full=long)
    cpdef long tick(self, long now) except? -2
    @cython.final
    @cython.locals(source=Channel, sink=Channel)
    cdef int _pass_on(self, long lane) except -1

cdef class Join(Component):
    cdef readonly long width
    cdef readonly long rows
    cdef public list lanes
    cdef public Channel rests
    cdef public list joined

    @cython.locals(lane=long, full=long)
    cpdef long tick(self, long now) except? -2
    @cython.final
    @cython.locals(source=Channel, sink=Channel)
    cdef int _pass_on(self, long lane) except -1
