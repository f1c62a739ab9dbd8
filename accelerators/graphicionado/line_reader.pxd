cimport cython

from fiberscope.hw.memory.window cimport ReorderWindow
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long STOP, READ, NO_LINE

cdef class LineReader(Component):
    cdef readonly long base
    cdef long line_bytes
    cdef long buffers
    cdef ReorderWindow window
    cdef long room
    cdef long[::1] controls
    cdef long[::1] numbers
    cdef long[::1] references
    cdef long[::1] targets
    cdef long first
    cdef readonly long held
    cdef long freed
    cdef long line
    cdef readonly long lines
    cdef readonly long served
    cdef public Channel wanted
    cdef public Channel here
    cdef public Channel requests
    cdef public Channel replies

    @cython.locals(progress=bint, arrived=bint)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _serve(self) except -1
    @cython.final
    cdef bint _needs(self, long place, long target) noexcept
    @cython.final
    cdef bint _take(self) except -1
    @cython.final
    cdef int _keep(self) except -1
