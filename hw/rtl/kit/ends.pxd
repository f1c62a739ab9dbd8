cimport cython

from fiberscope.hw.rtl.kit.codec cimport Codec
from fiberscope.sim.channel cimport Channel

cdef long CONTROL, COORDINATE, REFERENCE, VALUE, NOTHING, NO_MASK, EMPTY

@cython.final
cdef class Cell:
    cdef readonly Codec codec
    cdef readonly long part
    cdef readonly long word
    cdef readonly object name

@cython.final
cdef class Lane:
    cdef readonly Channel channel
    cdef object stream
    cdef list cells
    cdef long _mask
    cdef list _stopped_by
    cdef unsigned long[::1] _words
    cdef long[::1] _bits
    cdef double[::1] _values

    @cython.locals(has_token=bint)
    cdef int show(self) except -1
    @cython.locals(cell=Cell, number=long)
    cdef int _show_fields(self) except -1
    cdef void hide(self) noexcept
    @cython.locals(cell=Cell)
    cdef void _blank(self) noexcept
    @cython.locals(cell=Cell, control=long, coordinate=long, reference=long, number=long)
    cdef int _push_fields(self) except -1
    cdef int push(self) except -1
    cdef bint is_empty(self) noexcept
    @cython.locals(cell=Cell)
    cdef bint is_stop(self) noexcept
    @cython.locals(cell=Cell)
    cpdef object token(self)
    cdef long _part(self, long part) noexcept
    cdef object _misfit(self, Cell cell, long number)

@cython.final
cdef class End:
    cdef readonly object stream
    cdef readonly list lanes
    cdef Lane first
    cdef readonly bint is_bundle
    cdef readonly bint is_input
    cdef readonly bint is_open
    cdef public bint is_quiet
    cdef readonly bint within
    cdef readonly long rows
    cdef readonly long tokens
    cdef readonly long elements
    cdef bint _has_stops
    cdef long _head
    cdef long _said
    cdef long _answered
    cdef long _ahead
    cdef unsigned long[::1] _inputs
    cdef unsigned long[::1] _outputs

    cdef bint update(self) except? -1
    @cython.locals(channel=Channel, head=long, lane=Lane)
    cdef bint _show_head(self) except? -1
    @cython.locals(room=bint)
    cdef bint _show_room(self) except? -1
    cdef bint _has_room(self) except? -1
    cpdef bint moves(self) noexcept
    cdef bint is_blocked(self) noexcept
    @cython.locals(lane=Lane, is_element=bint)
    cdef int move(self) except -1
    @cython.locals(lane=Lane)
    cpdef bint is_begun(self) noexcept
    @cython.locals(lane=Lane, open_=bint)
    cpdef Channel waits_at(self)
    @cython.locals(lane=Lane)
    cpdef object token(self)
    @cython.locals(lane=Lane, channel=Channel)
    cpdef tuple stalls(self)
