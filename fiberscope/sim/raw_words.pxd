# Written by hand: processor instructions and pointers, which Python lacks.
cdef extern from *:
    """
    typedef unsigned __int128 fiberscope_mask;

    static inline fiberscope_mask fiberscope_joined(long low, long high) {
        return (fiberscope_mask)(unsigned long)high << 64 | (unsigned long)low;
    }
    static inline unsigned long fiberscope_fours(unsigned long bits) {
        bits -= bits >> 1 & 0x5555555555555555;
        return (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
    }
    static inline long fiberscope_turns(long low_a, long high_a, long low_b, long high_b) {
        fiberscope_mask a = fiberscope_joined(low_a, high_a), b = fiberscope_joined(low_b, high_b);
        fiberscope_mask gaps = ~(a | b), behind_a = a << 1, behind_b = b << 1;
        fiberscope_mask turns = ((gaps + (behind_a & gaps) | behind_a) & b) | ((gaps + (behind_b & gaps) | behind_b) & a);
        unsigned long fours = fiberscope_fours(turns) + fiberscope_fours(turns >> 64);
        fours = (fours & 0x0F0F0F0F0F0F0F0F) + (fours >> 4 & 0x0F0F0F0F0F0F0F0F);
        return fours * 0x0101010101010101 >> 56;
    }
    #define fiberscope_copy_16(target, source) __builtin_memcpy(target, source, 16)
    """
    long turns "fiberscope_turns"(long low_a, long high_a, long low_b, long high_b) noexcept nogil
    void fiberscope_copy_16(unsigned char* target, unsigned char* source) noexcept nogil
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

cdef inline long* longs_from(long[::1] memory, long start) noexcept:
    return &memory[start]

cdef inline short* shorts(short[::1] memory) noexcept:
    return &memory[0]

cdef inline unsigned char* octets_from(long[::1] memory, long place) noexcept:
    return <unsigned char*>&memory[0] + place

cdef inline unsigned char* octets(unsigned char[::1] memory) noexcept:
    return &memory[0]

cdef inline void copy_16(unsigned char* target, long place, unsigned char* source, long first) noexcept:
    fiberscope_copy_16(target + place, source + first)
