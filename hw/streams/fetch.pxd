cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel

cdef long DATA, DONE, READ, NO_LINE, TAG_MASK

cdef class Fetch(StreamBlock):
    cdef readonly long base
    cdef readonly long entry_bytes
    cdef readonly long line_bytes
    cdef readonly long entries
    cdef readonly long window
    cdef readonly long outstanding
    cdef readonly long line
    cdef readonly long lines
    cdef readonly long come
    cdef readonly long reused
    cdef readonly long held
    cdef long _head
    cdef long _next
    cdef long _last
    cdef long[::1] _kinds
    cdef long[::1] _references
    cdef long[::1] _coordinates
    cdef long[::1] _needs
    cdef unsigned char[::1] _arrived
    cdef public Channel in_ref
    cdef public Channel in_crd
    cdef public Channel replies
    cdef public Channel requests
    cdef public OutputStream out_ref
    cdef public OutputStream out_crd

    @cython.locals(moved=bint, full=Channel)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _ready(self) noexcept
    @cython.final
    cdef bint _receive(self) except -1
    @cython.final
    @cython.locals(place=long, kind=long)
    cdef long _send(self) except -1
    @cython.final
    cdef bint _take(self) except -1
    @cython.final
    @cython.locals(address=long)
    cdef int _look(self) except -1
    @cython.final
    cdef bint _seen(self) except -1
    @cython.final
    cdef bint _ask(self) except -1
    @cython.final
    @cython.locals(place=long)
    cdef int _hold(self, long needs) except -1
    @cython.final
    cdef long _wait(self, Channel full) except? -2
