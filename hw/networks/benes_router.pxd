cimport cython

cdef long STEP_CAP, RESTARTS, FREE

@cython.final
cdef class MulticastRouter:
    cdef readonly long lanes
    cdef readonly long step_cap
    cdef readonly long restarts
    cdef readonly long steps
    cdef long _hops
    cdef long _random
    cdef long _wanted
    cdef long[::1] _sources
    cdef long[::1] _middle
    cdef long[::1] _order
    cdef signed char[::1] _free
    cdef long[::1] _owner
    cdef long[::1] _users
    cdef long[::1] _bits

    cdef int _load(self, sources) except -1
    @cython.locals(steps=long, place=long, output=long)
    cdef bint _search(self) noexcept
    @cython.locals(first=long, middle=long)
    cdef bint _lay_next(self, long output) noexcept
    cdef void _find_free(self, long output, long bits, long known) noexcept
    @cython.locals(source=long, owner=long)
    cdef bint _is_free(self, long output, long middle, long hop) noexcept
    @cython.locals(row=long)
    cdef long _wire(self, long output, long middle, long hop) noexcept
    @cython.locals(high=long, mask=long)
    cdef long _row(self, long output, long middle, long column) noexcept
    @cython.locals(hop=long, wire=long)
    cdef void _lay(self, long output, long users) noexcept
    @cython.locals(row=long, place=long)
    cdef void _set(self) noexcept
    @cython.locals(middle=long, column=long, leaves=long)
    cdef void _set_path(self, long output) noexcept
    @cython.locals(wire=long, path=long)
    cdef void _clear(self) noexcept
    @cython.locals(place=long, other=long, held=long)
    cdef void _shuffle(self) noexcept
