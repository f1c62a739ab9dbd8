from sim.clock cimport Clock

cdef extern from *:
    int __builtin_ctzll(unsigned long long bits) nogil

cdef inline int wake(Clock clock, long index, long cycle) except -1:
    if cycle - clock.cycle < 256:
        mark(clock, index, cycle)
        return 0
    return clock.wake_far(index, cycle)

cdef inline void mark(Clock clock, long index, long cycle) noexcept:
    cdef long slot = cycle & 255
    clock.wheel[slot * clock.words + (index >> 5)] |= (<long>1) << (index & 31)
    clock.occupied[slot >> 5] |= (<long>1) << (slot & 31)

cdef inline long lowest_bit(long bits) noexcept:
    return __builtin_ctzll(bits)

cdef inline long pop(Clock clock) noexcept:
    cdef long bits
    while clock._word < clock._last_word:
        bits = clock.wheel[clock._word]
        if bits:
            clock.wheel[clock._word] = bits & (bits - 1)
            return (clock._word - clock._first_word) * 32 + lowest_bit(bits)
        clock._word += 1
    return -1
