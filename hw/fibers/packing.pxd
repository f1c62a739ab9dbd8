cimport cython

@cython.final
cdef class LinePacker:
    cdef readonly long line_bytes
    cdef readonly long element_bytes
    cdef readonly long bytes

    cpdef void begin(self) noexcept
    cpdef bint fills(self) noexcept
    cpdef bint begun(self) noexcept
    cpdef long line(self) noexcept
    cpdef void add(self) noexcept
