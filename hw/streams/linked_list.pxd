cimport cython

from hw.streams.block cimport StreamBlock
from hw.streams.growing cimport Growing
from hw.streams.scanner cimport Scanner
from sim.channel cimport Channel

cdef long DATA, DONE, IN_FIBER
cdef long NO_NODE

@cython.final
cdef class LinkedLevel:
    cdef readonly long fibers
    cdef readonly long[::1] heads
    cdef readonly long[::1] tails
    cdef readonly Growing links
    cdef readonly Growing elements

    @cython.locals(node=long)
    cpdef long append(self, long fiber, long coordinate) except -1
    cpdef int check_fiber(self, long fiber, str user) except -1
    cpdef long begin(self, long fiber) noexcept
    cpdef long next(self, long node) noexcept
    cpdef long coordinate(self, long node) noexcept

cdef class LinkedListScanner(Scanner):
    cdef readonly LinkedLevel level
    cdef readonly long link_cycles
    cdef readonly long node
    cdef long _known

    @cython.locals(node=long)
    cpdef long begin(self, long reference, long now) except? -2
    @cython.locals(node=long)
    cpdef long advance(self, long now) except? -2
    @cython.final
    cdef long _send_element(self, long node, long now) except? -2

cdef class LinkedListWriter(StreamBlock):
    cdef readonly LinkedLevel level
    cdef readonly long stored
    cdef public Channel in_outer
    cdef public Channel in_crd

    @cython.locals(kind=long)
    cpdef long update(self, long now) except? -2
