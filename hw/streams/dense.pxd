cimport cython

from fiberscope.hw.streams.scanner cimport Scanner

cdef long DATA, IN_FIBER, Q6

cdef class DenseScanner(Scanner):
    cdef readonly long size
    cdef readonly long base
    cdef readonly long coordinate

    cpdef long begin(self, long reference, long now) except? -2
    cpdef long advance(self, long now) except? -2
    cpdef long take_stop(self, long level, long now) except? -2
    cpdef long take_empty(self, long now) except? -2
    @cython.final
    cdef long _send_element(self, long coordinate, long now) except? -2
    cdef long _die(self, str found) except? -2
