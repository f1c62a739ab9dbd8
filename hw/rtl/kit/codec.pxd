cimport cython

cdef long FRACTION, LEADING, BIAS, SPECIAL, SIGN

@cython.final
cdef class Codec:
    cdef readonly long width
    cdef readonly unsigned long mask
    cdef readonly unsigned long sign
    cdef long _fraction
    cdef long _bias

    cpdef bint fits(self, long number)
    cpdef unsigned long encode(self, long number)
    cpdef long decode(self, unsigned long bits)
    @cython.locals(exponent=long, fraction=long, lost=long, magnitude=long)
    cdef long _narrowed(self, long number)
    @cython.locals(exponent=long, fraction=long, number=long)
    cdef long _widened(self, long bits)
