cimport cython

from sim.channel cimport Channel
from sim.component cimport Component

cdef class PageAllocator(Component):
    cdef long first
    cdef readonly long given
    cdef list page_requests
    cdef list pages

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef Channel _asks(self, long index)
    @cython.final
    cdef Channel _gets(self, long index)
