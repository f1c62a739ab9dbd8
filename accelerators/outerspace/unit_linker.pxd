cimport cython

from fiberscope.accelerators.outerspace.linker cimport Linker
from fiberscope.sim.channel cimport Channel

cdef long NO_NODE, GRANTED, NOWHERE

cdef class UnitLinker(Linker):
    cdef object unlinked
    cdef dict node_at
    cdef public Channel space_requests
    cdef public Channel space_grants
    cdef public Channel new_nodes
    cdef public Channel node_headers

    cpdef long tick(self, long now) except? -2
    cdef int _give(self, long node, long size) except -1
    cdef int _link(self, long node, long row) except -1
    @cython.locals(node=long, behind=long)
    cdef int _hear(self) except -1
    @cython.locals(node=long, address=long, products=long)
    cdef int _have_linked(self, long now) except -1
    cdef bint _send_write(self) except -1
