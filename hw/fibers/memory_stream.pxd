cimport cython

from fiberscope.hw.memory.window cimport ReorderWindow
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long READ, TENSOR_SHIFT, PORT_SHIFT, TAG_MASK

cdef class MemoryStream(Component):
    cdef readonly long operation
    cdef readonly long line_bytes
    cdef readonly long bytes
    cdef readonly ReorderWindow window
    cdef long base
    cdef long tag_base
    cdef long[::1] targets
    cdef long most_jobs
    cdef long first_job
    cdef long job_count
    cdef public Channel jobs
    cdef public Channel done
    cdef public Channel requests
    cdef public Channel replies

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _take(self) except -1
    @cython.final
    cdef bint _receive(self) except -1
    @cython.final
    cdef bint _ask(self) except -1
    @cython.final
    cdef bint _finish(self) except -1
    @cython.final
    cdef long _target(self) noexcept
    @cython.final
    cdef long _wait(self) except? -2
