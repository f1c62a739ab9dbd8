cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef class PageAllocator(Component):
    cdef long first
    cdef readonly long given
    cdef public list page_requests
    cdef public list pages

    @cython.locals(asks=Channel, gets=Channel)
    cpdef long tick(self, long now) except? -2
