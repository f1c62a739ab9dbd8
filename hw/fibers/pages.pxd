cimport cython

from sim.channel cimport Channel
from sim.component cimport Component

cdef class PageAllocator(Component):
    cdef long first
    cdef readonly long given
    cdef public list page_requests
    cdef public list pages

    @cython.locals(asks=Channel, gets=Channel)
    cpdef long tick(self, long now) except? -2
