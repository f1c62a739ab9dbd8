# Written by hand: review every change of the simulation's inner loop.
cimport cython

from fiberscope.sim cimport inline
from fiberscope.sim.clock cimport Clock
from fiberscope.sim.component cimport Component

cdef long MAX_TIME, NEVER, DRAINED, LIMIT, STOPPED, INTERRUPTED, SLICE_END
cdef int IDLE

cdef class Kernel:
    cdef readonly object order_seed
    cdef readonly bint sleeps
    cdef readonly list clocks
    cdef readonly list components
    cdef readonly object wiring
    cdef readonly object tracer
    cdef readonly bint built
    cdef readonly long time
    cdef long _worked
    cdef readonly long ticks
    cdef readonly long steps
    cdef readonly object base_hertz
    cdef object _standstill
    cdef list _ordered
    cdef list _deferring
    cdef list _domains
    cdef list _ticked
    cdef long _ticking
    cdef int _state_before
    cdef bint _tracing
    cdef long _trace_switch
    cdef long _trace_end
    cdef bint _stop
    cdef bint _interrupted
    cdef long _limit

    cdef long _run_slice(self, long until) except -1
    cpdef long _advance(self, long until, long steps) except -1
    @cython.final
    cdef long _run_time_steps(self, long until, long steps) except -1
    @cython.final
    cdef int _end_at(self, object error, Component component) except -1
    @cython.final
    cdef long _next_time(self) noexcept
    @cython.final
    cdef int _run_time_step(self, long time) except -1
    @cython.final
    cdef int _tick_domain(self, Clock clock) except -1
    @cython.final
    cdef int _wake_all(self, Clock clock, long cycle) except -1
    @cython.final
    cdef int _sample(self, long time) except -1
    @cython.final
    cdef int _switch_tracing(self, long time) except -1

