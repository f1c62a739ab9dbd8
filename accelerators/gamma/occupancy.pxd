cimport cython

from fiberscope.accelerators.gamma.tasks cimport TaskTable

cdef long NO_PARENT

@cython.final
cdef class PartialOccupancy:
    cdef TaskTable table
    cdef long[::1] bounds
    cdef readonly long columns
    cdef readonly long room
    cdef long line_bytes
    cdef long element_bytes
    cdef readonly long lines
    cdef readonly long most_lines
    cdef long[::1] leaves
    cdef readonly long ending

    cpdef bint admits(self, long task) except -1
    cpdef begin(self, long task)
    cpdef end(self, long task)
    cpdef long bound(self, long task) except -1
    cdef bint _merges(self, long task) noexcept
    cdef long _merged(self, long task) noexcept
    cdef long _lines(self, long elements) noexcept
