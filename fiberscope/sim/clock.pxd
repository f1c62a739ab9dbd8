# Written by hand: C inlines `wake` and `pop`.
cimport cython

from fiberscope.sim cimport raw_words

cdef long ONE, SLOTS, BITS, SHIFT, MAX_TIME

cdef class Schedule:
    cdef readonly str name
    cdef dict agenda
    cdef object agenda_cycles
    cdef long agenda_cycle
    cdef long _word, _last_word, _bits, _base
    cdef long[::1] occupied
    cdef public long period
    cdef readonly long cycle
    cdef readonly long time
    cdef readonly long words
    cdef long[::1] wheel

    cdef int _take_agenda(self, long cycle) except -1
    cdef void _mark(self, long index, long cycle) noexcept
    cpdef int wake_far(self, long index, long cycle) except -1
    cpdef long next_cycle(self) noexcept
    cpdef int advance(self, long cycle) except -1

@cython.final
cdef class Clock(Schedule):
    cdef readonly object hertz
    cdef readonly long due
    cdef readonly long due_cycle

    cpdef long next_wake(self) noexcept
    cpdef long next_edge(self) noexcept

    cdef inline int wake(self, long index, long cycle) except -1:
        if cycle - self.cycle < 256:
            self._mark(index, cycle)
        else:
            self.wake_far(index, cycle)

    cdef inline void _mark(self, long index, long cycle) noexcept:
        cdef long slot = cycle & 255
        self.wheel[slot * self.words + (index >> 5)] |= <long>1 << (index & 31)
        self.occupied[slot >> 5] |= <long>1 << (slot & 31)

    cdef inline long pop(self) noexcept:
        cdef long bits
        while self._bits == 0:
            if self._word == self._last_word:
                return -1
            self._bits = self.wheel[self._word]
            self.wheel[self._word] = 0
            self._word += 1
            self._base += 32
        bits = self._bits
        self._bits = bits & (bits - 1)
        return self._base + raw_words.lowest_bit(bits)
