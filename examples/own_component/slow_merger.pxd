# Written by hand: it shows what C types look like.
# The C types of slow_merger.py. Without them, or uncompiled, it does the same, more slowly.

cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP, PERIOD, NO_MERGE

cdef class SlowMerger(Component):
    cdef readonly long radix
    cdef readonly long fan_in
    cdef readonly long ready
    cdef readonly long merged_elements
    cdef public Channel tasks
    cdef public list ways
    cdef public Channel merged

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _begin(self) except -1
    @cython.final
    cdef int _emit(self, Channel way) except -1
    @cython.final
    cdef int _end(self) except -1
    @cython.final
    cdef Channel _way(self, long i)
