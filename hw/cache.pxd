cimport cython

from hw.misses cimport MissTable
from hw.tags cimport TagStore
from sim.channel cimport Channel
from sim.component cimport Component

cdef long READ, WRITE, FETCH, CONSUME, WRITE_THROUGH, PORT_SHIFT, TAG_MASK

cdef class FiberCacheBank(Component):
    cdef readonly object specification
    cdef readonly long line_bytes
    cdef readonly long banks
    cdef readonly long tag_base
    cdef readonly TagStore tags
    cdef readonly MissTable misses
    cdef long answering
    cdef readonly long read_hits, read_joins, read_misses
    cdef readonly long fetch_hits, fetch_misses
    cdef readonly long write_hits, write_misses
    cdef readonly long consume_hits, consume_joins, consume_misses
    cdef readonly long evictions, write_backs, writes_through
    cdef public Channel requests
    cdef public Channel replies
    cdef public Channel memory_requests
    cdef public Channel memory_replies

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef int _fill(self) except -1
    @cython.final
    cdef long _answer(self, long now) except? -2
    @cython.final
    cdef Channel _serve(self)
    @cython.final
    cdef Channel _pass_write(self)
    @cython.final
    cdef Channel _hit(self, long operation, long place)
    @cython.final
    cdef int _reply(self, long operation) except -1
    @cython.final
    cdef Channel _join(self, long operation, long place)
    @cython.final
    cdef Channel _allocate(self, long operation, long line, long set_index)
    @cython.final
    cdef Channel _miss(self, long operation, long line, long set_index)
    @cython.final
    cdef int _ask(self, long operation, long miss) except -1
    @cython.final
    cdef int _evict(self, long place) except -1
    @cython.final
    cdef Channel _wait_for_memory(self, long slots)
