cimport cython

from fiberscope.models.trace.instants cimport Instants
from fiberscope.models.trace.line_table cimport LineTable
from fiberscope.models.trace.recorder cimport Recorder

cdef long READ, WRITE, PINNED, KIND_BITS, KIND, LINES, NEVER, OWNERS

@cython.final
cdef class AccessList:
    cdef readonly long length
    cdef readonly long lines
    cdef readonly int[::1] accesses
    cdef readonly unsigned char[::1] owners

    cpdef long add_line(self, long owner) except -1
    cpdef int add(self, long line, long kind) except -1
    cpdef int clear(self) except -1

cdef class CacheFeed(Recorder):
    cdef AccessList cache
    cdef readonly long owner
    cdef long last_line
    cdef long last
    cdef int[::1] numbers
    cdef LineTable table

    @cython.locals(line=long, kind=long)
    cpdef int touch(self, long fiber, long position, bint write, long group) except -1
    @cython.locals(known=long, number=long)
    cdef int _meet(self, long line) except -1
    @cython.locals(number=long)
    cdef int _number_new(self) except -1

@cython.final
cdef class BeladyCache:
    cdef readonly long capacity
    cdef readonly long[::1] lines_read
    cdef readonly long[::1] lines_written
    cdef int[::1] accesses
    cdef unsigned char[::1] owners
    cdef int[::1] next_uses
    cdef Instants uses
    cdef unsigned char[::1] dirty

    @cython.locals(now=long)
    cpdef int replay(self, AccessList listed) except -1
    @cython.locals(line=long, kind=long, after=long, held=bint)
    cdef int _access(self, long now) except -1
    @cython.locals(last=long)
    cdef bint _make_room(self, long after) noexcept
    cdef void _leave(self, long line) noexcept

@cython.locals(following="int[::1]", uses="int[::1]", accesses="int[::1]", now=long, line=long)
cdef object _next_uses(AccessList listed)
