cimport cython

from fiberscope.hw.fibers.compressed cimport CompressedRows

cdef long NOBODY

cdef class AffinityWalk:
    cdef CompressedRows a
    cdef CompressedRows transposed
    cdef long window
    cdef readonly long[::1] order
    cdef long[::1] affinity
    cdef long[::1] chosen
    cdef long[::1] following
    cdef long[::1] before
    cdef long[::1] heads
    cdef long best

    cpdef int run(self) except -1
    @cython.final
    cdef long _choose(self) except -2
    @cython.final
    cdef int _shift(self, long row, long step) except -1
    @cython.final
    cdef int _take_out(self, long row) except -1
    @cython.final
    cdef int _put_in(self, long row) except -1
