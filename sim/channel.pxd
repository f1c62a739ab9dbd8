cimport cython

from sim cimport schedule
from sim.clock cimport Clock

cdef int CONTROL, COORDINATE, REFERENCE, ARRIVAL, WORDS

@cython.final
cdef class Channel:
    cdef readonly str name
    cdef readonly object protocol
    cdef readonly long capacity
    cdef readonly long latency
    cdef readonly long occupancy
    cdef readonly long pushes
    cdef readonly long pops
    cdef public int reader_state
    cdef public int writer_state
    cdef public int any_reader_state
    cdef public int any_writer_state
    cdef Clock _writer_clock
    cdef Clock _reader_clock
    cdef long _writer_index
    cdef long _reader_index
    cdef bint _one_clock
    cdef long _head
    cdef long[::1] _words
    cdef double[::1] _values
    cdef long _popped
    cdef long _pop_time
    cdef long _wanted

    cpdef attach(self, Clock writer, long writer_index, Clock reader, long reader_index)
    cpdef bint can_push(self) noexcept
    cpdef long space(self) noexcept
    cdef long _free(self) noexcept
    cpdef int want(self, long slots) except -1
    cpdef int push(self, long control, long coordinate=*, long reference=*, double value=*) except -1
    cdef long _arrival(self) noexcept
    cpdef bint can_pop(self) noexcept
    cpdef long control(self) noexcept
    cpdef long coordinate(self) noexcept
    cpdef long reference(self) noexcept
    cpdef double value(self) noexcept
    cpdef tuple token(self, long place)
    cpdef int pop(self) except -1
    cdef int _wake_writer(self) except -1
