# By hand: instructions of the processor and pointers, which Python has none of.
cdef extern from *:
    int __builtin_ctzll(unsigned long long bits) nogil
    int __builtin_clzll(unsigned long long bits) nogil
    int __builtin_popcountll(unsigned long long bits) nogil

cdef inline long lowest_bit(long bits) noexcept:
    return __builtin_ctzll(bits)

cdef inline long highest_bit(unsigned long bits) noexcept:
    return 63 - __builtin_clzll(bits)

cdef inline long ones(long bits) noexcept:
    return __builtin_popcountll(bits)

cdef inline double* doubles(long[::1] memory) noexcept:
    return <double*>&memory[0]

cdef inline long* longs(long[::1] memory) noexcept:
    return &memory[0]

cdef inline short* shorts(short[::1] memory) noexcept:
    return &memory[0]
