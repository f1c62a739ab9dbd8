cimport cython

from fiberscope.accelerators.extensor.operand cimport TiledOperand
from fiberscope.accelerators.extensor.output cimport OutputRow
from fiberscope.hw.fibers.intersection cimport FiberIntersection
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long HALVES, TILE

cdef class Dispatcher(Component):
    cdef TiledOperand a
    cdef TiledOperand b
    cdef list output_rows
    cdef long intersectors
    cdef long microtile
    cdef long halves
    cdef long height
    cdef long width
    cdef readonly long pairs
    cdef readonly long closed
    cdef readonly long freed
    cdef long taken
    cdef long[::1] marks
    cdef long half
    cdef long[::1] held
    cdef readonly bint open
    cdef readonly long products
    cdef long work
    cdef long row
    cdef long last_row
    cdef long first_column
    cdef long column
    cdef long last_column
    cdef readonly list lanes
    cdef long[::1] lane_row
    cdef long[::1] lane_column
    cdef long[::1] row_left
    cdef long[::1] row_products
    cdef readonly long working
    cdef bint all_full
    cdef long elements
    cdef long[::1] served
    cdef long[::1] long_until
    cdef public Channel loaded
    cdef public Channel drained
    cdef public list tasks
    cdef public Channel rows
    cdef public Channel released

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _between_pairs(self, long now) except? -2
    @cython.final
    cdef long _free_half(self) noexcept
    @cython.final
    @cython.locals(tasks=Channel)
    cdef int _close_pair(self) except -1
    @cython.final
    @cython.locals(tasks=Channel)
    cdef bint _release(self) except -1
    @cython.final
    cdef int _begin(self, long half) except -1
    @cython.final
    @cython.locals(both=FiberIntersection)
    cdef bint _step(self, long lane, long now) except -1
    @cython.final
    @cython.locals(both=FiberIntersection)
    cdef int _assign(self, long lane) except -1
    @cython.final
    @cython.locals(output_row=OutputRow)
    cdef int _visit(self, long lane) except -1
    @cython.final
    @cython.locals(both=FiberIntersection, tasks=Channel)
    cdef bint _deliver(self, long lane, long now) except -1
    @cython.final
    cdef int _leave(self, long lane) except -1
    @cython.final
    @cython.locals(tasks=Channel)
    cdef long _element_for(self, long microtile, long now) except -2
    @cython.final
    cdef int _note_work(self, long element, long work, long now) except -1
    @cython.final
    cdef long _work(self, long a, long b) noexcept
