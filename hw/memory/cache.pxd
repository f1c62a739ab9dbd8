cimport cython

from fiberscope.hw.memory.misses cimport MissTable
from fiberscope.hw.lanes.pipeline cimport Pipeline
from fiberscope.hw.memory.tags cimport Sets, TagStore
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long READ, WRITE, FETCH, CONSUME, WRITE_THROUGH, WRITE_UNREAD, PORT_SHIFT, TAG_MASK, NONE

cdef class FiberCacheBank(Component):
    cdef readonly object specification
    cdef readonly long line_bytes
    cdef readonly long tag_base
    cdef readonly TagStore tags
    cdef readonly Sets sets
    cdef readonly MissTable misses
    cdef long answering
    cdef readonly Pipeline pipeline
    cdef long[::1] operations
    cdef long[::1] request_tags
    cdef long[::1] addresses
    cdef long[::1] set_indices
    cdef long[::1] places
    cdef signed char[::1] present
    cdef long slot
    cdef readonly long read_hits, read_joins, read_misses
    cdef readonly long fetch_hits, fetch_misses
    cdef readonly long write_hits, write_misses
    cdef readonly long consume_hits, consume_joins, consume_misses
    cdef readonly long evictions, write_backs, writes_through
    cdef public Channel requests
    cdef public Channel replies
    cdef public Channel memory_requests
    cdef public Channel memory_replies

    @cython.locals(pipeline=Pipeline, blocked=Channel, stood=bint, line_has_turn=bint, moves=bint, enters=bint, takes=bint)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _wait(self, Channel blocked) except? -2
    @cython.final
    cdef long _set_to_enter(self) noexcept
    @cython.final
    cdef int _enter(self, long slot, long set_index) except -1
    @cython.final
    cdef int _take_line(self) except -1
    @cython.final
    cdef Channel _answer(self)
    @cython.final
    cdef Channel _decide(self)
    @cython.final
    cdef Channel _pass_write(self)
    @cython.final
    cdef Channel _hit(self, long operation, long place)
    @cython.final
    cdef int _reply(self, long operation) except -1
    @cython.final
    cdef Channel _join(self, long operation, long place)
    @cython.final
    cdef bint _comes(self, long miss) noexcept
    @cython.final
    cdef Channel _allocate(self, long operation, long place)
    @cython.final
    cdef long _line(self) noexcept
    @cython.final
    cdef Channel _miss(self, long operation, long place)
    @cython.final
    cdef int _ask(self, long operation, long miss) except -1
    @cython.final
    cdef int _evict(self, long place) except -1
    @cython.final
    cdef Channel _wait_for_memory(self, long slots)
