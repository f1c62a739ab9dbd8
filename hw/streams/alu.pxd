cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim cimport inline
from fiberscope.sim.channel cimport Channel

cdef long CLEAN, Q13, DATA, DONE, EMPTY, INTEGER, STOP, NEITHER
cdef long MULTIPLY, ADD, SUBTRACT, DIVIDE, MAXIMUM, MINIMUM, EXP, SIN, COS, SQRT, ABSOLUTE, NEGATE, SQUARE, TAKE

cdef double _function(long code, double operand) except? -3.0

cdef class Arithmetic(StreamBlock):
    cdef readonly str operation
    cdef readonly long operations
    cdef long code

    @cython.final
    @cython.locals(code=long)
    cdef double compute(self, double one, double other) except? -3.0

cdef class Alu(Arithmetic):
    cdef double sign_a
    cdef double sign_b
    cdef bint knows_integers
    cdef readonly long kept
    cdef readonly long kept_level
    cdef public list in_val
    cdef Channel a
    cdef Channel b
    cdef public OutputStream out_val

    @cython.locals(a=Channel, b=Channel, kind_a=long, kind_b=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    @cython.locals(a=double, b=double, integers=long)
    cdef int _operate(self, long kind_a, long kind_b) except -1
    @cython.final
    @cython.locals(level_a=long, level_b=long)
    cdef int _pass_stop(self, long now) except -1
    @cython.final
    cdef int _take(self) except -1
    @cython.final
    @cython.locals(number=Channel, stopped=long, level=long, integer=bint)
    cdef long _meet_stop(self, long kind_a, long kind_b, long now) except? -2
    @cython.final
    cdef long _stop_level(self, long operand) except? -2
    @cython.final
    cdef str _written(self, Channel channel, bint kept)
    @cython.final
    cdef int _refuse(self, str one, str other, long now) except -1

cdef class UnaryAlu(Arithmetic):
    cdef double constant
    cdef bint constant_first
    cdef public Channel in_val
    cdef public OutputStream out_val

    @cython.locals(source=Channel, kind=long, value=double)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef double _computed(self, double value) except? -3.0
