from fiberscope.hw.fibers.level cimport Level
from fiberscope.hw.streams.scanner cimport Scanner

cdef long DATA, IN_FIBER, Q4

cdef class CompressedScanner(Scanner):
    cdef readonly Level level
    cdef readonly long fiber
    cdef readonly long first
    cdef readonly long position
    cdef readonly long end
    cdef readonly long fibers
    cdef unsigned char[::1] _seen

    cpdef long begin(self, long reference, long now) except? -2
    cpdef long send_first(self, long now) except? -2
    cpdef long advance(self, long now) except? -2
    cpdef long send_next(self, long now) except? -2
    cpdef long send_element(self, long position, long now) except? -2
