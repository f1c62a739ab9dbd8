cimport cython

@cython.final
cdef class Vertices:
    cdef readonly long count
    cdef public double[::1] properties
    cdef public double[::1] sent
    cdef public double[::1] temporary
    cdef public long[::1] degrees

@cython.final
cdef class Edges:
    cdef list _slices
    cdef readonly int[::1] destinations
    cdef readonly long first_weight
    cdef readonly long[::1] pointers

@cython.final
cdef class Frontier:
    cdef readonly long count
    cdef readonly long next_count
    cdef readonly long[::1] vertices
    cdef readonly long[::1] next_vertices
    cdef readonly double[::1] properties
    cdef readonly double[::1] next_properties

    cpdef int add(self, long vertex, double value) except -1
