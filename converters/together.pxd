cimport cython

from fiberscope.converters.rows cimport Bits, Former
from fiberscope.hw.lanes.pipeline cimport Pipeline
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP, PIPE, PACK, ENDED

cdef class Together(Component):
    cdef readonly Former former
    cdef Bits bits
    cdef readonly long units
    cdef long[::1] kinds
    cdef long[::1] sizes
    cdef list pipelines
    cdef readonly long lanes
    cdef long high
    cdef long divisor
    cdef long factor
    cdef bint drops
    cdef bint sums
    cdef long[::1] wires
    cdef long deepest
    cdef long[::1] room
    cdef long[::1] waiting
    cdef long[::1] arrivals
    cdef long[::1] inside
    cdef long[::1] oldest
    cdef long[::1] filled
    cdef long[::1] popped
    cdef long packed
    cdef bint ending
    cdef long places
    cdef long[::1] words
    cdef double[::1] held
    cdef long head
    cdef long count
    cdef long done
    cdef long total
    cdef readonly long rows
    cdef readonly long numbers
    cdef readonly long kept
    cdef public Channel items
    cdef public Channel values
    cdef public Channel results

    @cython.locals(moved=bint, unit=long, due=long)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _wait(self, long now) except? -2
    @cython.final
    @cython.locals(found=long, unit=long, due=long, arrival=long)
    cdef long _due(self, long now) except -1
    @cython.final
    cdef Pipeline _pipeline(self, long unit)
    @cython.final
    cdef bint _shows(self, long channel, long now) noexcept
    @cython.final
    @cython.locals(free=long)
    cdef bint _is_full(self, long channel, long now) noexcept
    @cython.final
    @cython.locals(place=long)
    cdef void _push(self, long channel, long row, long now) noexcept
    @cython.final
    @cython.locals(row=long)
    cdef long _pop(self, long channel, long now) noexcept
    @cython.final
    cdef bint _step(self, long unit, long now) except -1
    @cython.final
    @cython.locals(pipeline=Pipeline, leaves=bint, enters=bint, row=long)
    cdef bint _flow(self, long unit, long now) except -1
    @cython.final
    @cython.locals(width=long, takes=bint, row=long, count=long, ends=bint, sends=bint)
    cdef bint _pack(self, long unit, long now) except -1
    @cython.final
    cdef int _send_packed(self, long unit, long width, long now) except -1
    @cython.final
    @cython.locals(former=Former, moved=bint, before=long, place=long, row=long)
    cdef bint _enter(self, long now) except -1
    @cython.final
    @cython.locals(one=long)
    cdef int _compute_ones(self, Bits bits) except -1
    @cython.final
    cdef void _compute(self, long coordinate, long reference, double value) noexcept
    @cython.final
    @cython.locals(place=long)
    cdef void _keep(self, long coordinate, long reference, double value) noexcept
    @cython.final
    @cython.locals(row=long, before=long, results=Channel)
    cdef bint _collect(self, long now) except -1
    @cython.final
    cdef bint _is_valued(self) noexcept
    @cython.final
    @cython.locals(value=double, left=long, results=Channel, values=Channel)
    cdef bint _send(self, long count) except -1
