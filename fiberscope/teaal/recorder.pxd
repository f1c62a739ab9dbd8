cimport cython

from fiberscope.teaal.line_table cimport LineTable

cdef long NONE, FIBER_BITS

cdef class Recorder:
    cdef readonly long elements_per_line
    cdef readonly long shape
    cdef readonly long evict_level

    cpdef int touch(self, long fiber, long position, bint write, long group) except -1
    cpdef long line_of(self, long fiber, long position) noexcept

cdef class Buffet(Recorder):
    cdef readonly long lines_read
    cdef readonly long lines_written
    cdef long group
    cdef long last_line
    cdef long last
    cdef LineTable table
    cdef unsigned char[::1] dirty

    @cython.locals(line=long)
    cpdef int touch(self, long fiber, long position, bint write, long group) except -1
    @cython.locals(known=long)
    cdef int _meet(self, long line, bint write, long group) except -1
    cdef int _begin(self, bint write) except -1

cdef class EagerBuffet(Buffet):
    cdef long[::1] footprints

    @cython.locals(before=long)
    cpdef int touch(self, long fiber, long position, bint write, long group) except -1
