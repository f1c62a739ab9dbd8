cimport cython

cdef long WORD
cdef unsigned long ONES

@cython.locals(bit=cython.long, value=cython.long, entry=cython.long, run=cython.ulong)
cpdef object unpack_entries(const unsigned long[::1] words, unsigned long[::1] runs, unsigned long[::1] values, long run_bits, long value_bits, long lone)
@cython.locals(at=cython.long, shift=cython.long, found=cython.ulong, result=cython.ulong)
cdef unsigned long _bits_at(const unsigned long[::1] words, long bit, long width) noexcept
