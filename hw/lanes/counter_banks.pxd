cimport cython

from fiberscope.hw.lanes cimport channels as lanes
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP, EMPTY
cdef long FETCH, SCAN, READ, WAITING

cdef class CounterBanks(Component):
    cdef readonly long[::1] contents
    cdef readonly long counter_count
    cdef readonly long lanes
    cdef readonly long sweep_lanes
    cdef readonly long fetch_lanes
    cdef readonly long command
    cdef long free
    cdef long ends
    cdef bint holding
    cdef bint moved
    cdef long[::1] kinds
    cdef long[::1] indices
    cdef long[::1] before
    cdef double[::1] values
    cdef long[::1] clusters
    cdef long swept
    cdef long length
    cdef bint sent
    cdef long summed
    cdef readonly long sum
    cdef readonly long reads
    cdef readonly long writes
    cdef readonly long conflicts
    cdef public Channel commands
    cdef public list updates
    cdef public list fetches
    cdef public list slots
    cdef public list counts
    cdef public list starts
    cdef public list stored

    @cython.locals(full=long)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _begin(self) except -1
    @cython.final
    cdef int _check_command(self) except -1
    @cython.final
    @cython.locals(sources=list, missing=long)
    cdef long _update(self, long now) except? -2
    @cython.final
    @cython.locals(cycles=long, previous=long, rank=long, bank=long, lane=long, source=Channel)
    cdef long _row_cycles(self, list sources) except -1
    @cython.final
    cdef int _check(self, long index, long rank, long previous, long next_rank) except -1
    @cython.final
    @cython.locals(ended=bint, lane=long, source=Channel, index=long)
    cdef bint _take(self, list sources) except -1
    @cython.final
    @cython.locals(lane=long, sink=Channel)
    cdef int _send_slots(self) except -1
    @cython.final
    @cython.locals(sinks=list, full=long, sends=bint, missing=long)
    cdef long _sweep(self, long now) except? -2
    @cython.final
    @cython.locals(clears=bint, lane=long, sink=Channel)
    cdef int _send_counters(self, list sinks) except -1
    @cython.final
    @cython.locals(lane=long, source=Channel)
    cdef int _store(self) except -1
