cimport cython

from fiberscope.sim cimport inline
from fiberscope.sim.component cimport Component

@cython.final
cdef class Probe:
    cdef Component component
    cdef long first
    cdef long own
    cdef long[::1] positions
    cdef list channels

    cdef int collect(self, long[::1] values, list changed) except -1
    cdef int _collect_samples(self, long[::1] values, list changed) except -1

@cython.final
cdef class Probes:
    cdef readonly long[::1] values
    cdef list probes

    cpdef int collect_all(self) except -1
    cpdef list collect(self, list ticked)
    cdef int _collect_from(self, long index, list changed) except -1
    cdef Probe _probe(self, long index)

cdef int _update(long[::1] values, list changed, long position, long value) except -1
