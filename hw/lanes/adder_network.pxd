cimport cython

from fiberscope.hw.lanes.rows cimport RowPipeline
from fiberscope.sim.channel cimport Channel

cdef long DATA, EMPTY, NO_NEURON

cdef class AdderNetwork(RowPipeline):
    cdef long[::1] beginning
    cdef double[::1] partial
    cdef readonly long neurons
    cdef readonly long add

    cdef int _take(self, long place) except -1
    @cython.final
    @cython.locals(source=Channel, before=long, beginning=long)
    cdef int _load(self) except -1
    @cython.final
    @cython.locals(adder=long, beginning=long, left=long)
    cdef int _reduce(self) except -1
    @cython.final
    @cython.locals(source=Channel, beginning=long, lane=long)
    cdef int _place(self, long place) except -1

cdef long _output_lane(long first, long last) noexcept
