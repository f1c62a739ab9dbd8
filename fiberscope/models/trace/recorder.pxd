cimport cython

from fiberscope.models.trace.line_table cimport LineTable

cdef long NONE, FIBER_BITS, WRITTEN, PASSING

cdef class Recorder:
    cdef readonly long elements_per_line
    cdef readonly long shape
    cdef readonly long evict_level

    cpdef int touch(self, long fiber, long position, bint write, long group) except -1
    cpdef long line_of(self, long fiber, long position) noexcept

@cython.final
cdef class Room:
    cdef readonly long lines
    cdef public long held

cdef class Buffet(Recorder):
    cdef readonly long lines_read
    cdef readonly long lines_written
    cdef long group
    cdef long last_line
    cdef long last
    cdef LineTable table
    cdef Room room
    cdef long size
    cdef long kept
    cdef unsigned char[::1] states

    @cython.locals(line=long)
    cpdef int touch(self, long fiber, long position, bint write, long group) except -1
    @cython.locals(known=long)
    cdef int _meet(self, long line, bint write, long group) except -1
    cdef int _drain(self) except -1
    cdef int _begin(self, bint write) except -1
    @cython.locals(room=Room)
    cdef bint _keeps(self) noexcept
    cdef void _read(self, bint write) noexcept

cdef class EagerBuffet(Buffet):
    cdef long[::1] footprints

    cpdef int touch(self, long fiber, long position, bint write, long group) except -1
