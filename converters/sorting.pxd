cimport cython

from fiberscope.converters.stages cimport LaneStage
from fiberscope.sim.channel cimport Channel

cdef long DATA, STOP, LAST, UNUSED

@cython.final
cdef class Scratchpad:
    cdef readonly long keys
    cdef readonly long banks
    cdef readonly long window
    cdef readonly long items
    cdef readonly long[::1] counters
    cdef readonly long[::1] words
    cdef readonly double[::1] values
    cdef public long first
    cdef public long total
    cdef long[::1] load
    cdef long[::1] touched
    cdef long touches

    cdef bint holds(self, long key) noexcept
    cdef long end(self) noexcept
    @cython.locals(i=long)
    cdef void touch(self, long key) noexcept
    @cython.locals(i=long, fullest=long)
    cdef long fullest(self) noexcept
    @cython.locals(i=long, fullest=long)
    cdef long release(self) noexcept

cdef class Sort(LaneStage):
    cdef long[::1] low
    cdef long[::1] high
    cdef long[::1] keys
    cdef long filled
    cdef readonly long compare_exchanges

    cdef bint _take(self) except -1
    cdef long _flush(self) except -1
    cdef int _close(self) except -1
    @cython.final
    cdef int _send(self) except -1
    @cython.final
    @cython.locals(pair=long, low=long, high=long)
    cdef int _sort(self) except -1

cdef class Cluster(LaneStage):
    cdef readonly long clusters
    cdef long key
    cdef long length
    cdef bint closed

    cdef bint _ready(self) except -1
    @cython.locals(key=long)
    cdef bint _take(self) except -1
    @cython.final
    cdef int _send(self, long last) except -1
    cdef long _flush(self) except -1

cdef class Count(LaneStage):
    cdef readonly Scratchpad scratchpad
    cdef readonly long updates
    cdef readonly long conflicts
    cdef bint closed

    cdef bint _ready(self) except -1
    @cython.locals(key=long, cluster=long)
    cdef bint _take(self) except -1
    @cython.locals(cycles=long)
    cdef long _flush(self) except -1

cdef class Offsets(LaneStage):
    cdef readonly Scratchpad scratchpad
    cdef readonly long network
    cdef readonly long scanned
    cdef readonly long scans

    cdef bint _left(self) except -1
    @cython.locals(count=long)
    cdef int _give(self) except -1

cdef class Scatter(LaneStage):
    cdef readonly Scratchpad scratchpad
    cdef long shift
    cdef long mask
    cdef bint begun
    cdef readonly long scattered
    cdef readonly long conflicts
    cdef readonly long slot
    cdef public Channel begin
    cdef public Channel gate

    cdef bint _step(self) except -1
    cdef bint _ready(self) except -1
    @cython.locals(word=long, key=long)
    cdef bint _take(self) except -1
    @cython.locals(cycles=long)
    cdef long _flush(self) except -1
    @cython.locals(scratchpad=Scratchpad)
    cdef int _close(self) except -1
    cdef long _lack(self) except? -2

cdef class Drain(LaneStage):
    cdef readonly Scratchpad scratchpad
    cdef readonly long drained
    cdef readonly long pointed
    cdef long most
    cdef public Channel pointers

    cdef bint _left(self) except -1
    @cython.locals(scratchpad=Scratchpad, item=long, key=long, end=long)
    cdef int _give(self) except -1

cdef class Turn(LaneStage):
    cdef long shift
    cdef long mask
    cdef bint scatters
    cdef public Channel keys

    @cython.locals(word=long)
    cdef bint _take(self) except -1
    cdef int _close(self) except -1
