cimport cython

from fiberscope.sim.channel cimport Channel

@cython.locals(lane=long, source=Channel)
cdef long first_missing(list sources) noexcept
@cython.locals(lane=long, source=Channel)
cdef bint any_shown(list sources) noexcept
@cython.locals(lane=long, sink=Channel)
cdef long first_full(list sinks) noexcept
