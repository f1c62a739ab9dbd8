from fiberscope.hw.dram.address cimport Decoder
from fiberscope.hw.dram.controller cimport Controller
from fiberscope.hw.dram.returns cimport Returns
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long FAR, NEVER, READ, READ_BURST, WRITE, WRITE_BURST, WRITE_THROUGH, TENSOR_SHIFT, TENSORS, READS, WRITES, OPENED

cdef class DramChannel(Component):
    cdef readonly object specification
    cdef long _bursts, _burst_shift, _request_bytes, _requests_per_cycle, _interleave, _stride
    cdef long _read_queue, _write_queue, _burst_bytes, _asked, _asked_bytes
    cdef Decoder _decoder
    cdef Returns _returns
    cdef Controller _controller
    cdef public Channel requests, replies
    cdef public object on_request
    cdef long _reads, _writes, _forwarded, _coalesced, _read_latency
    cdef long[::1] _read_bytes, _write_bytes

    cpdef long tick(self, long now) except? -2
    cdef long _rest(self, long now, bint again) noexcept
    cdef bint _take_requests(self, long now) except -1
    cdef bint _take(self, long now) except -1
    cdef int _refuse(self, str fault) except -1
    cdef void _measure(self, long operation) noexcept
    cdef long _local(self, long address) noexcept
    cdef long _new_lines(self, long first) noexcept
    cdef bint _take_read(self, long first, long address, long tensor, long now) except -1
    cdef bint _take_write(self, long first, long tensor, long now) except -1
    cdef int _reply(self, long now) except -1
