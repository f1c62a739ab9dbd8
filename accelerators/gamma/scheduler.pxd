cimport cython

from fiberscope.accelerators.gamma.occupancy cimport PartialOccupancy
from fiberscope.accelerators.gamma.stream cimport StreamOfA
from fiberscope.hw.fibers.compressed cimport CompressedRows
from fiberscope.hw.fibers.partials cimport PartialStore
from fiberscope.accelerators.gamma.tasks cimport TaskTable
from fiberscope.hw.memory.window cimport ReorderWindow
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long READ, WRITE, PORT_SHIFT, TAG_MASK
cdef long NOT_HELD
cdef long END_OF_WORK, NO_PARENT, A_POINTERS_BASE, Z_POINTERS_BASE

cdef class Scheduler(Component):
    cdef TaskTable table
    cdef CompressedRows a
    cdef PartialStore partials
    cdef PartialOccupancy occupancy
    cdef long tag_base
    cdef StreamOfA stream
    cdef long line_bytes
    cdef readonly ReorderWindow window
    cdef long arrived_nonzeros
    cdef readonly long next_task
    cdef long[::1] ready
    cdef long first_ready
    cdef readonly long ready_count
    cdef long processing_elements
    cdef long turn
    cdef long held_since
    cdef readonly long held_back_cycles
    cdef long most_tasks
    cdef long most_partial_tasks
    cdef long[::1] tasks_given
    cdef long ended
    cdef readonly long completed
    cdef long rows_per_line
    cdef long[::1] unfinished
    cdef long[::1] pointer_writes
    cdef long first_write
    cdef long write_count
    cdef public Channel memory_requests
    cdef public Channel memory_replies
    cdef public list tasks
    cdef public list completions

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _wait(self) except? -2
    @cython.final
    cdef int _watch_room(self, long now) except -1
    @cython.final
    cdef bint _held_back(self) except -1
    @cython.final
    cdef long _next_waits_for(self) except -1
    @cython.final
    cdef bint _receive(self) except -1
    @cython.final
    cdef bint _ask(self) except -1
    @cython.final
    cdef long _used(self) noexcept
    @cython.final
    @cython.locals(channel=Channel)
    cdef bint _complete(self) except -1
    @cython.final
    cdef int _finish(self, long task) except -1
    @cython.final
    cdef int _queue_write(self, long line) except -1
    @cython.final
    cdef bint _write_pointers(self) except -1
    @cython.final
    @cython.locals(tasks=Channel)
    cdef bint _dispatch(self) except -1
    @cython.final
    cdef long _next_ready(self) except -2
    cdef long _ready_behind(self) except -2
    @cython.final
    cdef bint _here(self, long task) noexcept
    @cython.final
    cdef bint _all_completed(self) noexcept
    @cython.final
    @cython.locals(tasks=Channel)
    cdef long _least_loaded(self, long task) except -2
    @cython.final
    cdef long _most(self, long task) except -2
    @cython.final
    cdef int _take(self, long task) except -1
    cdef int _leave_queue(self, long task) except -1
    @cython.final
    cdef int _skip_merging(self) except -1
