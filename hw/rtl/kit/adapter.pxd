cimport cython

from fiberscope.hw.rtl.kit.ends cimport End, Lane
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef class Adapter(Component):
    cdef readonly object interface
    cdef public long drain
    cdef object _backend
    cdef object _words
    cdef readonly list ends
    cdef dict _by_label
    cdef set _observed
    cdef set _watched
    cdef bint _observes
    cdef public object shadow
    cdef public bint halts
    cdef object _shadow
    cdef public object status
    cdef dict _status
    cdef unsigned long[::1] _outputs
    cdef object _entered
    cdef long _before
    cdef long _next
    cdef long _last_change
    cdef readonly long moving

    cpdef long tick(self, long now) except? -2
    @cython.locals(end=End, changed=bint)
    cdef bint _update(self) except? -1
    @cython.locals(end=End)
    cdef dict _moved(self)
    @cython.locals(end=End)
    cdef Channel _blocked(self)
    @cython.locals(end=End, moved=bint)
    cdef bint _move(self) except? -1
    cpdef End end(self, str label)
    cdef int _sleep_through(self, long until) except -1
