from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long NEVER, READ, READ_BURST, WRITE, WRITE_BURST, WRITE_THROUGH, TENSOR_SHIFT, TENSORS

cdef class SimpleMemory(Component):
    cdef readonly object specification
    cdef long _parts, _per_byte, _size, _latency, _request_bytes, _burst_bytes, _capacity
    cdef long[::1] _due, _tag, _address, _arrival
    cdef long _head, _count, _free, _free_part
    cdef long _reads, _writes, _read_latency
    cdef long[::1] _read_bytes, _write_bytes
    cdef public Channel requests, replies
    cdef public object on_request

    cpdef long tick(self, long now) except? -2
    cdef bint _can_begin(self, long now) noexcept
    cdef int _begin(self, long now) except -1
    cdef void _transfer(self, long now) noexcept
    cdef int _refuse(self, str fault) except -1
    cdef void _remember(self, long address, long now) noexcept
    cdef int _reply(self, long now) except -1
    cdef long _rest(self, long now) noexcept
