# Written by hand: casts and host prefetches, which Python lacks.
from cpython.list cimport PyList_GET_ITEM

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.clock cimport Clock
from fiberscope.sim.component cimport Component

cdef extern from *:
    """
    #define fiberscope_prefetch(number) __builtin_prefetch(&(number))
    """
    void prefetch "fiberscope_prefetch"(...) noexcept

cdef inline Component component(object listed) noexcept:
    return <Component>listed

cdef inline Clock clock(object listed) noexcept:
    return <Clock>listed

cdef inline Channel channel(object listed) noexcept:
    return <Channel>listed

cdef inline bint can_pop(list channels, long index) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, index)).can_pop()

cdef inline long control(list channels, long index) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, index)).control()

cdef inline long coordinate(list channels, long index) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, index)).coordinate()

cdef inline long reference(list channels, long index) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, index)).reference()

cdef inline double value(list channels, long index) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, index)).value()

cdef inline int pop(list channels, long index) except -1:
    return (<Channel>PyList_GET_ITEM(channels, index)).pop()

cdef inline int push(list channels, long index, long control, long coordinate, double value) except -1:
    return (<Channel>PyList_GET_ITEM(channels, index)).push(control, coordinate, 0, value)

cdef inline bint fits(list channels, long index, long tokens) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, index)).fits(tokens)

cdef inline bint can_push(list channels, long index) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, index)).can_push()

cdef inline bint is_empty(list channels, long index) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, index)).occupancy == 0

cdef inline bint is_full(list channels, long index) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, index)).occupancy == (<Channel>PyList_GET_ITEM(channels, index)).capacity

cdef inline long seen_from(list channels, long index) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, index))._seen_from
