from fiberscope.accelerators.outerspace.merger cimport MergingElement
from fiberscope.sim.channel cimport Channel

cdef long DATA, STOP

cdef class UnitMergingElement(MergingElement):
    cdef bint leaving
    cdef long begins
    cdef public Channel head_tasks
    cdef public Channel head_elements
    cdef public Channel merged
    cdef public Channel successors

    cdef int _receive(self) except -1
    cdef long _begin_merge(self, long now) except? -2
    cdef long _push(self, long index) except -1
    cdef long _merge(self, long now) except? -2
    cdef long _let_leave(self, long now, long begins) except? -2
    cdef long _take_smallest(self, long now) except? -2
