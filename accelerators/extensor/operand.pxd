cimport cython

@cython.final
cdef class TiledOperand:
    cdef readonly long[::1] tile_rows
    cdef readonly long[::1] row_microtiles
    cdef readonly long[::1] microtile_k
    cdef readonly long[::1] microtile_fibers
    cdef readonly long[::1] fiber_coordinates
    cdef readonly long[::1] fiber_elements
    cdef readonly long[::1] element_k
    cdef readonly double[::1] values
    cdef readonly long[::1] microtile_bytes
    cdef readonly object tree
    cdef readonly object tile_bytes
