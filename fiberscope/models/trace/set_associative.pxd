cimport cython

from fiberscope.models.trace.belady cimport AccessList
from fiberscope.hw.memory.tags cimport Sets, TagStore

cdef long READ, WRITE, KIND_BITS, KIND, OWNERS, REUSE

@cython.final
cdef class SetAssociativeCache:
    cdef readonly long ways
    cdef Sets sets
    cdef TagStore tags
    cdef readonly long[::1] lines_read
    cdef readonly long[::1] lines_written
    cdef int[::1] accesses
    cdef unsigned char[::1] owners

    @cython.locals(now=long, place=long)
    cpdef int replay(self, AccessList listed) except -1
    @cython.locals(of=long, place=long)
    cdef int _access(self, long line, long kind) except -1
    @cython.locals(place=long)
    cdef long _bring(self, long of, long line, long kind) except -1
    cdef void _write_back(self, long place) noexcept
