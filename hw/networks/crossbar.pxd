cimport cython

from fiberscope.hw.networks.routes cimport Route
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long UNKNOWN, PORT_SHIFT, TAG_MASK

cdef class Crossbar(Component):
    cdef readonly Route route
    cdef readonly long transfers
    cdef readonly long conflicts
    cdef public list inputs
    cdef public list outputs
    cdef long input_count
    cdef long output_count
    cdef readonly long[::1] turns
    cdef long[::1] winners
    cdef long[::1] contenders
    cdef long[::1] wanted
    cdef long[::1] goals

    @cython.locals(sink=Channel)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _wait_for_space(self, long wanted) except? -2
    @cython.final
    @cython.locals(source=Channel)
    cdef long _arbitrate(self) except -1
    @cython.final
    cdef inline void _contend(self, long output, long index) noexcept
    @cython.final
    cdef inline long _goal(self, Channel source) except -1
    @cython.final
    cdef int _grant(self, long output) except -1
    @cython.final
    cdef int _move(self, Channel source, Channel sink) except -1

cdef class QueuedCrossbar(Crossbar):
    cdef readonly long room
    cdef readonly long held
    cdef long[::1] counts
    cdef long[::1] order
    cdef long[::1] controls
    cdef long[::1] coordinates
    cdef long[::1] references
    cdef double[::1] values
    cdef long[::1] asked
    cdef char[::1] open

    cpdef long tick(self, long now) except? -2
    @cython.final
    @cython.locals(source=Channel)
    cdef long _take_in(self) except -1
    @cython.final
    cdef int _store(self, long index, Channel source) except -1
    @cython.final
    cdef long _ask(self) except -1
    @cython.final
    @cython.locals(sink=Channel)
    cdef bint _wants(self, long index, long output, long count) except -1
    @cython.final
    cdef long _accept(self) except -1
    @cython.final
    cdef long _oldest_granted(self, long index) noexcept
    @cython.final
    @cython.locals(sink=Channel)
    cdef int _send(self, long index, long place) except -1
    @cython.final
    cdef void _end_asking(self, long count) noexcept

cdef class Concentrator(Component):
    cdef readonly long first_port
    cdef readonly long turn
    cdef readonly long sent
    cdef readonly long returned
    cdef long input_count
    cdef long output_count
    cdef public list inputs
    cdef public Channel requests
    cdef public Channel replies
    cdef public list outputs

    @cython.locals(sends=bint, returns=bint)
    cpdef long tick(self, long now) except? -2
    @cython.final
    @cython.locals(source=Channel)
    cdef long _head(self) except? -2
    @cython.final
    @cython.locals(source=Channel)
    cdef int _send(self, long index) except -1
    @cython.final
    @cython.locals(sink=Channel)
    cdef bint _return(self) except -1
