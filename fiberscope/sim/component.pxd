# Written by hand: C inlines the methods that end a tick.
cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.clock cimport Clock

cdef long NEVER
cdef int BUSY, IDLE, FIRST_STALL

cdef class Accounted:
    cdef readonly str name
    cdef public long _index
    cdef readonly int _state
    cdef readonly long _since
    cdef public long[::1] _cycles

    @cython.final
    cdef void _account(self, int state, long cycle) noexcept
    @cython.final
    cdef int _refuse_input(self, Channel channel) except -1
    @cython.final
    cdef int _refuse_output(self, Channel channel) except -1

cdef class Component(Accounted):
    cdef readonly dict _connected
    cdef public Clock _clock

    cpdef long tick(self, long now) except? -2
    cpdef int write_signals(self, long[::1] values) except -1
    cpdef int wake_at(self, long cycle) except -1

    cdef inline long busy(self, long until) noexcept:
        self._state = 0
        return until

    cdef inline long wait_input(self, Channel channel) except? -2:
        if channel is None or channel._reader_index != self._index:
            self._refuse_input(channel)
        self._state = channel.reader_state
        return -1

    cdef inline long wait_output(self, Channel channel) except? -2:
        if channel is None or channel._writer_index != self._index:
            self._refuse_output(channel)
        self._state = channel.writer_state
        return -1

    cdef inline long wait_any_input(self, list channels) except? -2:
        cdef Channel first = channels[0]
        self.wait_input(first)
        self._state = first.any_reader_state
        return -1

    cdef inline long wait_any_output(self, list channels) except? -2:
        cdef Channel first = channels[0]
        self.wait_output(first)
        self._state = first.any_writer_state
        return -1

    cdef inline long idle(self) noexcept:
        self._state = 1
        return -1
