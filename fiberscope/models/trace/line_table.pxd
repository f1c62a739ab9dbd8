cimport cython

cdef long FREE, MULTIPLIER, HASHED_BITS, HASHED

@cython.final
cdef class LineTable:
    cdef readonly long count
    cdef readonly long shift
    cdef readonly long mask
    cdef int[::1] numbers
    cdef int[::1] slots
    cdef readonly long[::1] lines

    cdef int _allocate(self, long bits) except -1
    cpdef long number(self, long line) except -1
    @cython.locals(product=cython.ulong, slot=long)
    cdef long _slot(self, long line) noexcept
    cdef void _put(self, long line, long slot) noexcept
    @cython.locals(held=long, number=long, lines="long[::1]")
    cdef int _grow(self) except -1
    @cython.locals(number=long)
    cpdef void clear(self) noexcept
