cimport cython

from fiberscope.accelerators.extensor.operand cimport TiledOperand
from fiberscope.accelerators.extensor.output cimport PartialSlot
from fiberscope.hw.fibers.intersection cimport FiberIntersection
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long NO_MICROTILE, NOTHING, HALVES

cdef class MicrotileBuffer(Component):
    cdef TiledOperand a
    cdef TiledOperand b
    cdef long port_bytes
    cdef long size
    cdef readonly long microtile_a
    cdef readonly long microtile_b
    cdef readonly long until
    cdef readonly bint filling
    cdef readonly long bytes
    cdef readonly long reuses
    cdef public Channel tasks
    cdef public Channel ready

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _crowded(self) noexcept
    @cython.final
    cdef int _hand_on(self) except -1
    @cython.final
    cdef long _begin(self, long now) except -1

cdef class IntersectingCore(Component):
    cdef TiledOperand a
    cdef TiledOperand b
    cdef FiberIntersection intersection
    cdef list slots
    cdef long slot_count
    cdef long slot
    cdef long first_slot
    cdef long microtile
    cdef long rows
    cdef long columns
    cdef readonly bint working
    cdef readonly long microtile_a
    cdef readonly long microtile_b
    cdef readonly long until
    cdef long half
    cdef long row
    cdef long result
    cdef readonly long intersect_k0
    cdef readonly long multiply
    cdef readonly long add
    cdef readonly long fiber_pairs
    cdef readonly long products
    cdef readonly long longest_product
    cdef public Channel ready
    cdef public Channel partials
    cdef PartialSlot partial

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef int _send(self) except -1
    @cython.final
    cdef long _begin(self, long now) except -1
    @cython.final
    cdef long _multiply(self, long a, long b) except -1
    @cython.final
    cdef long _dot(self, long fiber_a, long fiber_b, long key) except -1
