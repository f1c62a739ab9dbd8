cimport cython

@cython.final
cdef class Decoder:
    cdef readonly long bank
    cdef readonly long row
    cdef bint _fold
    cdef long _low_shift, _low_bits, _high_shift, _high_bits
    cdef long _pseudo_shift, _pseudo_bits, _group_shift, _group_bits, _bank_shift, _bank_bits, _row_shift

    cpdef int decode(self, long address) except -1
    cdef long _column(self, long address) noexcept

cdef long _slice(long value, long shift, long bits) noexcept
