# Written by hand: C inlines the methods, and the first fields share one cache line of the host.
cimport cython

from fiberscope.sim cimport raw_words
from fiberscope.sim.clock cimport Clock

cdef int CONTROL, COORDINATE, REFERENCE, ARRIVAL, VALUE, WORDS, FIRST_CAPACITY
cdef long MAX_TIME

cdef class Fifo:
    # One cache line of the host for the writer's fields
    cdef Clock _writer_clock
    cdef long _pop_time
    cdef readonly int occupancy
    cdef readonly int capacity
    cdef int _popped
    cdef int _wanted_slots
    cdef readonly bint bounded
    cdef char _one_clock
    cdef char _stamped
    cdef char _marked
    # The next cache line for the reader's fields
    cdef long _seen_from
    cdef Clock _reader_clock
    cdef readonly long pops
    cdef int _head
    cdef readonly int latency
    cdef readonly int _writer_index
    cdef readonly int _reader_index
    cdef double* _values
    cdef long* _words
    cdef long* _board
    cdef public int reader_state
    cdef public int writer_state
    cdef public int any_reader_state
    cdef public int any_writer_state
    cdef readonly str name
    cdef readonly object protocol
    cdef long* _stamps
    cdef object _stamp_memory
    cdef object _board_memory
    cdef unsigned char* _mark
    cdef object _mark_memory
    cdef object _memory
    cdef long _stamp_mask
    cdef long[3] _rest  # so that the next object begins with a line, too

    cpdef attach(self, Clock writer, long writer_index, Clock reader, long reader_index)
    cdef long _free(self) noexcept
    cdef long _arrival(self, long cycle) noexcept
    cpdef tuple token(self, long position)
    cpdef int show_on(self, object board, long index) except -1
    cpdef int mark_in(self, object marks, long index) except -1
    cpdef int widen(self, int capacity) except -1
    cdef int _allocate(self, long tokens) except -1
    cpdef int let_reader_ahead(self) except -1
    cpdef long free_from(self, long slots) noexcept
    cdef long _held_back(self) noexcept
    cdef long _stamp(self, long age) noexcept
    cdef int _wake_when_free(self) except -1
    cdef int _wake_writer(self) except -1
    cdef long _next_writer_cycle(self) noexcept
    cdef int _grow(self) except -1
    cdef int _overflow(self) except -1
    cdef int _refuse_pop(self) except -1

@cython.final
cdef class Channel(Fifo):
    cdef inline bint can_push(self) noexcept:
        return self.fits(1)

    cdef inline bint fits(self, long tokens) noexcept:
        if self._free() >= tokens or not self.bounded:
            return True
        self.want(tokens)
        return False

    cdef inline long space(self) noexcept:
        if not self.bounded:
            return 1152921504606846976
        cdef long free_slots = self._free()
        self.want(free_slots + 1)
        return free_slots

    cdef inline long free(self) noexcept:
        return self._free()

    cdef inline bint popped_now(self) noexcept:
        return self._pop_time == self._reader_clock.time

    cdef inline long _free(self) noexcept:
        if self._pop_time >= self._writer_clock.time:
            return self.capacity - self.occupancy - self._held_back()
        return self.capacity - self.occupancy

    cdef inline int want(self, long slots) except -1:
        self._wanted_slots = slots
        if self._pop_time >= self._writer_clock.time:
            self._wake_writer()

    cdef inline int push(self, long control, long coordinate=0, long reference=0, double value=0.0) except -1:
        if self._free() <= 0:
            self._overflow()
        self.push_at(self._writer_clock.cycle, control, coordinate, reference, value)
        if self._pop_time >= self._writer_clock.time:
            self._wake_writer()

    cdef inline int push_at(self, long cycle, long control, long coordinate, long reference, double value) except -1:
        cdef long tail = self._head + self.occupancy
        if tail >= self.capacity:
            tail -= self.capacity
        cdef long arrival = self._arrival(cycle)
        self._words[5 * tail + 0] = control
        self._words[5 * tail + 1] = coordinate
        self._words[5 * tail + 2] = reference
        self._words[5 * tail + 3] = arrival
        self._values[5 * tail + 4] = value
        if self.occupancy == 0:
            self._seen_from = arrival
            self._board[0] = arrival
        self.occupancy += 1
        if self._marked:
            self._mark[0] = 1
        self._reader_clock.wake(self._reader_index, arrival)

    cdef inline long _arrival(self, long cycle) noexcept:
        if self._one_clock:
            return cycle + self.latency
        cdef long time = (cycle + self.latency) * self._writer_clock.period
        return (time + self._reader_clock.period - 1) // self._reader_clock.period

    cdef inline bint can_pop(self) noexcept:
        return self._seen_from <= self._reader_clock.cycle

    cdef inline long control(self) noexcept:
        return self._words[5 * self._head + 0]

    cdef inline long coordinate(self) noexcept:
        return self._words[5 * self._head + 1]

    cdef inline long reference(self) noexcept:
        return self._words[5 * self._head + 2]

    cdef inline double value(self) noexcept:
        return self._values[5 * self._head + 4]

    cdef inline int pop(self) except -1:
        if not self.can_pop():
            self._refuse_pop()
        self._head += 1
        if self._head == self.capacity:
            self._head = 0
        if self._pop_time == self._reader_clock.time:
            self._popped += 1
        else:
            self._pop_time = self._reader_clock.time
            self._popped = 1
        self.occupancy -= 1
        if self._marked:
            self._mark[0] = 1
        self._seen_from = self._words[5 * self._head + 3] if self.occupancy > 0 else 1152921504606846976
        self._board[0] = self._seen_from
        self.pops += 1
        if self._stamped:
            self._stamps[(self.pops - 1) & self._stamp_mask] = self._reader_clock.cycle
        self._wake_writer()

    cdef inline int _wake_writer(self) except -1:
        cdef long free_slots = self.capacity - self.occupancy
        if self._stamped:
            self._wake_when_free()
        elif free_slots - self._popped < self._wanted_slots <= free_slots:
            self._writer_clock.wake(self._writer_index, self._next_writer_cycle())

    cdef inline long _next_writer_cycle(self) noexcept:
        if self._one_clock:
            return self._writer_clock.cycle + 1
        return self._pop_time // self._writer_clock.period + 1
