cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim cimport inline

cdef long DATA, STOP, EMPTY, DONE, KINDS

@cython.final
cdef class OutputStream:
    cdef readonly str name
    cdef readonly list channels
    cdef readonly long consumers
    cdef readonly long[::1] tokens

    @cython.locals(channel=Channel)
    cpdef Channel first_full(self)
    cpdef int push(self, long kind, long payload=*, double value=*) except -1
    @cython.locals(place=long)
    cpdef int push_part(self, long payload, long left) except -1
