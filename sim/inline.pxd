# By hand: casts, which Python has none of.
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.clock cimport Clock
from fiberscope.sim.component cimport Component

cdef inline Component component(object listed) noexcept:
    return <Component>listed

cdef inline Clock clock(object listed) noexcept:
    return <Clock>listed

cdef inline Channel channel(object listed) noexcept:
    return <Channel>listed
