cimport cython

from fiberscope.accelerators.gamma.tasks cimport TaskTable
from fiberscope.hw.fibers.pointers cimport RowPointerReader
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long FETCH, PORT_SHIFT
cdef long END_OF_WORK, B_BASE, B_POINTERS_BASE, PARTIAL_BASE

cdef class Prefetcher(Component):
    cdef TaskTable table
    cdef int[::1] columns
    cdef long[::1] row_pointers
    cdef long tag_base
    cdef long line_bytes
    cdef long element_bytes
    cdef bint fetching
    cdef RowPointerReader pointers
    cdef readonly long task
    cdef readonly bint working
    cdef readonly long located
    cdef readonly long fetched
    cdef readonly long last_input
    cdef long line
    cdef long last_line
    cdef bint extent_known
    cdef long[::1] needed
    cdef readonly long fetches
    cdef public Channel tasks
    cdef public Channel requests
    cdef public Channel replies
    cdef public Channel prefetched

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _begin(self) except -1
    @cython.final
    cdef bint _receive(self) except -1
    @cython.final
    cdef long _hand_on(self, long now) except? -2
    @cython.final
    cdef bint _fetch(self) except -1
    @cython.final
    cdef int _extent(self) except -1
    @cython.final
    cdef bint _locate(self) except -1
