cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.growing cimport Growing
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel

cdef long DATA, DONE, EMPTY, INTEGER, LARGEST

cdef class ArrayLoad(StreamBlock):
    cdef readonly double[::1] values
    cdef readonly long size
    cdef readonly long mark
    cdef readonly long mark_of_empty
    cdef readonly long loads
    cdef readonly long addresses
    cdef unsigned char[::1] _seen
    cdef public Channel in_ref
    cdef public OutputStream out_val

    @cython.locals(source=Channel, kind=long, payload=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef int _load(self, long address) except -1

cpdef int check_address(str reader, long address, long size) except -1
