cimport cython

from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.hw.streams.scanner cimport Scanner

cdef long DATA, STOP, IN_FIBER, OWES_STOP, Q10

cdef class BitVectorScanner(Scanner):
    cdef readonly long[::1] words
    cdef readonly long[::1] ones
    cdef readonly long per_fiber
    cdef readonly long fibers
    cdef readonly long position
    cdef readonly long last
    cdef public OutputStream out_bv

    cpdef long begin(self, long reference, long now) except? -2
    cpdef long advance(self, long now) except? -2
    @cython.final
    cdef long _send_word(self, long position, long now) except? -2
    cpdef int send(self, long kind, long coordinate, long reference) except -1
    cpdef long take_stop(self, long level, long now) except? -2
    cpdef long take_empty(self, long now) except? -2
