cimport cython

@cython.final
cdef class SortedHeads:
    cdef readonly long radix
    cdef readonly long steps
    cdef long filled
    cdef long[::1] keys
    cdef long[::1] coordinates
    cdef long[::1] merged
    cdef long[::1] bounds
    cdef long[::1] places

    @cython.locals(merge=long, first=long, last=long)
    cpdef int sort_all(self, long[::1] segments, long[::1] starts, long[::1] coordinates) except -1
    cdef int _allocate(self, long[::1] segments, long[::1] starts) except -1
    @cython.locals(base=long, place=long)
    cdef int _load(self, long first, long last, long[::1] starts, long[::1] coordinates) except -1
    @cython.locals(radix=long, groups=long, group=long, first=long, last=long)
    cdef int _sort(self, long lists) except -1
    @cython.locals(width=long, place=long, out=long, key=long)
    cdef int _merge(self, long first, long last) except -1
    @cython.locals(key=long, slot=long)
    cdef void _push(self, long first, long width, long place) noexcept
