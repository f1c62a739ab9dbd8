cimport cython

cdef long ONE, SLOTS, BITS, FAR, DE_BRUIJN, LOW_WORD
cdef long[::1] POSITION

@cython.final
cdef class Clock:
    cdef readonly str name
    cdef readonly object hertz
    cdef public long period
    cdef readonly long cycle
    cdef readonly long time
    cdef readonly long words
    cdef readonly long due
    cdef long[::1] wheel
    cdef long[::1] occupied
    cdef list agenda
    cdef long agenda_cycle
    cdef long _first_word, _word, _last_word

    cpdef int wake(self, long index, long cycle) except -1
    cdef void _mark(self, long index, long cycle) noexcept
    cpdef long next_cycle(self) noexcept
    cpdef long next_wake(self) noexcept
    cpdef long next_edge(self) noexcept
    cpdef int advance(self, long cycle) except -1
    cpdef long pop(self) noexcept

cdef long lowest_bit(long bits) noexcept
