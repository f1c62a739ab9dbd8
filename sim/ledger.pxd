cimport cython

from fiberscope.sim cimport inline
from fiberscope.sim.component cimport Component

@cython.final
cdef class Ledger:
    cdef list components
    cdef list channels
    cdef long[::1] periods
    cdef long[::1] accounts
    cdef long[::1] queues

    @cython.locals(component=Component, first=long, i=long, state=long, states=long, period=long, cycle=long)
    cpdef int read(self, long[::1] row, long time) except -1
