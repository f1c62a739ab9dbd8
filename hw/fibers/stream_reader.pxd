cimport cython

from hw cimport lanes
from hw.fibers.streams cimport AddressGenerator
from hw.window cimport ReorderWindow
from sim.channel cimport Channel
from sim.component cimport Component

cdef long READ, DATA, STOP, TAG_MASK

cdef class StreamReader(Component):
    cdef readonly long count
    cdef bint has_coordinates
    cdef bint has_references
    cdef bint has_values
    cdef long[::1] coordinates
    cdef long[::1] references
    cdef double[::1] values
    cdef readonly long lanes
    cdef long tag_base
    cdef AddressGenerator asked
    cdef AddressGenerator here
    cdef readonly ReorderWindow window
    cdef readonly bint working
    cdef readonly long next
    cdef long end
    cdef bint begun
    cdef readonly long rows
    cdef readonly long sent_items
    cdef public Channel jobs
    cdef public list items
    cdef public Channel requests
    cdef public Channel replies

    @cython.locals(moved=bint, full=long)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _begin(self) except -1
    @cython.final
    cdef int _span(self, long first, long end) except -1
    @cython.final
    cdef bint _receive(self) except -1
    @cython.final
    @cython.locals(number=long)
    cdef bint _ask(self) except -1
    @cython.final
    @cython.locals(wanted=long)
    cdef bint _ready(self) noexcept
    @cython.final
    @cython.locals(lane=long, sink=Channel, item=long, sent=long)
    cdef int _send(self) except -1
    @cython.final
    cdef long _coordinate(self, long item) noexcept
    @cython.final
    cdef long _reference(self, long item) noexcept
    @cython.final
    cdef double _value(self, long item) noexcept
    @cython.final
    cdef long _wait(self) except? -2
