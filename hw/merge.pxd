cimport cython

from sim.channel cimport Channel
from sim.component cimport Component

cdef long DATA, STOP, SLOTS, NEW, ENDED

cdef long IDLE_PHASE, LOADING, EMITTING, ENDING

cdef class HighRadixMerger(Component):
    cdef readonly long radix
    cdef readonly long root
    cdef readonly long leaves
    cdef readonly long task
    cdef readonly long fan_in
    cdef readonly long merging
    cdef readonly long missing
    cdef readonly bint blocked
    cdef readonly bint moved
    cdef readonly long under_way
    cdef long[::1] first
    cdef long[::1] most
    cdef long[::1] fan
    cdef long[::1] running
    cdef long[::1] parent
    cdef long[::1] heads
    cdef long[::1] seen
    cdef long[::1] held
    cdef long[::1] oldest
    cdef long[::1] pushed
    cdef long[::1] popped
    cdef long[::1] coordinates
    cdef long[::1] references
    cdef double[::1] values
    cdef long[::1] awake
    cdef long[::1] is_awake
    cdef long[::1] looked_at
    cdef long awake_count
    cdef readonly long merged_elements
    cdef readonly long merges
    cdef public Channel tasks
    cdef public list ways
    cdef public Channel merged

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _state_of(self, long now) except? -2
    @cython.final
    @cython.locals(node=long, way=long)
    cdef int _begin(self) except -1
    @cython.final
    @cython.locals(i=long, count=long, left=bint)
    cdef bint _pass_on_all(self, long now) except -1
    @cython.final
    cdef void _wake(self, long node) noexcept
    @cython.final
    @cython.locals(smallest=long)
    cdef bint _pass_on(self, long node, long now) except -1
    @cython.final
    @cython.locals(smallest=long, coordinate=long, place=long)
    cdef long _smallest(self, long node, long now) except -2
    @cython.final
    @cython.locals(way=Channel, behind=long)
    cdef bint _sees(self, long place, long now) except -1
    @cython.final
    cdef void _miss(self, long place, long node) noexcept
    @cython.final
    cdef bint _has_room(self, long node, long now) except -1
    @cython.final
    @cython.locals(way=Channel, coordinate=long, slot=long)
    cdef int _pass_element(self, long node, long place, long now) except -1
    @cython.final
    @cython.locals(place=long)
    cdef int _pass_stop(self, long node, long now) except -1
    @cython.final
    @cython.locals(behind=long)
    cdef int _take(self, long place, long now) except -1
    @cython.final
    @cython.locals(slot=long)
    cdef int _push(self, long node, long now, long coordinate, long reference, double value) except -1
    @cython.final
    cdef int _emit(self, long coordinate, long reference, double value) except -1
    @cython.final
    cdef long _phase(self, long alive, long new) noexcept
