cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long READ, PORT_SHIFT, TAG_MASK
cdef long DATA, STOP
cdef long OPEN, FAR
cdef long FREE, IN_FLIGHT, HERE, DROPPED

cdef class StreamPrefetcher(Component):
    cdef readonly long base
    cdef readonly long element_bytes
    cdef readonly long line_bytes
    cdef readonly long buffers
    cdef long tag_base
    cdef signed char[::1] states
    cdef long asking
    cdef long reading
    cdef long next_line
    cdef long end_line
    cdef long[::1] nexts
    cdef long[::1] ends
    cdef long[::1] offsets
    cdef long oldest
    cdef readonly long job_count
    cdef readonly long element
    cdef readonly long lines
    cdef readonly long fetched_bytes
    cdef readonly long used_bytes
    cdef public Channel jobs
    cdef public Channel stops
    cdef public Channel requests
    cdef public Channel replies
    cdef public Channel elements

    @cython.locals(takes=bint, progress=bint)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _takes(self) noexcept
    @cython.final
    @cython.locals(first=long, end=long, place=long)
    cdef int _take(self) except -1
    @cython.final
    @cython.locals(buffer=long)
    cdef bint _stop(self) except -1
    @cython.final
    cdef bint _is_stopped(self) noexcept
    @cython.final
    cdef int _end(self) except -1
    @cython.final
    @cython.locals(address=long)
    cdef bint _ask(self) except -1
    @cython.final
    @cython.locals(job=long, end=long)
    cdef bint _serve(self) except -1
    @cython.final
    cdef int _give(self, long job) except -1
    @cython.final
    cdef void _free(self, long job) noexcept
    @cython.final
    @cython.locals(buffer=long)
    cdef bint _receive(self) except -1
    @cython.final
    cdef long _wait(self) except? -2
    @cython.final
    cdef bint _is_blocked(self) noexcept
