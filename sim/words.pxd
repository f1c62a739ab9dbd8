cdef extern from *:
    int __builtin_ctzll(unsigned long long bits) nogil

cdef inline long lowest_bit(long bits) noexcept:
    return __builtin_ctzll(bits)
