# Written by hand: it multiplies in 128 bits, a type of C alone.
cimport cython

cdef extern from *:
    """
    typedef unsigned __int128 fiberscope_two_words;
    """
    ctypedef unsigned long long two_words "fiberscope_two_words"

cdef long INDEX, REAL
cdef long MOST_DIGITS, MOST_EXPONENT_DIGITS, FAR_EXPONENT
cdef long LEAST_POWER, MOST_POWER, LEAST_SCALE, BELOW_MANTISSA
cdef unsigned long LOWER_WORD, EXACT_INTEGER
cdef unsigned char TAB, NEWLINE, RETURN, SPACE, PLUS, MINUS, POINT, ZERO, LOWER_E, TO_LOWER

@cython.final
cdef class NumberLines:
    cdef long[::1] kinds
    cdef long width
    cdef const unsigned char[::1] comments
    cdef unsigned long[::1] powers
    cdef double[::1] scales
    cdef const unsigned char[::1] text
    cdef bytes source
    cdef double[::1] numbers
    cdef long at
    cdef unsigned long mantissa
    cdef long significant
    cdef long power
    cdef double value

    @cython.locals(entries=cython.long, line_length=cython.long, length=cython.long)
    cpdef object table(self, bytes text)
    cdef long _line(self, long entry) except -2
    cdef bint _skip_blanks(self) noexcept
    cdef void _skip_comment(self) noexcept
    cdef bint _entry(self, long entry) except -1
    cdef bint _number(self, long kind) except -1
    cdef bint _sign(self, bint minus) noexcept
    @cython.locals(at=cython.long, mantissa=cython.ulong, significant=cython.long)
    cdef long _digits(self) noexcept
    @cython.locals(mantissa=cython.ulong)
    cdef bint _exponent(self) noexcept
    @cython.locals(mantissa=cython.ulong, product=two_words, upper=cython.ulong, below=cython.long, bits=cython.ulong, rest=cython.ulong)
    cdef bint _nearest(self) noexcept
