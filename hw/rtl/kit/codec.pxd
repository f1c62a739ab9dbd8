cimport cython

cdef long FRACTION, LEADING, BIAS, SPECIAL, SIGN

@cython.final
cdef class Codec:
    cdef readonly long width
    cdef readonly unsigned long mask
    cdef readonly unsigned long sign
    cdef long _fraction
    cdef bint _whole
    cdef long _bias

    cpdef bint fits(self, long number)
    cpdef unsigned long encode(self, long number)
    cpdef long decode(self, unsigned long bits)
    @cython.locals(exponent=long, lost=long, fraction=long, magnitude=long)
    cdef long _integer(self, long number)
    @cython.locals(number=long, magnitude=long, exponent=long, found=long)
    cdef long _double(self, unsigned long bits)
    @cython.locals(exponent=long, fraction=long, lost=long, magnitude=long)
    cdef long _narrowed(self, long number)
    @cython.locals(exponent=long, fraction=long, number=long)
    cdef long _widened(self, long bits)
