cimport cython

from fiberscope.hw.lanes.pipeline cimport Pipeline
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA

cdef class RowPipeline(Component):
    cdef readonly tuple ports
    cdef readonly long lanes
    cdef readonly Pipeline pipeline
    cdef long[::1] kinds
    cdef long[::1] coordinates
    cdef long[::1] references
    cdef double[::1] values
    cdef readonly long rows
    cdef list inputs
    cdef list outputs

    cpdef long tick(self, long now) except? -2
    cdef bint _can_take(self) noexcept
    cdef bint _prepare(self) except -1
    cdef int _take(self, long place) except -1
    cdef long _wait(self, long shown) except? -2
    @cython.final
    @cython.locals(output=Channel)
    cdef long _full(self) noexcept
    @cython.final
    @cython.locals(source=Channel)
    cdef long _shown(self) noexcept
    @cython.final
    @cython.locals(source=Channel)
    cdef Channel _missing(self)
    @cython.final
    @cython.locals(source=Channel)
    cdef int _enter(self, long place) except -1
    @cython.final
    @cython.locals(output=Channel)
    cdef int _send(self, long first) except -1
    @cython.final
    cdef long _pass_on(self, long now) except? -2

cdef class ArrayPipeline(RowPipeline):
    cdef readonly long width
    cdef readonly long largest
    cdef readonly bint within
    cdef readonly long numbers

    cdef bint _can_take(self) noexcept
    cdef bint _can_begin(self) noexcept
    cdef int _begin(self) except -1
    cdef int _compute(self, long number, long reference, long place) except -1
    cdef long _wait(self, long shown) except? -2
    @cython.locals(source=Channel)
    cdef int _take(self, long place) except -1
    @cython.final
    cdef int _check(self, long number, long lane, long length) except -1

cdef class ConstantPipeline(ArrayPipeline):
    cdef readonly str constants_port
    cdef readonly long constant
    cdef Channel constants

    cdef bint _can_begin(self) noexcept
    cdef int _begin(self) except -1
    cdef long _wait(self, long shown) except? -2
