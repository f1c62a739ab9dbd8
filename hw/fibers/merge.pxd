cimport cython

from fiberscope.sim cimport inline
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP, SLOTS, NEW, ENDED

cdef long COORDINATE, REFERENCE, VALUE, WORDS

cdef long IDLE_PHASE, LOADING, EMITTING, ENDING

cdef class HighRadixMerger(Component):
    cdef readonly long radix
    cdef readonly long root
    cdef readonly long leaves
    cdef readonly long task
    cdef readonly long fan_in
    cdef readonly long merging
    cdef readonly bint blocked
    cdef readonly bint moved
    cdef readonly long under_way
    cdef short[::1] first
    cdef short[::1] most
    cdef short[::1] fan
    cdef short[::1] parent
    cdef short[::1] lacking
    cdef long[::1] heads
    cdef signed char[::1] held
    cdef short[::1] front
    cdef long[::1] words
    cdef double[::1] values
    cdef short[::1] ready
    cdef long next_ready
    cdef long ready_count
    cdef short[::1] watching
    cdef long watching_count
    cdef short[::1] awaited
    cdef short[::1] awaited_end
    cdef readonly long merged_elements
    cdef readonly long merges
    cdef public Channel tasks
    cdef public list ways
    cdef public Channel merged

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _state_of(self, long now) except? -2
    @cython.final
    @cython.locals(i=long, missing=long)
    cdef long _missing(self) noexcept
    @cython.final
    @cython.locals(node=long, way=long)
    cdef int _begin(self) except -1
    @cython.final
    cdef void _watch(self, long node, long way, long count) noexcept
    @cython.final
    @cython.locals(i=long, count=long, node=long)
    cdef void _watch_ways(self) noexcept
    @cython.final
    @cython.locals(way=Channel, place=long)
    cdef bint _sees_all(self, long node) noexcept
    @cython.final
    cdef inline void _lack_less(self, long node) noexcept
    @cython.final
    @cython.locals(end=long)
    cdef inline void _make_ready(self, long node) noexcept
    @cython.final
    @cython.locals(node=long, left=bint)
    cdef bint _pass_on_all(self) except -1
    @cython.final
    @cython.locals(smallest=long)
    cdef int _pass_on(self, long node) except -1
    @cython.final
    @cython.locals(smallest=long, coordinate=long, place=long)
    cdef inline long _smallest(self, long node) noexcept
    @cython.final
    @cython.locals(way=Channel)
    cdef int _pass_from_way(self, long node, long place) except -1
    @cython.final
    @cython.locals(at=long)
    cdef inline int _pass_from_buffer(self, long node, long behind) except -1
    @cython.final
    @cython.locals(place=long)
    cdef int _pass_stop(self, long node) except -1
    @cython.final
    @cython.locals(way=long)
    cdef int _end(self, long node) except -1
    @cython.final
    cdef inline void _take(self, long node, long behind) noexcept
    @cython.final
    cdef inline void _show(self, long node) noexcept
    @cython.final
    cdef inline int _push(self, long node, long coordinate, long reference, double value) except -1
    @cython.final
    @cython.locals(at=long)
    cdef inline void _store(self, long node, long coordinate, long reference, double value) noexcept
    @cython.final
    cdef int _emit(self, long coordinate, long reference, double value) except -1
    @cython.final
    cdef long _phase(self, long alive, long new) noexcept
