cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim cimport words
from fiberscope.sim.component cimport Component

cdef long DATA, STOP
cdef long COLLECTING, TELLING, WAITING, SCANNING, ENDING
cdef unsigned long ONE

cdef class TouchedBitmap(Component):
    cdef readonly long bits
    cdef readonly long width
    cdef readonly long block
    cdef readonly unsigned long[::1] contents
    cdef readonly long word_count
    cdef readonly long phase
    cdef long through
    cdef readonly long count
    cdef readonly long word
    cdef long looks
    cdef readonly long set_tokens
    cdef readonly long words_done
    cdef readonly long bits_found
    cdef long writers
    cdef long readers
    cdef signed char[::1] ended
    cdef public list sets
    cdef public Channel ready
    cdef public Channel scans
    cdef public list found

    @cython.locals(full=long)
    cpdef long tick(self, long now) except? -2
    @cython.final
    @cython.locals(moved=bint, writer=long, source=Channel)
    cdef long _collect(self, long now) except? -2
    @cython.final
    @cython.locals(number=long, bit=long, word=long)
    cdef int _set(self, long writer, Channel source) except -1
    @cython.final
    cdef long _tell(self, long now) except? -2
    @cython.final
    cdef long _begin(self, long now) except? -2
    @cython.final
    @cython.locals(word=long)
    cdef void _clear(self) noexcept
    @cython.final
    @cython.locals(reader=long, sink=Channel)
    cdef long _full(self) noexcept
    @cython.final
    @cython.locals(word=long)
    cdef long _empty_words(self) noexcept
    @cython.final
    cdef long _pass_by(self, long now, long count) noexcept
    @cython.final
    @cython.locals(left="unsigned long")
    cdef long _give(self, long now) except? -2
    @cython.final
    @cython.locals(reader=long, sink=Channel)
    cdef int _send(self, long kind, long bit) except -1
    @cython.final
    @cython.locals(writer=long)
    cdef long _end(self, long now) except? -2
