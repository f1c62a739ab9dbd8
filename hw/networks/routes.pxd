from fiberscope.sim.channel cimport Channel

cdef long PORT_SHIFT

cdef class Route:
    cpdef long output(self, Channel head, long outputs) except? -2

cdef class AddressRoute(Route):
    cdef readonly long interleave_bytes

    cpdef long output(self, Channel head, long outputs) except? -2

cdef class PortRoute(Route):
    cdef readonly long group

    cpdef long output(self, Channel head, long outputs) except? -2

cdef class CoordinateRoute(Route):
    cpdef long output(self, Channel head, long outputs) except? -2
