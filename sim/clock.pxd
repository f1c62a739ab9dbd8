cimport cython

cdef long ONE, SLOTS, BITS, FAR

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
    cdef object agenda
    cdef long agenda_cycle
    cdef long _first_word, _word, _last_word

    cpdef int wake(self, long index, long cycle) except -1
    cdef int wake_far(self, long index, long cycle) except -1
    cpdef long next_cycle(self) noexcept
    cpdef long next_wake(self) noexcept
    cpdef long next_edge(self) noexcept
    cpdef int advance(self, long cycle) except -1
    cpdef long pop(self) noexcept

from sim cimport schedule  # behind the class, over which its functions are
