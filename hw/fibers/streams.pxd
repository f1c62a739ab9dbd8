cimport cython

@cython.final
cdef class AddressGenerator:
    cdef readonly long arrays
    cdef readonly long line_bytes
    cdef readonly long line_bits
    cdef long[::1] starts
    cdef long[::1] bits
    cdef long[::1] lines
    cdef long[::1] ends

    @cython.locals(number=long)
    cpdef want(self, long first, long end)
    @cython.locals(number=long, bits=long)
    cpdef extend(self, long items, bint ended)
    @cython.locals(chosen=long, fewest=long, number=long, whole=long)
    cpdef long next_array(self) noexcept
    cpdef long address(self, long number) noexcept
    cpdef int pass_line(self, long number) noexcept
    @cython.locals(left=long, number=long)
    cpdef long left(self) noexcept
    @cython.locals(whole=long, number=long)
    cpdef long whole_items(self, long end) noexcept
